"""Minari's description of observations: which parts they have, and which of them are pictures."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import h5py
import numpy as np

from vision_pwil.demonstrations import hdf5
from vision_pwil.system.errors import InputError

_DEEPEST = 8
"""Spaces nested deeper are no one's; a group of an HDF5 file can contain itself."""
_SMALLEST = 32
"""Minari takes arrays of bytes for pictures from this height and width on: MiniGrid's small ones are not."""


class Leaf(NamedTuple):
    """A part of the observations that is an array."""

    keys: tuple[str | int, ...] = ()
    """The way to it: names in a Dict, numbers in a Tuple."""
    shape: tuple[int, ...] | None = None
    """Of one observation, where the metadata tell."""
    picture: bool = False
    encoded: bool = False
    """As JPEG."""

    @property
    def name(self) -> str:
        """What people call it."""
        return "/".join(map(str, self.keys)) or "observations"


def described(space: Any, jpeg: bool, keys: tuple[str | int, ...] = ()) -> Iterator[Leaf]:
    """The parts of a space as `metadata.json` has it; text is left out."""
    _check_depth(keys)
    if space["type"] == "Dict":
        for key, inner in space["subspaces"].items():
            yield from described(inner, jpeg, (*keys, str(key)))
    elif space["type"] == "Tuple":
        for index, inner in enumerate(space["subspaces"]):
            yield from described(inner, jpeg, (*keys, index))
    elif space["type"] == "Box":
        shape = tuple(int(size) for size in space["shape"])
        picture = space["dtype"] == "uint8" and len(shape) in (2, 3) and min(shape[:2]) >= _SMALLEST
        picture = picture and np.all(np.array(space["low"]) == 0) and np.all(np.array(space["high"]) == 255)
        yield Leaf(keys, shape, bool(picture), bool(picture) and jpeg)
    elif space["type"] in ("Discrete", "MultiDiscrete", "MultiBinary"):
        yield Leaf(keys)


def guessed(group: Any, name: str = "observations", keys: tuple[str | int, ...] = ()) -> Iterator[Leaf]:
    """The parts of an HDF5 file's observations where there are no metadata: pictures are what looks like them."""
    _check_depth(keys)
    found = hdf5.member(group, name)
    if isinstance(found, h5py.Group):
        for key in found:
            yield from guessed(found, key, (*keys, key))
    elif isinstance(found, h5py.Dataset):
        encoded = h5py.check_vlen_dtype(found.dtype) == np.uint8
        raw = found.dtype == np.uint8 and found.ndim in (3, 4) and min(found.shape[1:3]) >= _SMALLEST
        yield Leaf(keys, None, encoded or raw, encoded)


def _check_depth(keys: tuple[str | int, ...]) -> None:
    if len(keys) > _DEEPEST:
        raise InputError("its observations are nested too deeply.")
