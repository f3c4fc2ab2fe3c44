"""What all readers share: untrusted files become either Demonstrations or one clear sentence."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from vision_pwil.demonstrations.episode import Array, Episode, vector_dtype
from vision_pwil.system import memory
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import parsing

Item = TypeVar("Item")
Parts = dict[str, Any]
"""The arguments of an Episode."""


def plain(path: Path) -> Path:
    """The path, unless something lies there that is no file: a pipe would be waited for, and never end."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not a file.")
    return path


def read_metadata(path: Path) -> dict[str, Any]:
    """What a dataset says of itself: a JSON object."""
    with parsing(path, "JSON file"):
        memory.require(plain(path).stat().st_size)
        return dict(json.loads(path.read_text(encoding="utf-8")))


def starts(path: Path, magic: bytes) -> bool:
    """Whether the file begins with these bytes."""
    with path.open("rb") as file:
        return file.read(len(magic)) == magic


def each(make: Callable[[Item], Parts], items: Iterable[Item]) -> tuple[Episode, ...]:
    """The episode of each item; a complaint about one says which it was.

    Every array of every episode counts as it will lie in memory, also where a small file shows one array many times.
    """
    allowance = memory.Allowance()
    episodes = []
    for number, item in enumerate(items):
        try:
            parts = make(item)
            for array in [parts.get("states"), parts.get("actions"), *(parts.get("initial_state") or {}).values()]:
                if array is not None:
                    allowance.take(array.size * np.dtype(vector_dtype(array)).itemsize)
            if (frames := parts.get("frames")) is not None:
                allowance.take(frames.nbytes)
            episodes.append(Episode(**parts))
        except InputError as error:
            raise InputError(f"in episode {number}, {str(error)[:1].lower()}{str(error)[1:]}") from None
    return tuple(episodes)


def columns(parts: Iterable[tuple[str, Array]]) -> tuple[Array | None, tuple[tuple[str, int], ...]]:
    """Named parts of a state side by side, one row for each step, and the name and width of each part."""
    flat = [(name, array.reshape(len(array), -1)) for name, array in parts]
    if not flat:
        return None, ()
    if len({len(array) for _, array in flat}) > 1:
        counts = ", ".join(f"{len(array)} {name}" for name, array in flat)
        raise InputError(f"the parts of its observations must have one entry per step, but there are {counts}.")
    return np.concatenate([array for _, array in flat], axis=1), tuple((name, a.shape[1]) for name, a in flat)
