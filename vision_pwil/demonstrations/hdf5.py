"""HDF5 files, read without trusting them: nothing outside the file is reached, and sizes are checked first."""

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
    return data


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
