"""Every format that is read: how to make a small file of it, how it is read, and whether damage must be noticed."""

import pickle
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import imageio.v3 as imageio
import numpy as np
import torch

from benchmarks import gifts
from tests import datasets
from vision_pwil.demonstrations import Demonstrations, Episode, read
from vision_pwil.encoder import Encoder
from vision_pwil.sac import SAC, SACConfig
from vision_pwil.system import checkpoint
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import read_json, write_json
from vision_pwil.system.run import read_curve, write_curve
from vision_pwil.training.replay import Replay, Transitions
from vision_pwil.training.snapshot import read_snapshot, write_snapshot


class Format(NamedTuple):
    """A kind of file: how to make one, how to read it, and whether damage must be noticed."""

    make: Callable[[Path], object]
    read: Callable[[Path], Any]
    checked: bool
    damage: Callable[[Path, np.random.Generator], None] | None = None
    """Of one of its files, where it is not that of any file."""
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


def _front(path: Path) -> Demonstrations:
    """What one of several cameras saw."""
    return read(path, camera="front")


def _small_agent() -> SAC:
    return SAC(4, 2, SACConfig(hidden=(8, 8)), seed=0)


def _curve(path: Path) -> None:
    write_curve(path.parent, [{"step": 100 * i, "return": 1.5**i, "w1": 9.0 / (i + 1)} for i in range(6)])


def _record(path: Path) -> None:
    write_json(path, {"training": asdict(SACConfig()), "checksums": {"encoder": "0" * 64}, "verdict": "ranks well"})


def _run(path: Path) -> None:
    """A run directory without the files that have no checksum."""
    gifts.make(path)
    for part in (*path.glob("events.*"), path / "audit.png", path / "lock"):
        part.unlink()


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
        raise InputError(f"Every command refuses: {fresh}.")
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
    "lerobot-v3": Format(datasets.write_lerobot_v3, _front, checked=False),
    "lerobot-v3-images": Format(lambda path: datasets.write_lerobot_v3(path, kind="image"), _front, checked=False),
    "lerobot-v2": Format(datasets.write_lerobot_v2, _front, checked=False),
    "robomimic.hdf5": Format(datasets.write_robomimic, _front, checked=False),
    "minari-hdf5": Format(lambda path: datasets.write_minari_file(path, True, 2), read, checked=False),
    "minari-arrow": Format(lambda path: datasets.write_minari_tables(path, "arrow", True, 2), read, checked=False),
    "minari-parquet": Format(lambda path: datasets.write_minari_tables(path, "parquet", False, 2), read, checked=False),
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
