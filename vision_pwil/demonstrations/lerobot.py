"""LeRobot datasets, versions 2 and 3.0, from their folder.

| | version 2 | version 3.0 |
|---|---|---|
| episodes | `meta/episodes.jsonl` | `meta/episodes/**/*.parquet`, with the film and the second at which each begins |
| tasks | `meta/tasks.jsonl` | `meta/tasks.parquet`, the text in the index column |
| steps | a Parquet file for each episode | Parquet files of many episodes |
| video | a film for each episode | films of many episodes |

Steps are found by their `episode_index`, wherever they lie: where version 3.0 says in which file an episode is, the
official converter is off by one for some. Pictures may also lie in the steps' own table, as encoded bytes.
"""

import contextlib
import io
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from vision_pwil.demonstrations import films, tables
from vision_pwil.demonstrations.clips import Clip, decode
from vision_pwil.demonstrations.episode import Array, Demonstrations
from vision_pwil.demonstrations.options import Options, pick_camera
from vision_pwil.demonstrations.parsing import Parts, each, plain, read_metadata
from vision_pwil.demonstrations.pictures import open_picture
from vision_pwil.system import memory
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import parsing

_STATE, _ACTION = "observation.state", "action"
_COLUMNS = ("episode_index", "frame_index", "timestamp", "task_index", _STATE, _ACTION)


def recognises(path: Path) -> bool:
    """The folder of a dataset, and whatever lies in one of version 3.0, where a film alone is many episodes."""
    return _is_dataset(path) or _owner(path) is not None


def read(path: Path, options: Options) -> Demonstrations:
    """All episodes, in the order of their own indices."""
    if not _is_dataset(path):
        raise InputError(
            f"it belongs to the LeRobot dataset {_owner(path)}, where one file holds many episodes: give that folder."
        )
    info = _Info(path)
    camera = pick_camera(info.cameras, options)
    described, steps, tasks = _episodes(path, info), _Steps(path), _tasks(path, info)
    frames: list[Array | None] = [None] * len(described)
    if camera is not None:
        clips = [_clip(path, info, camera, episode, steps) for episode in described]
        frames = list(decode(clips, options))

    def parts(item: tuple[dict[str, Any], Array | None]) -> Parts:
        index = item[0]["episode_index"]
        of = steps.of(index)
        doing = dict.fromkeys(tasks.get(int(number), "") for number in of.get("task_index", np.empty(0)).ravel())
        return {
            "states": of.get(_STATE),
            "actions": of.get(_ACTION),
            "frames": item[1],
            "name": str(index),
            "task": "; ".join(filter(None, doing)) or None,
        }

    episodes = each(parts, zip(described, frames, strict=True))
    return Demonstrations(
        episodes, source=path.resolve().name, rate=info.rate, camera=camera, cameras=tuple(info.cameras)
    )


class _Info:
    """`meta/info.json`: the version, the frames a second, and the cameras with how each is stored."""

    def __init__(self, root: Path) -> None:
        info = read_metadata(root / "meta" / "info.json")
        self.version = str(info.get("codebase_version"))
        if self.version.removeprefix("v").split(".")[0] not in ("2", "3"):
            raise InputError(
                f"it is a LeRobot dataset of version {self.version}, and versions 2 and 3 are read: "
                "convert it with LeRobot's own scripts."
            )
        self.many = self.version.startswith("v3")
        self.rate = float(info["fps"])
        if not (math.isfinite(self.rate) and self.rate > 0):
            raise InputError(f"its meta/info.json says {self.rate} frames a second.")
        self.chunk = int(info.get("chunks_size") or 1000)
        self.stored = {name: kind["dtype"] for name, kind in info["features"].items() if "dtype" in kind}
        self.cameras = [name for name, kind in self.stored.items() if kind in ("video", "image")]
        if any("/" in name or name in ("", ".", "..") for name in self.cameras):
            raise InputError("a camera in its meta/info.json has the name of a path.")


class _Steps:
    """The steps of all episodes, sorted by episode and then by time."""

    def __init__(self, root: Path) -> None:
        self.files = sorted((root / "data").rglob("*.parquet"))
        if not self.files:
            raise InputError("it has no Parquet files under data: the dataset is not complete.")
        allowance = memory.Allowance()
        read = []
        for file in self.files:
            with parsing(file, "Parquet file"):
                table = tables.table(file, _COLUMNS, allowance)
                read.append({name: tables.numbers(table[name], name) for name in table.column_names})
        if any(piece.keys() != read[0].keys() for piece in read):
            raise InputError("its Parquet files under data have different columns.")
        lengths = [len(piece["episode_index"]) for piece in read]
        columns = {name: np.concatenate([piece[name] for piece in read]) for name in read[0]}
        self._index, frame = columns["episode_index"][:, 0], columns["frame_index"][:, 0]
        order = np.lexsort((frame, self._index))
        self._index = self._index[order]
        self._columns = {name: column[order] for name, column in columns.items()}
        self._file = np.repeat(np.arange(len(read)), lengths)[order]
        self._row = np.concatenate([np.arange(length) for length in lengths])[order]

    def of(self, index: int) -> dict[str, Array]:
        """The columns of one episode."""
        span = self._span(index)
        columns = {name: column[span] for name, column in self._columns.items()}
        if not np.array_equal(columns["frame_index"][:, 0], np.arange(span.stop - span.start)):
            raise InputError(f"the steps of episode {index} are not numbered from 0 on: the dataset is not complete.")
        return columns

    def rows(self, index: int) -> tuple[Path, int, int]:
        """The file that holds the episode, and its first and last row there."""
        span = self._span(index)
        file, row = self._file[span], self._row[span]
        if (file != file[0]).any() or (np.diff(row) != 1).any():
            raise InputError(f"the steps of episode {index} are scattered over its Parquet files.")
        return self.files[int(file[0])], int(row[0]), int(row[-1])

    def _span(self, index: int) -> slice:
        first, last = (int(np.searchsorted(self._index, index, side)) for side in ("left", "right"))
        if first == last:
            raise InputError(f"it lists episode {index}, of which no Parquet file under data has a step.")
        return slice(first, last)


def _clip(root: Path, info: _Info, camera: str, episode: dict[str, Any], steps: _Steps) -> Clip:
    """The pictures of one episode from one camera: a stretch of a film, or rows of a table."""
    index = episode["episode_index"]
    if info.stored[camera] == "image":
        file, first, last = steps.rows(index)
        return Clip(file, (file,), (camera, first, last), lambda threads: _images(file, camera, first, last))
    start = 0.0
    if info.many:
        chunk, number, start = (episode[f"videos/{camera}/{key}"] for key in _FILM)
        film = root / "videos" / camera / f"chunk-{chunk:03d}" / f"file-{number:03d}.mp4"
    else:
        film = root / "videos" / f"chunk-{index // info.chunk:03d}" / camera / f"episode_{index:06d}.mp4"
    times = start + steps.of(index)["timestamp"][:, 0].astype(np.float64)
    if not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise InputError(f"the times of episode {index} do not rise.")
    part = (info.rate, times.tolist())
    return Clip(film, (film,), part, lambda threads: films.film(film, times, info.rate, threads))


_FILM = ("chunk_index", "file_index", "from_timestamp")


def _images(file: Path, camera: str, first: int, last: int) -> Iterator[Image.Image]:
    for value in tables.values(file, camera, first, last):
        if not isinstance(value, dict) or not isinstance(value.get("bytes"), bytes):
            raise InputError(f"the column {camera!r} does not hold the pictures themselves.")
        with open_picture(io.BytesIO(value["bytes"])) as image:
            yield image


def _episodes(root: Path, info: _Info) -> list[dict[str, Any]]:
    """What the dataset says of each episode, by index."""
    if info.many:
        allowance = memory.Allowance()
        names = ["episode_index", *(f"videos/{camera}/{key}" for camera in info.cameras for key in _FILM)]
        files = sorted((root / "meta" / "episodes").rglob("*.parquet"))
        described = [row for file in files for row in tables.table(file, names, allowance).to_pylist()]
    else:
        described = _lines(root / "meta" / "episodes.jsonl")
    if not described or not all(type(row.get("episode_index")) is int for row in described):
        raise InputError("its meta folder lists no episodes.")
    return sorted(described, key=lambda row: row["episode_index"])


def _tasks(root: Path, info: _Info) -> dict[int, str]:
    """The text of each task by its number."""
    if not info.many:
        return {int(row["task_index"]): str(row["task"]) for row in _lines(root / "meta" / "tasks.jsonl")}
    table = tables.table(root / "meta" / "tasks.parquet")
    text = next(name for name in table.column_names if name != "task_index")
    return dict(zip(table["task_index"].to_pylist(), map(str, table[text].to_pylist()), strict=True))


def _is_dataset(path: Path) -> bool:
    return (path / "meta" / "info.json").is_file()


def _owner(path: Path) -> Path | None:
    """The dataset of version 3.0 in whose folder a file or folder lies."""
    for folder in list(path.absolute().parents)[:4]:
        if _is_dataset(folder):
            with contextlib.suppress(InputError, KeyError):
                return folder if str(read_metadata(folder / "meta" / "info.json")["codebase_version"]) >= "v3" else None
    return None


def _lines(path: Path) -> list[dict[str, Any]]:
    with parsing(path, "JSON file"):
        memory.require(plain(path).stat().st_size)
        return [dict(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
