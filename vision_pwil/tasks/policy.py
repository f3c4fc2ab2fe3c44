"""A trained policy at work in the environment's own units: observations in, actions out."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from vision_pwil.envs.control import Choose, held
from vision_pwil.envs.flat import TARGETS, FlatEnv, flat_observation, require_registered
from vision_pwil.envs.holding import Hold
from vision_pwil.system.errors import InputError
from vision_pwil.tasks.actor import Actor, read_actor
from vision_pwil.tasks.config import TaskConfig
from vision_pwil.tasks.task import require_files

Look = Callable[[], np.ndarray]
"""Gives the embedding of the present frame, to a policy that sees pictures."""


def load_policy(path: str | Path, look: Look | None = None, hold: Hold | None = None) -> Choose:
    """A trained policy, from a run directory or a policy file: a function of the observation and the step.

    The observation is the environment's own, and so are the actions: `env.step(policy(observation, step))`. What a
    policy sees besides (the time, an absorbing bit) is added here; where actions are held, call it at every step. A
    policy that sees pictures takes them with `look`. One whose actions move targets asks `hold`, at step 0, for the
    action that holds the present pose: `vision_pwil.envs.holding.holding(env)`.
    """
    actor = read_actor(path)
    choose, action = _flat(actor, look), actor.about.action
    parts = [name for name in actor.about.parts if not (action.targets and name == TARGETS)]
    if action.targets and hold is None:
        raise InputError(f"The policy of {actor.file} moves targets: give `hold`, the action that holds the pose.")
    targets = np.zeros(len(action.low))

    def act(observation: Any, step: int) -> np.ndarray:
        nonlocal targets
        state = flat_observation(observation, parts)
        if hold is None or not action.targets:
            chosen = choose(state, step)
        else:
            if step == 0:
                targets = action.bounds.to_policy(np.ravel(hold()))
            chosen = targets = action.targets.moved(targets, choose(np.concatenate([state, targets]), step))
        return np.reshape(action.bounds.to_env(chosen), action.shape)

    return act


def load_flat_policy(path: str | Path, look: Look | None = None) -> Choose:
    """The same as a function of the flat state, with actions in [-1, 1]."""
    return _flat(read_actor(path), look)


def _flat(actor: Actor, look: Look | None) -> Choose:
    observe = actor.about.observation
    if observe.embedding and look is None:
        raise InputError(f"The policy of {actor.file} sees pictures: give `look`, which embeds the present frame.")
    embeddings: dict[int, np.ndarray] = {}

    choose = held(lambda state, step: actor(observe(state, step, embeddings)), actor.about.action_repeat)

    def act(state: np.ndarray, step: int) -> np.ndarray:
        if look is not None and step % observe.interval == 0:
            embeddings[step] = look()
        return choose(state, step)

    return act


def load_environment(path: str | Path) -> FlatEnv:
    """The environment that a policy was trained in; it must be registered already, since files are not trusted."""
    about = read_actor(path).about
    options = TaskConfig(env_options=about.env_options).make_options
    require_files(options)
    env = FlatEnv(require_registered(about.env), about.observation.horizon, about.action.targets, **options)
    about.require(env)
    return env
