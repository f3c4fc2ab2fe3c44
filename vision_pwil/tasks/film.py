"""Large frames of an episode, in real time, for people to look at."""

from typing import NamedTuple

import numpy as np

from vision_pwil.envs.flat import follow
from vision_pwil.envs.renderer import PRETTY
from vision_pwil.tasks.task import Task
from vision_pwil.training.rollout import Trajectory

FRAMES_PER_SECOND = 25


class Film(NamedTuple):
    """Frames (n, height, width, 3), and how many of them make a second."""

    frames: np.ndarray
    rate: float


def film(task: Task, seed: int, trajectory: Trajectory) -> Film:
    """An episode of any environment that can be drawn: the same actions from the same seed, once more."""
    env = task.make_env(render_mode="rgb_array")
    follow(env.env)
    rate = float(env.env.metadata.get("render_fps", FRAMES_PER_SECOND))
    stride = max(1, round(rate / FRAMES_PER_SECOND))
    camera = task.camera(env, PRETTY)
    try:
        env.reset(seed)
        actions = trajectory.actions[: trajectory.steps]
        pictures = [camera.snapshot()]
        for step, action in enumerate(actions, start=1):
            env.step(action)
            if step % stride == 0 or step == len(actions):
                pictures.append(camera.snapshot())
        return Film(camera.draw(np.array(pictures)), rate / stride)
    finally:
        camera.close()
        env.env.close()
