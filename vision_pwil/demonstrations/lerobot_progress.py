"""Progress through the task for every frame of a LeRobot dataset, as its reward-aligned behaviour cloning reads it.

LeRobot weighs a frame by how much progress the next moments make (`RABCWeights`); its own file is
`sarm_progress.parquet`.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from vision_pwil.demonstrations import tables
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import parsing, replacing
from vision_pwil.system.memory import Allowance

_COLUMNS = ("index", "episode_index", "frame_index")


def require_dataset(root: Path) -> None:
    """Raise one clear sentence unless this is the folder of a LeRobot dataset."""
    if not (root / "meta" / "info.json").is_file():
        raise InputError(f"--lerobot writes a table for a LeRobot dataset, and {root} is not the folder of one.")


def write_progress(root: Path, path: Path, progress: Mapping[int, np.ndarray]) -> int:
    """Write the table for a dataset, from the progress of each episode by its index; return how many rows it has."""
    columns = _frames(root)
    episodes, steps = columns["episode_index"], columns["frame_index"]
    values = np.empty(len(steps), np.float32)
    for episode in np.unique(episodes):
        rows, known = episodes == episode, progress.get(int(episode))
        if known is None or not np.array_equal(np.sort(steps[rows]), np.arange(len(known))):
            raise InputError(f"{root} has frames of episode {episode} that were not scored: read it whole.")
        values[rows] = known[steps[rows]]
    order = np.argsort(columns["index"], kind="stable")
    table = pa.table(
        {
            **{name: pa.array(column[order], pa.int64()) for name, column in columns.items()},
            "progress_sparse": pa.array(values[order], pa.float32()),
        }
    )
    with replacing(path) as temporary:
        pq.write_table(table, temporary)
    return len(values)


def _frames(root: Path) -> dict[str, np.ndarray]:
    """Where each frame of the dataset stands: its place in the whole, its episode, its step there."""
    allowance, pieces = Allowance(), []
    for file in sorted((root / "data").rglob("*.parquet")):
        with parsing(file, "Parquet file"):
            table = tables.table(file, _COLUMNS, allowance)
            if missing := [name for name in _COLUMNS if name not in table.column_names]:
                raise InputError(f"it has no column {missing[0]!r}, by which LeRobot finds a frame.")
            pieces.append({name: tables.numbers(table[name], name)[:, 0].astype(np.int64) for name in _COLUMNS})
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in _COLUMNS}
