"""Expert rollouts in a plain .npz: flat `observations` and `actions`, cut into episodes by `episode_lengths`.

Arrays named `init_...`, with a row for each episode, are the simulator's state at its start: `init_qpos`, `init_qvel`.
"""

import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from vision_pwil.demonstrations.archive import Archive
from vision_pwil.demonstrations.episode import Demonstrations
from vision_pwil.demonstrations.options import Options
from vision_pwil.demonstrations.parsing import each, starts
from vision_pwil.system.errors import InputError

_START = "init_"


def recognises(path: Path) -> bool:
    """Whether a file is a zip archive."""
    return path.is_file() and starts(path, b"PK")


def read(path: Path, options: Options) -> Demonstrations:
    """The episodes of an archive; a file named after an environment ("Ant-v5.npz") says which it is."""
    with zipfile.ZipFile(path) as file:
        archive = Archive(file)
        observations, actions, lengths = (archive[name] for name in ("observations", "actions", "episode_lengths"))
        starts_of = {name.removeprefix(_START): archive[name] for name in archive if name.startswith(_START)}
    if lengths.dtype.kind not in "iu" or lengths.ndim != 1 or not (lengths > 0).all():
        raise InputError("its episode_lengths must be a list of positive whole numbers.")
    total = sum(int(length) for length in lengths)
    if observations.ndim != 2 or not len(observations) == len(actions) == total:
        raise InputError(
            f"its episode_lengths sum to {total}, but there are {len(observations)} observations "
            f"and {len(actions)} actions."
        )
    ends = np.cumsum(lengths.astype(np.int64))
    bounds = zip(ends - lengths, ends, strict=True)
    if any(len(rows) != len(lengths) for rows in starts_of.values()):
        raise InputError(f"its {_START} arrays must have one row for each of the {len(lengths)} episodes.")

    def episode(numbered: tuple[int, tuple[int, int]]) -> dict[str, Any]:
        number, bound = numbered
        initial = {name: np.ravel(rows[number]) for name, rows in starts_of.items()}
        part = slice(*bound)
        return {"states": observations[part], "actions": actions[part], "initial_state": initial or None}

    episodes = each(episode, enumerate(bounds))
    env_id = path.stem if re.fullmatch(r"[\w/]+-v\d+", path.stem) else None
    return Demonstrations(episodes, env_id, source=path.name)
