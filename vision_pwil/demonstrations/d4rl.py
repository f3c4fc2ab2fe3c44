"""D4RL's datasets: an HDF5 file with `observations`, `actions`, `terminals`, `timeouts`, `infos/...`, all flat.

The simulator's state at the start of an episode comes from its first row of `infos`.
"""

from itertools import pairwise
from pathlib import Path

import h5py
import numpy as np

from vision_pwil.demonstrations import hdf5
from vision_pwil.demonstrations.episode import Demonstrations, adroit_env_id
from vision_pwil.demonstrations.options import Options
from vision_pwil.demonstrations.parsing import Parts, each
from vision_pwil.system.errors import InputError

recognises = hdf5.is_hdf5


def read(path: Path, options: Options) -> Demonstrations:
    """Cut the flat arrays into episodes."""
    with h5py.File(path, "r") as file:
        observations, actions = hdf5.required(file, "observations"), hdf5.required(file, "actions")
        steps = len(actions)
        if len(observations) != steps:
            raise InputError(f"it has {len(observations)} observations for {steps} actions.")
        terminals, timeouts = hdf5.flags(file, "terminals", steps), hdf5.flags(file, "timeouts", steps)
        infos = hdf5.subgroup(file, "infos")
        states = {name: hdf5.array(infos, name) for name in hdf5.STATE} if infos is not None else {}
    if any(rows is not None and len(rows) != steps for rows in states.values()):
        raise InputError(f"its infos do not have one row for each of the {steps} steps.")
    # The last episode may lack its end flag: what was recorded of it is kept.
    ends = np.flatnonzero(terminals | timeouts) + 1
    bounds = [0, *ends.tolist(), *([steps] if not len(ends) or ends[-1] != steps else [])]

    def cut(bound: tuple[int, int]) -> Parts:
        start, end = bound
        return {
            "states": observations[start:end],
            "actions": actions[start:end],
            "initial_state": {name: rows[start] for name, rows in states.items() if rows is not None} or None,
            "absorbing": bool(terminals[end - 1]),
        }

    episodes = each(cut, pairwise(bounds))
    return Demonstrations(episodes, adroit_env_id(episodes), source=path.name)
