"""robomimic's HDF5 files: `data/demo_<k>` with `actions` and `obs/<key>`, and named subsets under `mask`.

Cameras are the keys whose entries are pictures; the others, side by side in alphabetical order, make up the states.
"""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from vision_pwil.demonstrations import hdf5
from vision_pwil.demonstrations.episode import Array, Demonstrations
from vision_pwil.demonstrations.options import Options, pick_camera
from vision_pwil.demonstrations.parsing import Parts, columns, each
from vision_pwil.demonstrations.pictures import check_size, picture_of, stack
from vision_pwil.system import memory
from vision_pwil.system.errors import InputError


def recognises(path: Path) -> bool:
    """An HDF5 file with a demonstration under `data`."""
    return bool(hdf5.numbered(hdf5.names(path, "data"), "demo_"))


def read(path: Path, options: Options) -> Demonstrations:
    """All demonstrations by number, or those of a mask."""
    with h5py.File(path, "r") as file:
        data = hdf5.subgroup(file, "data")
        demos = hdf5.numbered(list(data), "demo_")
        if options.filter is not None:
            chosen = _masked(file, options.filter)
            demos = [name for name in demos if name in chosen]
        cameras = _keys(_observations(data, demos[0]), pictures=True) if demos else []
        camera = pick_camera(cameras, options)
        layout: tuple[tuple[str, int], ...] = ()

        def parts(name: str) -> Parts:
            nonlocal layout
            observations = _observations(data, name)
            keys = _keys(observations, pictures=False)
            states, layout = columns((key, hdf5.required(observations, key)) for key in keys)
            frames = None if camera is None else _frames(observations, camera, options)
            return {"states": states, "actions": hdf5.array(data[name], "actions"), "frames": frames, "name": name}

        episodes = each(parts, demos)
        return Demonstrations(
            episodes,
            source=path.name,
            rate=_rate(data),
            camera=camera,
            cameras=tuple(cameras),
            state_parts=layout,
        )


def _masked(file: Any, name: str) -> set[str]:
    """The demonstrations of one mask."""
    masks = hdf5.subgroup(file, "mask")
    known = list(masks) if masks is not None else []
    if name not in known:
        raise InputError(f"there is no filter {name!r}; there are {', '.join(known) or 'none'}.")
    names = hdf5.dataset(masks, name)
    memory.require(names.size * names.dtype.itemsize)
    return {text.decode() if isinstance(text, bytes) else str(text) for text in np.ravel(names[()])}


def _observations(data: Any, name: str) -> Any:
    demo = hdf5.subgroup(data, name)
    observations = hdf5.subgroup(demo, "obs") if demo is not None else None
    if observations is None:
        raise InputError(
            f"its {name} has no observations: extract them with robomimic's dataset_states_to_obs.py first."
        )
    return observations


def _keys(observations: Any, *, pictures: bool) -> list[str]:
    """The observations that are pictures, or those that are rows of numbers."""
    found = {name: hdf5.member(observations, name) for name in sorted(observations)}
    shapes = {name: data for name, data in found.items() if isinstance(data, h5py.Dataset)}
    if pictures:
        return [name for name, data in shapes.items() if data.dtype == np.uint8 and data.ndim == 4]
    return [name for name, data in shapes.items() if data.dtype.kind in "biuf" and data.ndim in (1, 2)]


def _frames(observations: Any, camera: str, options: Options) -> Array:
    data = hdf5.dataset(observations, camera)
    if data is None or data.ndim != 4:
        raise InputError(f"it has no pictures of the camera {camera!r}.")
    check_size(*data.shape[1:3])
    return stack(map(picture_of, data), options)


def _rate(data: Any) -> float | None:
    """Steps a second, from the arguments that the environment was made with."""
    try:
        rate = float(json.loads(hdf5.attribute(data, "env_args"))["env_kwargs"]["control_freq"])
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
    return rate if np.isfinite(rate) and rate > 0 else None
