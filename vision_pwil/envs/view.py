"""Where an environment on MuJoCo is looked at from, when its own `render()` draws it."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np

from vision_pwil.envs.flat import make
from vision_pwil.envs.renderer import RenderSettings

# isort: split
import mujoco


def on_mujoco(env: gym.Env[Any, Any]) -> bool:
    """Whether the environment lets its model and data be seen (`env.unwrapped.model` and `.data`)."""
    plain: Any = env.unwrapped
    model, data = getattr(plain, "model", None), getattr(plain, "data", None)
    return isinstance(model, mujoco.MjModel) and isinstance(data, mujoco.MjData)


def complete(env: gym.Env[Any, Any], settings: RenderSettings) -> RenderSettings:
    """The settings, with all that they leave open about the camera as the environment's own `render()` has it.

    An environment may say where to look from in `default_camera_config`, as it would to Gymnasium's renderer.
    """
    if settings.camera is not None or len(settings.pose) == 4:
        return settings
    plain: Any = env.unwrapped
    renderer = _own_renderer(plain)
    number = getattr(renderer, "camera_id", None)
    if not settings.pose and number is not None and number >= 0:
        return replace(settings, camera=plain.model.camera(number).name)
    default = mujoco.MjvCamera()
    pose = {"distance": plain.model.stat.extent, "azimuth": default.azimuth, "elevation": default.elevation}
    pose |= getattr(plain, "default_camera_config", None) or getattr(renderer, "default_cam_config", None) or {}
    pose |= settings.pose
    if "lookat" not in pose:
        pose["lookat"] = _middle(env)
    return replace(settings, **{name: pose[name] for name in ("lookat", "distance", "azimuth", "elevation")})


def visual_flags(env: gym.Env[Any, Any]) -> Mapping[int, bool]:
    """The visual options that the environment was made with."""
    return getattr(_own_renderer(env.unwrapped), "_vopt", {})


def _own_renderer(plain: Any) -> Any:
    """Gymnasium's renderer of the environment, or of the one inside it (mazes and kitchens hold their robot's)."""
    for holder in (plain, *vars(plain).values()):
        renderer = getattr(holder, "mujoco_renderer", None)
        if renderer is not None and renderer.model is plain.model:
            return renderer
    return None


def _middle(env: gym.Env[Any, Any]) -> np.ndarray:
    """Gymnasium's point to look at: the median of the geoms' positions when it first draws.

    Here always those after `reset(seed=0)`, in an environment made for it, so that every episode has the same view.
    """
    if env.spec is None:
        plain: Any = env.unwrapped
        data = mujoco.MjData(plain.model)
        mujoco.mj_kinematics(plain.model, data)
        return np.median(data.geom_xpos, axis=0)
    options = {name: value for name, value in env.spec.kwargs.items() if name != "render_mode"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whatever there is to say was said when the environment itself was made
        fresh = make(env.spec.id, **options)
    fresh.reset(seed=0)
    middle = np.median(fresh.unwrapped.data.geom_xpos, axis=0)  # type: ignore[attr-defined]
    fresh.close()
    return middle
