"""Killed runs: every kind of training, SIGKILL at random or chosen moments, then continued and compared."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.mutations import digest
from vision_pwil.demonstrations import Demonstrations, Episode
from vision_pwil.system import checkpoint
from vision_pwil.system.errors import InputError
from vision_pwil.system.run import read_curve


class Case(NamedTuple):
    """A command at a tiny size, and the option that names its run directory."""

    module: str
    """And the command, where it is one of the front door's."""
    arguments: str
    option: str = "--run"


_TINY = "--evaluation-episodes 1 --batch-size 16 --checkpoint-seconds 0 --threads 1"
_DOOR = f"--num-demos 4 --steps 900 --random-steps 300 --evaluation-interval 600 --no-video --no-audit {_TINY}"
_HOPPER = f"--env Hopper-v5 --horizon 50 --steps 900 --evaluation-interval 300 --prefill 0 {_TINY}"
_TCC = "--validation 2 --updates 24 --iteration 4"
VIDEOS = "{work}/videos.demos"
CASES = {
    "door, pixels": Case("vision_pwil.train_door", _DOOR),
    "door, states": Case("vision_pwil.train_door", f"--compare states --ending last {_DOOR}"),
    "d4pg": Case("vision_pwil.train_locomotion", f"--agent d4pg --random-steps 200 {_HOPPER}"),
    "td3": Case("vision_pwil.train_locomotion", f"--agent td3 --random-steps 200 {_HOPPER}"),
    "sac": Case("vision_pwil.train_locomotion", f"--agent sac --random-steps 200 {_HOPPER}"),
    "dac": Case("vision_pwil.train_locomotion", f"--agent dac --random-steps 200 {_HOPPER}"),
    "bc": Case("vision_pwil.train_locomotion", f"--agent bc {_HOPPER}"),
    "tcc.train": Case("vision_pwil.tcc.train", f"--demos {VIDEOS} --threads 1 {_TCC}", "--out"),
    "sweep": Case(
        "vision_pwil sweep",
        f"tcc-paper-grid --demos {VIDEOS} --batch-sizes 1 --subsamplings 8 --learning-rates 1e-3 1e-4 --cpus 1 "
        "{run} -- " + _TCC,
        "--out",
    ),
}
"""`{run}` stands for the option and the directory where they cannot come last."""
KILLS = 4
"""Of one run at most, before it may go on to its end."""
_MARK = "VISION_PWIL_KILLS"
"""Environment variable by which every process of a run is found, whoever started it."""
_LIMIT = 1800.0
"""Seconds after which a run hangs."""


def make_videos(path: Path) -> None:
    """Four videos of a square that crosses the picture, each at its own pace."""
    episodes = []
    for length in (30, 34, 38, 42):
        frames = np.zeros((length, 84, 84, 3), np.uint8)
        for step, frame in enumerate(frames):
            frame[30:50, (left := 60 * step // length) : left + 20] = 255
        episodes.append(Episode(frames=frames))
    Demonstrations(tuple(episodes)).save(path)


def start(case: Case, run: Path, work: Path, mark: str) -> subprocess.Popen:
    """The command, in a session of its own, its output beside its directory."""
    named = f"{case.option} {run}"
    words = case.arguments if "{run}" in case.arguments else f"{case.arguments} {named}"
    line = [sys.executable, "-m", *case.module.split(), *words.format(run=named, work=work).split()]
    with run.with_suffix(".log").open("a") as log:
        return subprocess.Popen(
            line,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, _MARK: mark, "PYTHONUNBUFFERED": "1"},
        )


def alive(mark: str) -> list[int]:
    """Processes of a run, itself and all that came of it."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if f"{_MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
            except OSError:  # it ended meanwhile, or is not ours
                pass
    return found


def clear(mark: str, patience: float = 60.0) -> int:
    """Wait until all processes of a killed run have ended; kill and count those that do not by themselves."""
    deadline = time.monotonic() + patience
    while (left := alive(mark)) and time.monotonic() < deadline:
        time.sleep(0.2)
    for process in left:
        os.kill(process, signal.SIGKILL)
    return len(left)


def writing(run: Path) -> Callable[[], bool]:
    """Whether a file of the run, the checkpoint or another, is being written, or just was."""
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*.safetensors")}

    def now() -> bool:
        for path in run.rglob("*.safetensors"):
            try:
                if before.get(path) != path.stat().st_mtime_ns:
                    return True
            except FileNotFoundError:  # it was there a moment ago under its temporary name
                return True
        return False

    return now


def worked(process: subprocess.Popen) -> float:
    """Seconds of processor time that a process has had: on a busy machine the clock says nothing of how far it is."""
    try:
        numbers = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended
        return 0.0
    return (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")


def kill(process: subprocess.Popen, delay: float, aim: Callable[[], bool] | None) -> bool:
    """SIGKILL after so many seconds of work; or then at the next file that is written. False: it had ended before."""
    while process.poll() is None and worked(process) < delay:
        time.sleep(0.005)
    while aim is not None and process.poll() is None and not aim():
        time.sleep(0.0005)
    ended = process.poll() is not None
    process.kill()
    process.wait()
    return not ended


def finish(process: subprocess.Popen, run: Path) -> float:
    """Wait for the end; returns what it worked."""
    deadline, seconds = time.monotonic() + _LIMIT, 0.0
    while process.poll() is None:
        seconds = max(seconds, worked(process))
        if time.monotonic() > deadline:
            process.kill()
            raise InputError(f"{run} hangs, see {run.with_suffix('.log')}.")
        time.sleep(0.05)
    if process.returncode != 0:
        raise InputError(f"{run} ended with status {process.returncode}, see {run.with_suffix('.log')}.")
    return seconds


def fingerprint(run: Path) -> dict[str, str]:
    """What a run left: curves and tensors to the last bit, without the seconds that it took."""
    found = {}
    for path in sorted(run.rglob("*.safetensors")):
        tensors, values = checkpoint.load(path)
        if path.parent.name != "replay":  # a continued run has cut the same transitions into other files
            found[str(path.relative_to(run))] = digest([tensors, _timeless(values)])
    for path in sorted(run.rglob("curve.csv")):
        found[str(path.relative_to(run))] = digest(_timeless(read_curve(path.parent)))
    return found


def _timeless(content: Any) -> Any:
    if isinstance(content, dict):
        return {name: _timeless(value) for name, value in content.items() if name != "seconds"}
    return [_timeless(value) for value in content] if isinstance(content, list) else content


def reference(name: str, work: Path) -> tuple[dict[str, str], float]:
    """The fingerprint of an undisturbed run, and how long it worked; made once and kept.

    It is made twice: the first one may compile, which takes work that no later one does, and both must be the same.
    """
    run = work / "whole" / name.replace(", ", "-")
    done = run.with_suffix(".json")
    if not done.exists():
        run.parent.mkdir(parents=True, exist_ok=True)
        (first, _), (found, seconds) = (_undisturbed(name, run, work) for _ in range(2))
        if not found or found != first:
            raise InputError(f"{run} {'does not repeat itself' if found else 'was left empty'}, see {run}.log.")
        done.write_text(json.dumps([found, seconds]))
    found, seconds = json.loads(done.read_text())
    return found, seconds


def _undisturbed(name: str, run: Path, work: Path) -> tuple[dict[str, str], float]:
    shutil.rmtree(run, ignore_errors=True)
    mark = f"{os.getpid()}-{name}"
    seconds = finish(start(CASES[name], run, work, mark), run)
    clear(mark)
    return fingerprint(run), seconds


def run(count: int, seed: int, work: Path, done: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Kill runs `count` times in all, every case in turn, after those that are `done`; yields a record of each run.

    A run that comes to its end before it is killed counts as far as it was killed.
    """
    work = work.resolve()
    number, left = len(done), count - sum(record["kills"] for record in done)
    if left > 0 and not (work / "videos.demos").exists():
        make_videos(work / "videos.demos")
    while left > 0:
        name = list(CASES)[number % len(CASES)]
        rng = np.random.default_rng((seed, number))
        expected, seconds = reference(name, work)
        folder = work / "killed" / f"{name.replace(', ', '-')}-{number:04d}"
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        record: dict[str, Any] = {"case": name, "kills": 0, "aimed": 0, "same": 0, "orphans": 0}
        hit = True
        while hit and record["kills"] < min(KILLS, left):
            aimed = bool(rng.random() < 0.5)
            delay = float(rng.uniform(0, 0.7)) * seconds
            mark = hashlib.sha256(f"{seed} {number} {time.time_ns()}".encode()).hexdigest()[:16]
            process = start(CASES[name], folder, work, mark)
            hit = kill(process, delay, writing(folder) if aimed else None)
            record["orphans"] += clear(mark)
            record["kills"] += hit
            record["aimed"] += aimed and hit
        try:
            if not hit:  # it ended by itself, and well, we hope
                finish(process, folder)
            finish(start(CASES[name], folder, work, mark), folder)
            record["same"] = int(fingerprint(folder) == expected)
        except InputError as error:
            record["error"] = str(error)
        clear(mark)
        if record["same"]:
            shutil.rmtree(folder)
        number, left = number + 1, left - record["kills"]
        yield record
