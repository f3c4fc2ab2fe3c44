"""HDF5 files, read without trusting them: nothing outside the file is reached, and sizes are checked first."""

import mmap
import struct
from functools import lru_cache
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from vision_pwil.demonstrations.episode import Array
from vision_pwil.demonstrations.parsing import starts
from vision_pwil.system import memory
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import parsing

MAGIC = b"\x89HDF\r\n\x1a\n"
STATE = ("qpos", "qvel", "door_body_pos")
"""The parts of a simulator's state that the Adroit datasets keep."""


def is_hdf5(path: Path) -> bool:
    """Whether a file is HDF5."""
    return path.is_file() and starts(path, MAGIC)


def names(path: Path, group: str = "/") -> list[str]:
    """What a group of a file holds; nothing where the file is not HDF5 or has no such group."""
    if not is_hdf5(path):
        return []
    with parsing(path, "HDF5 file"), h5py.File(path, "r") as file:
        return list(file if group == "/" else subgroup(file, group) or ())


def numbered(names: list[str], prefix: str) -> list[str]:
    """Those that are the prefix and a number, in the order of the numbers."""
    chosen = [name for name in names if name.startswith(prefix) and name[len(prefix) :].isdecimal()]
    return sorted(chosen, key=lambda name: int(name[len(prefix) :]))


def member(group: Any, name: str) -> Any:
    """A member that lies in this file, or None: a link to another file is not followed."""
    if name not in group:
        return None
    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
        raise InputError(f"its {name!r} is a link, which is refused.")
    return group[name]


def subgroup(group: Any, name: str) -> Any:
    """A member that is a group, or None where it is absent or something else."""
    found = member(group, name)
    return found if isinstance(found, h5py.Group) else None


def dataset(group: Any, name: str) -> Any:
    """A dataset that lies in this file; None where there is none."""
    data = member(group, name)
    if data is None:
        return None
    if not isinstance(data, h5py.Dataset) or data.ndim == 0:
        raise InputError(f"its {name!r} is not an array of numbers.")
    if data.is_virtual or data.external:
        raise InputError(f"its {name!r} lies in another file, which is refused.")
    if data.dtype.hasobject:
        _require_heaps(data)
    return data


def attribute(group: Any, name: str) -> Any:
    """An attribute of a group; None where there is none."""
    if name not in group.attrs:
        return None
    _require_heaps(group)
    return group.attrs[name]


def _require_heaps(part: Any) -> None:
    """Refuse a file whose values of different lengths HDF5 would not come back from.

    They lie in heaps, and HDF5 (2.0 at least) walks through a heap by the sizes in it, for ever if one is zero.
    """
    path = Path(part.file.filename)
    _check_heaps(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=1)
def _check_heaps(path: Path, changed: int) -> None:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if content[14 if content[8] < 2 else 10] != 8:
            raise InputError("its sizes are not numbers of 8 bytes, as in every file that is known.")
        heap = content.find(b"GCOL")
        while heap >= 0:
            version, size = struct.unpack_from("<B3xQ", content[heap + 4 : heap + 16].ljust(12, b"\0"))
            if version == 1 and 4096 <= size <= len(content) - heap:  # other heaps HDF5 refuses itself
                _check_heap(content, heap + 16, heap + size)
            heap = content.find(b"GCOL", heap + 1)


def _check_heap(content: mmap.mmap, place: int, end: int) -> None:
    while place + 16 <= end:
        number, size = struct.unpack_from("<H6xQ", content, place)
        step = 16 + (size + 7) // 8 * 8 if number else size  # number 0 is free space, counted with its head
        if not 16 <= step <= end - place:
            raise InputError("a heap in it is damaged: copy or make it again.")
        place += step


def array(group: Any, name: str, rows: int | None = None) -> Array | None:
    """An array of numbers that lies in this file, or its first rows; None where there is none."""
    data = dataset(group, name)
    if data is None:
        return None
    if data.dtype.kind not in "biuf":
        raise InputError(f"its {name!r} is not an array of numbers.")
    memory.require(data.size * data.dtype.itemsize)
    return np.asarray(data[:rows])


def required(group: Any, name: str) -> Array:
    """An array that must be there."""
    found = array(group, name)
    if found is None:
        raise InputError(f"it has no {name!r}, so it is not in the layout of D4RL, Minari or robomimic.")
    return found


def flags(group: Any, name: str, length: int) -> Array:
    """One truth value per step; all false where the file has none."""
    found = array(group, name)
    if found is None:
        return np.zeros(length, bool)
    if found.shape != (length,):
        raise InputError(f"its {name!r} has shape {found.shape}, but there are {length} steps.")
    return found.astype(bool)
