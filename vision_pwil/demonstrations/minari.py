"""Minari datasets, stored as HDF5, Arrow or Parquet.

`data/metadata.json` describes the observations: a Box, or a Dict or Tuple of spaces, some of them pictures. The parts
that are numbers make up the states, side by side in the order of the space; the others are cameras. An episode of T
steps has T + 1 observations; no action followed the last, so it is left out.
"""

import io
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from PIL import Image

from vision_pwil.demonstrations import hdf5
from vision_pwil.demonstrations.episode import Demonstrations, adroit_env_id
from vision_pwil.demonstrations.minari_space import Leaf, described, guessed
from vision_pwil.demonstrations.minari_storage import Stored, in_file, in_folders
from vision_pwil.demonstrations.options import Options, pick_camera
from vision_pwil.demonstrations.parsing import Parts, columns, each, read_metadata
from vision_pwil.demonstrations.pictures import open_picture, picture_of, stack
from vision_pwil.system.errors import InputError

_MAIN = "main_data.hdf5"


def recognises(path: Path) -> bool:
    """A dataset's folder, a folder that datasets lie in, or the HDF5 file of one."""
    if path.is_dir():
        return bool(_datasets(path))
    return bool(hdf5.numbered(hdf5.names(path), "episode_"))


def read(path: Path, options: Options) -> Demonstrations:
    """All episodes by number."""
    folder = path.parent if path.is_file() else _dataset(path)
    main = path if path.is_file() else folder / _MAIN
    metadata = read_metadata(folder / "metadata.json") if (folder / "metadata.json").is_file() else {}
    leaves = _leaves(metadata, main)
    cameras = [leaf.name for leaf in leaves if leaf.picture]
    camera = pick_camera(cameras, options)
    layout: tuple[tuple[str, int], ...] = ()

    def parts(episode: Stored) -> Parts:
        nonlocal layout
        steps = len(episode.actions)
        rows = [(leaf.name, episode.numbers(leaf)) for leaf in leaves if not leaf.picture]
        for name, values in rows:
            if len(values) != steps + 1:
                raise InputError(f"there are {len(values)} {name} for {steps} actions, instead of one more.")
        states, layout = columns((name, values[:-1]) for name, values in rows)
        shown = next((leaf for leaf in leaves if leaf.picture and leaf.name == camera), None)
        return {
            "states": states,
            "actions": episode.actions,
            "frames": stack(islice(_pictures(episode, shown), steps), options) if shown else None,
            "initial_state": episode.initial_state or None,
            "absorbing": episode.terminated,
            "name": episode.name,
        }

    episodes = each(parts, in_file(main) if main.is_file() else in_folders(folder))
    env_id = adroit_env_id(episodes) or _env_id(metadata)
    source = path.name if path.is_file() else folder.parent.resolve().name
    layout = layout if any(leaf.keys for leaf in leaves) else ()
    return Demonstrations(episodes, env_id, source, camera=camera, cameras=tuple(cameras), state_parts=layout)


def _datasets(folder: Path) -> list[Path]:
    """The `data` folders of datasets: of this folder, or of those in it, as Minari nests namespaces."""
    for depth in ("", "*/", "*/*/", "*/*/*/"):
        found = [path for name in ("metadata.json", _MAIN) for path in folder.glob(f"{depth}data/{name}")]
        if found:
            return sorted({path.parent for path in found})
    return []


def _dataset(folder: Path) -> Path:
    found = _datasets(folder)
    if len(found) > 1:
        names = ", ".join(str(path.parent.relative_to(folder)) for path in found)
        raise InputError(f"it holds several Minari datasets, {names}: give the folder of one.")
    return found[0]


def _leaves(metadata: dict[str, Any], main: Path) -> list[Leaf]:
    """The parts of an observation."""
    if "observation_space" in metadata:
        return list(described(_parsed(metadata["observation_space"]), bool(metadata.get("jpeg_encoding"))))
    if not main.is_file():
        raise InputError("its data/metadata.json does not describe the observations.")
    with h5py.File(main, "r") as file:
        first = next(iter(hdf5.numbered(list(file), "episode_")), None)
        return list(guessed(hdf5.subgroup(file, first))) if first is not None else []


def _pictures(episode: Stored, leaf: Leaf) -> Iterator[Image.Image]:
    for value in episode.pictures(leaf):
        if isinstance(value, np.ndarray):
            yield picture_of(value)
        else:
            with open_picture(io.BytesIO(value)) as image:
                yield image


def _env_id(metadata: dict[str, Any]) -> str | None:
    spec = metadata.get("env_spec")
    found = _parsed(spec).get("id") if spec else None
    return found if isinstance(found, str) else None


def _parsed(value: Any) -> Any:
    """Minari writes JSON as text within JSON."""
    return json.loads(value) if isinstance(value, str) else value
