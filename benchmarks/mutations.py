"""Damaged files: every format that is read, mutated, and read again by a process that may neither grow nor hang."""

import hashlib
import json
import multiprocessing
import pickle
import resource
import shutil
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import imageio.v3 as imageio
import numpy as np
import torch

from benchmarks import gifts
from vision_pwil.demonstrations import Demonstrations, Episode, read
from vision_pwil.encoder import Encoder
from vision_pwil.sac import SAC, SACConfig
from vision_pwil.system import checkpoint
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import read_json, write_json
from vision_pwil.system.run import read_curve, write_curve
from vision_pwil.training.replay import Replay, Transitions
from vision_pwil.training.snapshot import read_snapshot, write_snapshot

MEMORY = 2 * 2**30
"""Bytes that a reader may take beyond what it starts with."""
PATIENCE = 300.0
"""Seconds after which a reader hangs."""
OUTCOMES = ("same", "sentence", "other content", "silent change", "escaped", "crashed", "hung")
"""What can come of a damaged file. Other content is no fault of a reader where the format has no checksum."""
FAULTS = OUTCOMES[3:]


class Format(NamedTuple):
    """A kind of file: how to make one, how to read it, and whether damage must be noticed."""

    make: Callable[[Path], object]
    read: Callable[[Path], Any]
    checked: bool
    damage: Callable[[Path, np.random.Generator], None] = lambda path, rng: damage(path, rng)
    """Of one of its files."""
    turns: int = 5
    """How often it comes in a round of all formats: over a run, commands take far longer than over a file."""


def _episode(length: int = 5) -> Episode:
    rng = np.random.default_rng(0)
    start = {"qpos": np.zeros(30), "qvel": np.zeros(30), "door_body_pos": np.zeros(3)}
    return Episode(rng.normal(size=(length, 4)), rng.normal(size=(length, 2)), _frames(length), start)


def _frames(count: int) -> np.ndarray:
    """A square that moves over noise, so that files are not tiny."""
    frames = np.random.default_rng(1).integers(0, 60, (count, 96, 96, 3)).astype(np.uint8)
    for step, frame in enumerate(frames):
        frame[10 : 40 + step, 20 + 2 * step : 50 + 2 * step] = 200
    return frames


def _stills(path: Path) -> None:
    path.mkdir()
    for number, frame in enumerate(_frames(3)):
        imageio.imwrite(path / f"{number}.png", frame)


def _hdf5(path: Path) -> None:
    with h5py.File(path, "w") as file:
        for name, shape in (("observations", (8, 4)), ("actions", (8, 2)), ("rewards", (8,))):
            file[name] = np.ones(shape, np.float32)
        file["terminals"], file["timeouts"] = np.arange(8) == 3, np.arange(8) == 7


def _pickle(path: Path) -> None:
    episode = _episode()
    one = {"observations": episode.states, "actions": episode.actions, "init_state_dict": episode.initial_state}
    path.write_bytes(pickle.dumps([one], protocol=2))


def _segment(path: Path) -> None:
    replay = Replay(50, 4, 2, seed=0)
    replay.add(Transitions(*(np.ones((20, *rows.shape[1:]), np.float32) for rows in replay._rows)))
    replay.save(path.parent)


def _read_segment(path: Path) -> list[torch.Tensor]:
    replay = Replay(50, 4, 2, seed=0)
    replay.load(path.parent, 20)
    return list(replay.sample(64))


def _small_agent() -> SAC:
    return SAC(4, 2, SACConfig(hidden=(8, 8)), seed=0)


def _curve(path: Path) -> None:
    write_curve(path.parent, [{"step": 100 * i, "return": 1.5**i, "w1": 9.0 / (i + 1)} for i in range(6)])


def _record(path: Path) -> None:
    write_json(path, {"training": asdict(SACConfig()), "checksums": {"encoder": "0" * 64}, "verdict": "ranks well"})


def _run(path: Path) -> None:
    """A run directory without the files that have no checksum."""
    gifts.make(path)
    shutil.rmtree(path / "tensorboard")
    for name in ("audit.png", "lock"):
        (path / name).unlink()


_FIRST: dict[Path, tuple[dict[Path, bytes], dict[str, str]]] = {}
"""The files of a run as it should be, and what the commands said of it."""


def _give(path: Path) -> dict[str, str]:
    """What the commands say of a run, asked again those that read what changed; nothing that they wrote stays."""
    found = {part: part.read_bytes() for part in path.rglob("*") if part.is_file()}
    files, answers = _FIRST.get(path, ({}, {}))
    changed = [str(part.relative_to(path)) for part in found if found[part] != files.get(part)]
    asked = {command for name in changed for command in gifts.READ.get(name, gifts.COMMANDS)}
    try:
        fresh = gifts.give(path, sorted(asked))
    finally:
        for part in [*path.rglob("*")]:
            if part in found:
                part.write_bytes(found[part])
            elif part.is_file():
                part.unlink()
    _FIRST.setdefault(path, (found, fresh))
    if asked and "done" not in fresh.values():
        raise InputError(f"every command refuses: {fresh}")
    return {**answers, **fresh}


_STATE = {"step": 5, "sampling": np.random.default_rng(0).bit_generator.state}
_ABOUT = {"agent": "sac", "step": 5, "task": "door", "horizon": 300}

FORMATS = {
    "own.demos": Format(lambda path: Demonstrations((_episode(), _episode(3))).save(path), read, checked=True),
    "flat.npz": Format(
        lambda path: np.savez(path, observations=np.ones((6, 4)), actions=np.ones((6, 2)), episode_lengths=[2, 4]),
        read,
        checked=False,
    ),
    "d4rl.hdf5": Format(_hdf5, read, checked=False),
    "dapg.pickle": Format(_pickle, read, checked=False),
    "film.gif": Format(lambda path: imageio.imwrite(path, _frames(4)), read, checked=False),
    "film.mp4": Format(lambda path: imageio.imwrite(path, _frames(6), plugin="FFMPEG", fps=5), read, checked=False),
    "stills": Format(_stills, read, checked=False),
    "checkpoint.safetensors": Format(
        lambda path: checkpoint.save(path, _small_agent().state_dict(), _STATE), checkpoint.load, checked=True
    ),
    "policy.safetensors": Format(
        lambda path: write_snapshot(path, _small_agent().policy(), _ABOUT), read_snapshot, checked=True
    ),
    "task.safetensors": Format(
        lambda path: checkpoint.save(path, {"points": torch.ones(6, 4)}, _ABOUT), checkpoint.load, checked=True
    ),
    "000000000000-000000000020.safetensors": Format(_segment, _read_segment, checked=True),
    "encoder.safetensors": Format(
        lambda path: Encoder().save(path), lambda path: vars(Encoder.load(path)), checked=True
    ),
    "config.json": Format(_record, read_json, checked=True),
    "summary.json": Format(_record, read_json, checked=True),
    "audit.json": Format(_record, read_json, checked=True),
    "curve.csv": Format(_curve, lambda path: read_curve(path.parent), checked=True),
    "run": Format(_run, _give, checked=True, turns=1),
    "gift": Format(_run, _give, checked=False, damage=gifts.spoil, turns=1),
}


PLAIN = Format(lambda path: None, read, checked=False)
"""Of files that are given."""


def damage(path: Path, rng: np.random.Generator) -> None:
    """Write a file anew, damaged."""
    path.write_bytes(mutate(path.read_bytes(), rng))


def mutate(content: bytes, rng: np.random.Generator) -> bytes:
    """Damage of one kind: bits flipped, the end cut off, bytes inserted, a block doubled, zeroed or moved."""
    changed, size = bytearray(content), len(content)

    def place() -> int:
        """Half of the damage goes to the first and last kilobyte, where formats keep their structure."""
        near = int(rng.integers(min(1024, size)))
        return (int(rng.integers(size)), int(rng.integers(size)), near, size - 1 - near)[rng.integers(4)]

    start, length = place(), int(rng.integers(1, 256))
    kind = rng.integers(6)
    if kind == 0:
        for _ in range(rng.integers(1, 9)):
            changed[place()] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        del changed[start:]
    elif kind == 2:
        changed[start:start] = rng.bytes(length)
    elif kind == 3:
        changed[start:start] = changed[start : start + length]
    elif kind == 4:
        changed[start : start + length] = bytes(len(changed[start : start + length]))
    else:
        block = changed[start : start + length]
        del changed[start : start + length]
        target = int(rng.integers(len(changed) + 1))
        changed[target:target] = block
    return bytes(changed)


def digest(content: Any) -> str:
    """What was read, in one word: equal words, equal content."""
    if isinstance(content, Demonstrations):
        return content.checksum
    if isinstance(content, torch.Tensor | np.ndarray):
        array = np.ascontiguousarray(content)
        return hashlib.sha256(f"{array.dtype}{array.shape}".encode() + array.tobytes()).hexdigest()
    if isinstance(content, torch.nn.Module):
        return digest(content.state_dict())
    if isinstance(content, dict):
        return digest(sorted([str(name), digest(value)] for name, value in content.items()))  # in any order
    if isinstance(content, list | tuple):
        return hashlib.sha256(json.dumps([digest(item) for item in content]).encode()).hexdigest()
    return repr(content)


def _serve(connection: Any) -> None:
    """Read files on request, under a limit on memory."""
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, taken + MEMORY))
    torch.set_num_threads(1)
    while True:
        name, path = connection.recv()
        reader = FORMATS[name].read if name in FORMATS else read
        try:
            connection.send(("read", digest(reader(path))))
        except InputError as error:
            connection.send(("sentence", str(error)))
        except BaseException:
            connection.send(("escaped", traceback.format_exc(limit=-3)))


class Reader:
    """A process that reads files; another takes its place where it crashes or hangs."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other,), daemon=True)
        self._process.start()
        other.close()

    def outcome(self, name: str, path: Path, original: str | None, checked: bool) -> tuple[str, str]:
        """One of OUTCOMES, and details where it is a fault."""
        try:
            self._connection.send((name, path))
            if not self._connection.poll(PATIENCE):
                self.close()
                self._start()
                return "hung", ""
            kind, words = self._connection.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self._process.join()
            status = f"status {self._process.exitcode}"
            self._start()
            return "crashed", status
        if kind != "read":
            return kind, words if kind == "escaped" else ""
        if original is None or words == original:
            return "same", words
        return ("silent change" if checked else "other content"), ""

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()


def run(count: int, seed: int, files: tuple[Path, ...], done: set[tuple[str, int]]) -> Iterator[dict[str, Any]]:
    """Mutate and read `count` times, every format in turn, but for those `done`; yields a record of each.

    In a folder the damage goes to one of its files.
    """
    sources = {**dict.fromkeys(FORMATS), **{path.name: path for path in files}}
    reader = Reader()
    try:
        round_of_all = [name for name in sources for _ in range(FORMATS.get(name, PLAIN).turns)]
        for name, source in sources.items():
            turns = (index for index in range(count) if round_of_all[index % len(round_of_all)] == name)
            numbers = [index for index in turns if (name, index) not in done]
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / name
                if source is None:
                    FORMATS[name].make(path)
                else:
                    (shutil.copytree if source.is_dir() else shutil.copy)(source, path)
                parts = sorted(part for part in path.rglob("*") if part.is_file() and part.stat().st_size) or [path]
                checked = name in FORMATS and FORMATS[name].checked
                kind, original = reader.outcome(name, path, None, checked)
                if kind != "same":
                    raise InputError(f"{name} cannot be read as it is: {kind} {original}")
                for index in numbers:
                    rng = np.random.default_rng((seed, index))
                    part = parts[rng.integers(len(parts))]
                    content = part.read_bytes()
                    FORMATS.get(name, PLAIN).damage(part, rng)
                    kind, details = reader.outcome(name, path, original, checked)
                    part.write_bytes(content)
                    yield {"format": name, "index": index, "outcome": kind, "details": details * (kind in FAULTS)}
                if reader.outcome(name, path, original, checked)[0] != "same":  # else sentences mean nothing
                    raise InputError(f"{name} cannot be read any more after its mutations.")
    finally:
        reader.close()
