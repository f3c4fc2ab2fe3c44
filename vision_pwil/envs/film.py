"""Large frames of an episode, in real time, for people to look at."""

from typing import Any, NamedTuple

import numpy as np

from vision_pwil.envs.flat import FlatEnv, follow, make
from vision_pwil.envs.renderer import PRETTY, DoorRenderer
from vision_pwil.system.errors import InputError
from vision_pwil.training.rollout import Trajectory

FRAMES_PER_SECOND = 25
DOOR_STRIDE = 4
"""A step of the door takes 0.01 s: one frame in 4 at 25 a second is real time."""


class Film(NamedTuple):
    """Frames (n, height, width, 3), and how many of them make a second."""

    frames: np.ndarray
    rate: float


def film_door(trajectory: Trajectory) -> Film:
    """An episode at the door, drawn from its recorded states."""
    record = trajectory.record
    qpos = np.concatenate([record["qpos"][::DOOR_STRIDE], record["qpos"][-1:]])
    with DoorRenderer(PRETTY) as renderer:
        return Film(renderer.render_many(qpos, record["place"]), FRAMES_PER_SECOND)


def film_environment(env_id: str, horizon: int | None, seed: int, trajectory: Trajectory) -> Film:
    """An episode of any environment that can draw itself: the same actions from the same seed, once more."""
    try:
        env = make(env_id, horizon, render_mode="rgb_array")
        follow(env)
        env.reset(seed=seed)
        frames: list[Any] = [env.render()]
    except Exception as error:  # whatever an environment's own renderer lacks
        raise InputError(f"{env_id} cannot draw itself here: {error}") from error
    bounds = FlatEnv(env_id, horizon).bounds
    rate = float(env.metadata.get("render_fps", FRAMES_PER_SECOND))
    stride = max(1, round(rate / FRAMES_PER_SECOND))
    for step, action in enumerate(trajectory.actions[: trajectory.steps], start=1):
        env.step(np.reshape(bounds.to_env(action), env.action_space.shape or ()))
        if step % stride == 0:
            frames.append(env.render())
    env.close()
    return Film(np.stack(frames), rate / stride)
