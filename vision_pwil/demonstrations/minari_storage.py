"""Episodes of a Minari dataset as they are stored: groups of one HDF5 file, or folders of Arrow or Parquet files."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
import pyarrow as pa

from vision_pwil.demonstrations import hdf5, tables
from vision_pwil.demonstrations.episode import Array
from vision_pwil.demonstrations.minari_space import Leaf
from vision_pwil.demonstrations.parsing import read_metadata
from vision_pwil.demonstrations.pictures import check_size
from vision_pwil.system import memory
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import parsing


class Stored(NamedTuple):
    """One episode of T steps, and ways to its T + 1 observations."""

    name: str
    actions: Array
    """(T, A)"""
    terminated: bool
    initial_state: dict[str, Array]
    numbers: Callable[[Leaf], Array]
    """The values of a part that is no picture: (T + 1, ...)."""
    pictures: Callable[[Leaf], Iterator[Array | bytes]]
    """The pictures of a part, as arrays of pixels or encoded."""


# --- HDF5


def in_file(path: Path) -> Iterator[Stored]:
    """The episodes of an HDF5 file, each to be used before the next is asked for."""
    with h5py.File(path, "r") as file:
        for name in hdf5.numbered(list(file), "episode_"):
            yield _group(name.removeprefix("episode_"), hdf5.subgroup(file, name))


def _group(name: str, group: Any) -> Stored:
    if group is None:
        raise InputError(f"its episode_{name} is not a group.")
    actions = hdf5.required(group, "actions")

    def find(leaf: Leaf) -> tuple[Any, str]:
        holder, called = group, "observations"
        for key in leaf.keys:
            holder = hdf5.subgroup(holder, called)
            called = f"_index_{key}" if isinstance(key, int) else key
            if holder is None:
                raise InputError(f"it has no observations named {leaf.name!r}.")
        return holder, called

    def pictures(leaf: Leaf) -> Iterator[Array | bytes]:
        data = hdf5.dataset(*find(leaf))
        if data is None:
            raise InputError(f"it has no observations named {leaf.name!r}.")
        if not leaf.encoded:
            check_size(*data.shape[1:3])
        return (np.asarray(row).tobytes() if leaf.encoded else row for row in data)

    return Stored(
        name,
        actions.reshape(len(actions), -1),
        bool(hdf5.flags(group, "terminations", len(actions))[-1:].any()),
        _group_state(group),
        lambda leaf: hdf5.required(*find(leaf)),
        pictures,
    )


def _group_state(group: Any) -> dict[str, Array]:
    """The simulator's state at the start, from the options of the reset or the first row of the infos."""
    prefix = "options/initial_state_dict/"
    found = {name: hdf5.attribute(group, prefix + name) for name in hdf5.STATE}
    state = {name: np.asarray(value) for name, value in found.items() if value is not None}
    if state or (infos := hdf5.subgroup(group, "infos")) is None:
        return state
    rows = {name: hdf5.array(infos, name, 1) for name in hdf5.STATE}
    return {name: row[0] for name, row in rows.items() if row is not None and len(row)}


# --- Arrow and Parquet


def in_folders(folder: Path) -> Iterator[Stored]:
    """The episodes of a folder of folders, which are named by their numbers."""
    numbered = [child for child in folder.iterdir() if child.name.isdecimal() and child.is_dir()]
    for child in sorted(numbered, key=lambda child: int(child.name)):
        with parsing(child, "Minari episode"):
            stored = _table(child)
        yield stored


def _table(folder: Path) -> Stored:
    files = sorted(
        path for path in folder.iterdir() if path.suffix in (".arrow", ".parquet") and path.name[0] not in "._"
    )
    if not files:
        raise InputError("it holds no Arrow and no Parquet file.")
    allowance = memory.Allowance()
    table = pa.concat_tables([tables.table(path, None, allowance) for path in files]).combine_chunks()
    steps = table.num_rows - 1

    def find(name: str, *keys: str | int) -> Any:
        if name not in table.column_names:
            raise InputError(f"it has no column {name!r}.")
        column = table[name].combine_chunks()
        for key in keys:
            column = column.field(str(key))
        return column

    def pictures(leaf: Leaf) -> Iterator[Array | bytes]:
        column = find("observations", *leaf.keys)
        if leaf.encoded:
            return (value.as_py() for value in column)
        return iter(tables.numbers(column, leaf.name).reshape(-1, *(leaf.shape or ())))

    terminations = tables.numbers(find("terminations"), "terminations")[:-1]
    return Stored(
        folder.name,
        tables.numbers(find("actions")[:steps], "actions"),  # the row that pads them is left out
        bool(terminations[-1:].any()),
        _table_state(folder, find("infos") if "infos" in table.column_names else None),
        lambda leaf: tables.numbers(find("observations", *leaf.keys), leaf.name),
        pictures,
    )


def _table_state(folder: Path, infos: Any) -> dict[str, Array]:
    """The simulator's state at the start, from the options of the reset or the first row of the infos."""
    metadata = read_metadata(folder / "metadata.json") if (folder / "metadata.json").is_file() else {}
    options = metadata.get("options") or {}
    state = options.get("initial_state_dict") if isinstance(options, dict) else None
    if isinstance(state, dict) and any(name in state for name in hdf5.STATE):
        return {name: np.asarray(state[name], np.float64) for name in hdf5.STATE if name in state}
    if infos is None or not pa.types.is_struct(infos.type):
        return {}
    known = [name for name in hdf5.STATE if infos.type.get_field_index(name) >= 0]
    return {name: tables.numbers(infos.field(name)[:1], name)[0] for name in known}
