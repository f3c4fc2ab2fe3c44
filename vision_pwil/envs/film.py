"""Large frames of an episode, in real time, for people to look at."""

from contextlib import closing
from dataclasses import replace
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from vision_pwil.envs.camera import open_camera
from vision_pwil.envs.flat import FlatEnv
from vision_pwil.envs.renderer import PRETTY, RenderSettings
from vision_pwil.envs.view import on_mujoco

FRAMES_PER_SECOND = 25


class Film(NamedTuple):
    """Frames (n, height, width, 3), and how many of them make a second."""

    frames: np.ndarray
    rate: float


def film(env: gym.Env[Any, Any], snapshots: np.ndarray) -> Film:
    """An episode from the snapshots of its steps, about 25 frames for a second of its time, and the last."""
    stride, rate = _pace(env)
    with closing(open_camera(env, following(env))) as camera:
        return Film(camera.draw(np.concatenate([snapshots[:-1:stride], snapshots[-1:]])), rate)


def film_again(env_id: str, horizon: int | None, seed: int, actions: np.ndarray) -> Film:
    """An episode of which only its seed and its actions, in [-1, 1], are known: played once more."""
    env = FlatEnv(env_id, horizon, render_mode="rgb_array")
    stride, rate = _pace(env.env)
    with closing(open_camera(env.env, following(env.env))) as camera:
        env.reset(seed)
        snapshots = [camera.snapshot()]
        for step, action in enumerate(actions, start=1):
            env.step(action)
            if step % stride == 0:
                snapshots.append(camera.snapshot())
        return Film(camera.draw(np.array(snapshots)), rate)


def _pace(env: gym.Env[Any, Any]) -> tuple[int, float]:
    """One frame for how many steps, and how many frames then make a second."""
    rate = float(env.metadata.get("render_fps", FRAMES_PER_SECOND))
    stride = max(1, round(rate / FRAMES_PER_SECOND))
    return stride, rate / stride


def following(env: gym.Env[Any, Any]) -> RenderSettings:
    """Large frames, through the model's own tracking camera if it has one: robots run out of a view that stays."""
    if on_mujoco(env):
        model: Any = env.unwrapped.model  # type: ignore[attr-defined]
        if "track" in [model.camera(number).name for number in range(model.ncam)]:
            return replace(PRETTY, camera="track")
    return PRETTY
