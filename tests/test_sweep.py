"""Sweeps: the paper's grids, their ranking, and real ones on Ray that are interrupted and lose a node."""

import contextlib
import csv
import fcntl
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import imageio.v3 as imageio
import numpy as np
import pytest
import torch

import vision_pwil.tcc.train
from tests.videos import ball_videos
from vision_pwil.commands import train
from vision_pwil.demonstrations import Demonstrations, Episode
from vision_pwil.encoder import Encoder
from vision_pwil.sweep import ranking, searches
from vision_pwil.sweep.live import LiveTable
from vision_pwil.sweep.searches import DoorSacGrid, DoorSeeds, LocomotionPaper, Search, TccPaperGrid
from vision_pwil.sweep.trial import Trial
from vision_pwil.system import checkpoint, cli
from vision_pwil.system.errors import InputError
from vision_pwil.system.run import Run, flatten, read_curve
from vision_pwil.tasks import door, locomotion
from vision_pwil.tasks.settings import Choice

SEARCHES = {
    TccPaperGrid(demos=Path("x.demos")): 4 * 3 * 3,
    DoorSeeds(): 10,
    DoorSacGrid(): 2**3 * 2 * 3 * 3,
    LocomotionPaper(): 6 * 3 * 10,
}


def parse(trial: Trial) -> Any:
    """The configuration that the trial's own module makes of its command."""
    found: list[Any] = []
    args = trial.command[2:]
    if trial.module == "vision_pwil.tcc.train":
        vision_pwil.tcc.train.main(args, action=found.append)
        return found[0]
    preset, env = {
        "vision_pwil.train_door": (door.PRESET, door.ENV_ID),
        "vision_pwil.train_locomotion": (locomotion.PRESET, "Hopper-v5"),
    }[trial.module]
    start = train.configured(args, Choice(env, preset.agent), preset)
    cli.run(cli.starting_from(found.append, start), args=args)
    return found[0]


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: type(search).__name__)
def test_grids_have_the_papers_size_and_commands_that_parse(search: Search) -> None:
    trials = search.trials()
    assert len(trials) == len({trial.folder for trial in trials}) == SEARCHES[search]
    first = trials[0].settings
    # Every value of every option once: the trials that differ from the first in one setting at most.
    near = [trial for trial in trials if sum(value != first[name] for name, value in trial.settings.items()) <= 1]
    for trial in near[:16]:
        config = parse(trial)
        flat = {name.rpartition(".")[2]: value for name, value in flatten(asdict(config)).items()}
        assert {name: flat[name] for name in trial.settings} == trial.settings
        assert Path(flat["out" if trial.module.endswith("tcc.train") else "run"]) == trial.folder


def test_grids_are_the_papers() -> None:
    """Appendices "Embedding" and "Agent", section "Experiments"."""

    def values(search: Search) -> dict[str, set]:
        trials = search.trials()
        return {name: {trial.settings[name] for trial in trials} for name in trials[0].settings}

    assert values(TccPaperGrid(demos=Path("x"))) == {
        "batch_size": {1, 4, 16, 32},
        "subsampling": {1, 4, 8},
        "learning_rate": {1e-2, 1e-3, 1e-4},
        "seed": {0},
    }
    rates = {f"{part}_learning_rate": {1e-4, 3e-4} for part in ("actor", "critic", "temperature")}
    rest = {"polyak": {0.01, 0.005}, "batch_size": {64, 128, 256}, "update_interval": {1, 4, 8}, "seed": {0}}
    assert values(DoorSacGrid()) == {**rates, **rest}
    locomotion = values(LocomotionPaper())
    assert {name.partition("-")[0] for name in locomotion["env"]} == {
        *("Reacher", "Hopper", "HalfCheetah", "Walker2d", "Ant", "Humanoid"),
    }
    assert locomotion["num_demos"] == {1, 4, 11} and len(locomotion["seed"]) == 10
    chosen = LocomotionPaper(envs=("Hopper-v5",), num_demos=(4,), seeds=(3, 5, 3)).trials()
    assert [trial.settings["seed"] for trial in chosen] == [3, 5]
    with pytest.raises(InputError, match="at least one value"):
        DoorSeeds(seeds=()).trials()


def test_arguments_passed_on_come_last_and_win() -> None:
    (trial,) = DoorSeeds(seeds=(2,), recipe="paper").trials(("--steps", "77", "--recipe", "default"))
    config = parse(trial)
    assert (config.training.steps, config.training.seed, config.recipe) == (77, 2, "default")


def measured(trial: Trial, *rows: dict[str, float]) -> None:
    with Run(trial.folder, {}) as run:
        run.write_curve(list(rows))


def test_the_best_encoder_counts_not_the_last(tmp_path: Path) -> None:
    search = TccPaperGrid(demos=Path("x"), out=tmp_path, batch_sizes=(1, 4, 16), subsamplings=(8,), learning_rates=(1,))
    one, four, sixteen = search.trials()
    measured(one, *({"updates": k, "tau_train": 0.5, "tau_validation": tau} for k, tau in enumerate((0.2, 0.9, 0.1))))
    measured(four, {"updates": 1, "tau_train": 0.6, "tau_validation": 0.7})
    places = ranking.rank(search, [sixteen, four, one])
    assert [place.settings["batch_size"] for place in places] == [1, 4, 16]
    rows = ranking.records(search, places)
    assert [row["tau_validation"] for row in rows] == [0.9, 0.7, None]
    assert [row["updates"] for row in rows] == [2, 1, None]
    assert ranking.best_trial(search, places[0]) == one
    ranking.write(rows, tmp_path / "ranking.csv")
    with (tmp_path / "ranking.csv").open() as file:
        assert [row["rank"] for row in csv.DictReader(file)] == ["1", "2", "3"]
    ranking.draw(search, places, tmp_path / "ranking.png")
    assert imageio.imread(tmp_path / "ranking.png").std() > 5


def test_doors_rank_by_opened_then_return_over_all_seeds(tmp_path: Path) -> None:
    search = DoorSacGrid(
        out=tmp_path,
        seeds=(0, 1),
        batch_sizes=(64, 128, 256),
        polyaks=(0.01,),
        update_intervals=(1,),
        actor_learning_rates=(1e-4,),
        critic_learning_rates=(1e-4,),
        temperature_learning_rates=(1e-4,),
    )
    results = {64: [(0.9, 100), (0.1, 500)], 128: [(0.5, 300), (0.5, 302)], 256: [(0.6, 1), (0.6, 1)]}
    for trial in search.trials():
        opened, total = results[int(trial.settings["batch_size"])][int(trial.settings["seed"])]
        measured(trial, {"step": 0, "opened": 1, "return": 999}, {"step": 10, "opened": opened, "return": total})
    places = ranking.rank(search, search.trials())
    assert [place.settings["batch_size"] for place in places] == [256, 128, 64]  # 0.6; 0.5 and 301; 0.5 and 300
    rows = ranking.records(search, places)
    assert rows[2]["opened"] == 0.5 and rows[2]["opened_std"] == 0.4 and rows[1]["return"] == 301
    assert ranking.best_trial(search, places[1]).settings["seed"] == 1
    text = LiveTable(search, search.trials()).text(limit=2)
    assert "and 4 more" in text and "6 waiting" in text and "polyak" not in text


def test_returns_over_the_experts(tmp_path: Path) -> None:
    np.savez(tmp_path / "Hopper-v5.npz", returns=np.array([3000.0, 5000.0]), observations=np.zeros((1, 1)))
    np.savez(tmp_path / "Reacher-v5.npz", returns=np.array([-4.0]))
    search = LocomotionPaper(out=tmp_path, demos=tmp_path, envs=("Hopper-v5", "Reacher-v5"), num_demos=(1,), seeds=(0,))
    hopper, reacher = search.trials()
    assert hopper.arguments[:4] == ("--threads", "2", "--demos", str(tmp_path / "Hopper-v5.npz"))
    measured(hopper, {"step": 1, "task_return": 1000.0})
    measured(reacher, {"step": 1, "task_return": -8.0})
    assert search.measured(hopper)[-1]["of_expert"] == 0.25
    assert search.measured(reacher)[-1]["of_expert"] == 0.5  # twice as far from the target
    assert [place.settings["env"] for place in ranking.rank(search, search.trials())] == ["Reacher-v5", "Hopper-v5"]
    assert searches.share(-2.0, -4.0) == 2 and np.isnan(searches.share(1.0, None))
    with pytest.raises(InputError, match="no demonstrations of Ant-v5"):
        LocomotionPaper(demos=tmp_path, envs=("Ant-v5",)).trials()


def test_a_trial_is_finished_if_its_summary_says_so_and_the_command_is_the_same(tmp_path: Path) -> None:
    (trial,) = DoorSeeds(out=tmp_path, seeds=(0,)).trials()
    (longer,) = DoorSeeds(out=tmp_path, seeds=(0,)).trials(("--steps", "9"))
    assert not trial.finished
    with Run(trial.folder, {}) as run:
        run.write_summary({"finished": False})
        trial.finish()
        assert not trial.finished
        run.write_summary({"finished": True})
    assert trial.finished and not longer.finished
    longer.finish()
    assert longer.finished and not trial.finished


def test_progress_is_the_last_bar_in_the_log(tmp_path: Path) -> None:
    (trial,) = DoorSeeds(out=tmp_path, seeds=(0,)).trials()
    assert trial.progress() is None and trial.complaint() == "nothing was printed"
    trial.folder.mkdir(parents=True)
    bars = "\rtcc:  20%|██ | 2/10 [00:01<00:04, 2.0update/s]\rtcc:  30%|███| 3/10 [00:01<01:03, 2.0update/s, tau 1]"
    trial.log.write_text(f"$ python\n{bars}\nerror: It is too dark. \n\n")
    assert trial.progress() == "30%, 01:03 left"
    assert trial.complaint() == "error: It is too dark."


# Real sweeps


@pytest.fixture(scope="module")
def demos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demos") / "ball.demos"
    Demonstrations(tuple(Episode(frames=video) for video in ball_videos(4))).save(path)
    return path


def command(out: Path, demos: Path, *own: str, passed: tuple[str, ...]) -> list[str]:
    chosen = ("--batch-sizes", "1", "--subsamplings", "8", "--learning-rates", "1e-3", "1e-4", *own)
    start = [sys.executable, "-m", "vision_pwil", "sweep", "tcc-paper-grid", "--demos", str(demos), "--out", str(out)]
    return [*start, *chosen, "--", "--validation", "2", *passed]


def wait_for(condition: Callable[[], Any], process: subprocess.Popen, seconds: float = 600) -> Any:
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        if process.poll() is not None or time.monotonic() > deadline:
            process.terminate()
            pytest.fail(f"what was waited for did not come: {process.communicate(timeout=60)}")
        time.sleep(0.1)
    return result


def rows_of(folder: Path) -> int:
    return len(read_curve(folder)) if (folder / "curve.csv").exists() else 0


def assert_as_by_hand(trial: Path, passed: tuple[str, ...], demos: Path, out: Path) -> None:
    """The same command without a sweep and without an interruption ends in the same bits."""
    rate = str(float(trial.name.split("learning-rate-")[1].split("_")[0]))
    options = ["--recipe", "paper", "--demos", demos, "--threads", 1, "--batch-size", 1, "--subsampling", 8]
    line = [sys.executable, "-m", "vision_pwil.tcc.train", *options, "--learning-rate", rate, "--validation", 2]
    subprocess.run([*map(str, line), *passed, "--out", str(out)], check=True, capture_output=True)
    expected, _ = checkpoint.load(out / "checkpoint.safetensors")
    tensors, _ = checkpoint.load(trial / "checkpoint.safetensors")
    assert tensors.keys() == expected.keys()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in tensors.items())
    # The kept encoder, too; not its bytes, since safetensors writes metadata in any order.
    kept, by_hand = (Encoder.load(folder / "encoder.safetensors") for folder in (trial, out))
    assert kept.provenance == by_hand.provenance
    assert all(torch.equal(tensor, by_hand.state_dict()[name]) for name, tensor in kept.state_dict().items())
    curves = [[{**row, "seconds": 0} for row in read_curve(folder)] for folder in (trial, out)]
    assert curves[0] == curves[1]


def attempts(folder: Path) -> list[str]:
    """What the log says of each attempt, beginning with its command."""
    return (folder / "log.txt").read_text().split("$ python ")[1:] if (folder / "log.txt").exists() else []


def processes() -> dict[str, str]:
    """Every process that runs, and its parent."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                found[path.parent.name] = parent
    return found


def descendants(pid: str, parents: dict[str, str]) -> set[str]:
    children = {child for child, parent in parents.items() if parent == pid}
    return children.union(*(descendants(child, parents) for child in children))


def test_a_sweep_is_stopped_and_killed_and_goes_on(tmp_path: Path, demos: Path) -> None:
    pytest.importorskip("ray")
    out, passed = tmp_path / "sweep", ("--updates", "60", "--iteration", "5")
    line = command(out, demos, "--cpus", "1", passed=passed)
    trial = out / "trials" / "batch-size-1_subsampling-8_learning-rate-0.001_seed-0"
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: rows_of(trial), process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=200)
    assert process.returncode == 130, errors
    assert "Stopped" in errors and "Traceback" not in errors
    assert "Saved after" in (trial / "log.txt").read_text()
    before = rows_of(trial)
    assert 0 < before < 12
    with (trial / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # nobody is left at it

    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(line, env={**os.environ, "TMPDIR": folder})
        wait_for(lambda: rows_of(trial) > before, process)
        family = descendants(str(process.pid), processes())
        assert list(Path(folder).glob("ray-*"))
        process.kill()
        process.wait()
        assert rows_of(trial) < 12
        deadline = time.monotonic() + 30
        while (left := family & processes().keys()) or list(Path(folder).glob("ray-*")):
            assert time.monotonic() < deadline, [Path(f"/proc/{pid}/cmdline").read_text() for pid in left]
            time.sleep(0.5)

    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert "2 trials, 0 of them finished already" in done.stdout and "2 finished" in done.stdout
    assert f"python -m vision_pwil.tcc.train --recipe paper --demos {demos}" in done.stdout
    assert len(attempts(trial)) == 3
    with (out / "ranking.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["finished"] for row in rows] == ["1 of 1"] * 2
    assert float(rows[0]["tau_validation"]) >= float(rows[1]["tau_validation"])
    assert imageio.imread(out / "ranking.png").std() > 5
    assert not list(out.glob(".tune-*"))
    assert_as_by_hand(trial, passed, demos, tmp_path / "by-hand")

    again = subprocess.run(line, capture_output=True, text=True, check=True)
    assert "2 trials, 2 of them finished already" in again.stdout and "waiting" not in again.stdout
    assert len(attempts(trial)) == 3


def test_bad_input_is_one_sentence(tmp_path: Path, demos: Path) -> None:
    pytest.importorskip("ray")

    def complaint(*own: str, **environment: str) -> str:
        line = command(tmp_path / "sweep", demos, *own, passed=())
        done = subprocess.run(line, capture_output=True, text=True, env={**os.environ, **environment})
        assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
        return done.stderr

    long = tmp_path / ("x" * 60)
    long.mkdir()
    assert "too long a path for Ray's sockets: set TMPDIR to a shorter one" in complaint(TMPDIR=str(long))
    assert "No Ray cluster answers at '127.0.0.1:9'" in complaint("--address", "127.0.0.1:9")
    with Run(tmp_path / "sweep", {"search": "TccPaperGrid"}):
        assert "Another process is using" in complaint()


def test_without_ray_it_says_what_to_install(tmp_path: Path, demos: Path) -> None:
    (tmp_path / "ray.py").write_text("raise ImportError")
    line = command(tmp_path / "sweep", demos, passed=())
    done = subprocess.run(line, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert done.returncode == 2 and 'pip install "vision-pwil[sweeps]"' in done.stderr


@pytest.mark.slow
def test_a_killed_nodes_trial_goes_on_elsewhere(tmp_path: Path, demos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two nodes with a trial each; one node is killed in the middle of its trial, which the other node ends."""
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # loopback only
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": 80 * 2**20, "node_ip_address": "127.0.0.1"}
    head = {**node, "include_dashboard": False, "no_monitor": True, "include_log_monitor": False}

    def patiently(start: Callable[[], Any]) -> Any:
        for _ in range(5):
            with contextlib.suppress(Exception):  # Ray gives up starting a node when the machine is busy
                return start()
        return start()

    out, passed = tmp_path / "sweep", ("--updates", "200", "--iteration", "10")
    cluster = patiently(lambda: Cluster(initialize_head=True, head_node_args=head))
    try:
        lost = patiently(lambda: cluster.add_node(**node))
        line = command(out, demos, "--address", cluster.address, passed=passed)
        process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        def on_the_node() -> Path | None:
            found = (path for path in out.glob("trials/*") if any(lost.node_id in text for text in attempts(path)))
            return next(found, None)

        trial = wait_for(on_the_node, process)
        wait_for(lambda: rows_of(trial) >= 2, process)
        cluster.remove_node(lost, allow_graceful=False)  # SIGKILL
        measured_before = rows_of(trial)
        assert measured_before < 20, "the trial was over before its node was killed"
        output, errors = process.communicate(timeout=600)
        assert process.returncode == 0, errors
    finally:
        cluster.shutdown()
    assert "1 lost" in output and "2 finished" in output
    first, second = attempts(trial)
    assert lost.node_id in first and lost.node_id not in second
    resumed = int(re.findall(r"\| (\d+)/200 ", second)[0])  # where the second attempt's progress bar begins
    assert 20 <= resumed < 200 and resumed >= 10 * measured_before and resumed % 10 == 0
    assert rows_of(trial) == 20
    assert_as_by_hand(trial, passed, demos, tmp_path / "by-hand")
