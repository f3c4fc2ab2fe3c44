"""A task from its settings and demonstrations."""

from typing import Any

import numpy as np

from vision_pwil.agents import table
from vision_pwil.demonstrations import Demonstrations
from vision_pwil.encoder import Encoder
from vision_pwil.envs.flat import FlatEnv
from vision_pwil.tasks.atoms import points_of, weighted
from vision_pwil.tasks.settings import ImitationConfig
from vision_pwil.tasks.task import Task


def make_env(config: ImitationConfig, **options: Any) -> FlatEnv:
    """The environment of a training."""
    task = config.task
    return FlatEnv(config.env, task.horizon, task.targets, **task.make_options, **options)


def make_task(config: ImitationConfig, demonstrations: Demonstrations | None, encoder: Encoder | None) -> Task:
    """The task of these demonstrations."""
    atoms = None
    if demonstrations is not None:
        points = points_of(demonstrations, config.task.compare, encoder)
        horizon, timed = make_env(config).horizon, config.task.pace > 0
        atoms = weighted(points, finishes(demonstrations), horizon, config.task.ending, timed=timed)
    bit = table.find(config.agent).absorbing_bit
    return Task(config.env, config.reward, config.task, atoms, encoder, absorbing_bit=bit)


def require_room(config: ImitationConfig, demonstrations: Demonstrations, horizon: int) -> None:
    """Raise now what `weighted` would say of the demonstrations' lengths once there are points to weigh."""
    lengths = [np.empty((len(episode), 0)) for episode in demonstrations.episodes]
    weighted(lengths, finishes(demonstrations), horizon, config.task.ending)


def finishes(demonstrations: Demonstrations) -> list[bool]:
    """Which demonstrations finish the task: as their episodes say; videos of unknown origin do, at their last frame."""
    foreign = demonstrations.render_fingerprint is None and demonstrations.has("frames")
    return [foreign or episode.absorbing for episode in demonstrations.episodes]
