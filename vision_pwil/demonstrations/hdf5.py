"""Offline datasets in HDF5: D4RL's flat layout and Minari's group for each episode.

D4RL: `observations`, `actions`, `terminals`, `timeouts`, `infos/...`, flat over episodes. Minari: `episode_<k>` with
`observations` (one more than actions), `actions`, `terminations`, `truncations`, `infos`, and the options of the reset
as attributes. The simulator's state at the start comes from those options or from the first row of `infos`.
"""

from itertools import pairwise
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from vision_pwil.demonstrations.episode import Array, Demonstrations, Episode, adroit_env_id
from vision_pwil.demonstrations.parsing import each, limit, parsing
from vision_pwil.system.errors import InputError

MAGIC = b"\x89HDF\r\n\x1a\n"
STATE = ("qpos", "qvel", "door_body_pos")
"""The parts of a simulator's state that the Adroit datasets keep."""
_OPTIONS = "options/initial_state_dict/"


def _member(group: Any, name: str) -> Any:
    """A member that lies in this file: a link to another file is not followed."""
    if name not in group:
        return None
    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
        raise InputError(f"its {name!r} is a link, which is refused.")
    return group[name]


def _array(group: Any, name: str, rows: int | None = None) -> Array | None:
    """An array of numbers that lies in this file, or its first rows; None where there is none."""
    data = _member(group, name)
    if data is None:
        return None
    if not isinstance(data, h5py.Dataset) or data.dtype.kind not in "biuf" or data.ndim == 0:
        raise InputError(f"its {name!r} is not an array of numbers.")
    if data.is_virtual or data.external:
        raise InputError(f"its {name!r} lies in another file, which is refused.")
    limit(data.size * data.dtype.itemsize)
    return np.asarray(data[:rows])


def _required(group: Any, name: str) -> Array:
    array = _array(group, name)
    if array is None:
        raise InputError(f"it has no {name!r}, so it is neither in D4RL's nor in Minari's layout.")
    return array


def _flags(group: Any, name: str, length: int) -> Array:
    """One truth value per step; all false where the file has none."""
    array = _array(group, name)
    if array is None:
        return np.zeros(length, bool)
    if array.shape != (length,):
        raise InputError(f"its {name!r} has shape {array.shape}, but there are {length} steps.")
    return array.astype(bool)


def _minari_episode(group: Any) -> Episode:
    if not isinstance(group, h5py.Group):
        raise InputError("there is no group.")
    observations, actions = _required(group, "observations"), _required(group, "actions")
    steps = len(actions)
    if len(observations) != steps + 1:
        raise InputError(f"there are {len(observations)} observations for {steps} actions, instead of one more.")
    absorbing = bool(_flags(group, "terminations", steps)[-1:].any())
    state = {name: np.asarray(group.attrs[_OPTIONS + name]) for name in STATE if _OPTIONS + name in group.attrs}
    infos = _member(group, "infos")
    if not state and isinstance(infos, h5py.Group):
        rows = {name: _array(infos, name, 1) for name in STATE}
        state = {name: row[0] for name, row in rows.items() if row is not None and len(row)}
    return Episode(observations[:-1], actions, initial_state=state or None, absorbing=absorbing)


def _d4rl(file: Any) -> tuple[Episode, ...]:
    observations, actions = _required(file, "observations"), _required(file, "actions")
    steps = len(actions)
    if len(observations) != steps:
        raise InputError(f"it has {len(observations)} observations for {steps} actions.")
    terminals = _flags(file, "terminals", steps)
    infos = _member(file, "infos")
    states = {name: _array(infos, name) for name in STATE} if isinstance(infos, h5py.Group) else {}
    if any(rows is not None and len(rows) != steps for rows in states.values()):
        raise InputError(f"its infos do not have one row for each of the {steps} steps.")
    # The last episode may lack its end flag: what was recorded of it is kept.
    ends = np.flatnonzero(terminals | _flags(file, "timeouts", steps)) + 1
    bounds = [0, *ends.tolist(), *([steps] if not len(ends) or ends[-1] != steps else [])]

    def cut(bound: tuple[int, int]) -> Episode:
        start, end = bound
        state = {name: rows[start] for name, rows in states.items() if rows is not None}
        absorbing = bool(terminals[end - 1])
        return Episode(observations[start:end], actions[start:end], None, state or None, absorbing)

    return each(cut, pairwise(bounds))


def read(path: Path) -> Demonstrations:
    """Read either layout."""
    with parsing(path, "HDF5 file of demonstrations"), h5py.File(path, "r") as file:
        numbers = sorted(int(name[8:]) for name in file if name.startswith("episode_") and name[8:].isdecimal())
        groups = (_member(file, f"episode_{number}") for number in numbers)
        episodes = each(_minari_episode, groups) if numbers else _d4rl(file)
        return Demonstrations(episodes, adroit_env_id(episodes), source=path.name)
