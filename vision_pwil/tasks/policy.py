"""A trained policy at work in the environment's own units: observations in, actions out."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from vision_pwil.agents import table
from vision_pwil.demonstrations import ASSETS
from vision_pwil.envs.control import Choose, held
from vision_pwil.envs.flat import Bounds, FlatEnv, flat_observation, require_registered
from vision_pwil.system.errors import InputError
from vision_pwil.system.run import LATEST
from vision_pwil.tasks.observation import Observation
from vision_pwil.tasks.task import TaskConfig
from vision_pwil.training.snapshot import read_snapshot

_SHIPPED = "-policy.safetensors"
Look = Callable[[], np.ndarray]
"""Gives the embedding of the present frame, to a policy that sees pictures."""


def load_policy(path: str | Path, look: Look | None = None) -> Choose:
    """A trained policy, from a run directory, a policy file or by name: a function of the observation and the step.

    The observation is the environment's own, and so are the actions: `env.step(policy(observation, step))`. What a
    policy sees besides (the time, an absorbing bit) is added here; where actions are held, call it at every step. A
    policy that sees pictures takes them with `look`.
    """
    choose = load_flat_policy(path, look)
    _, about = read_snapshot(policy_file(path))
    with describing(path):
        bounds = Bounds(*(np.asarray(about["action"][end], np.float32) for end in ("low", "high")))
        shape, parts = tuple(about["action"]["shape"]), [str(name) for name in about["parts"]]

    def act(observation: Any, step: int) -> np.ndarray:
        return np.reshape(bounds.to_env(choose(flat_observation(observation, parts), step)), shape)

    return act


def load_flat_policy(path: str | Path, look: Look | None = None) -> Choose:
    """The same as a function of the flat state, with actions in [-1, 1]."""
    policy, about = read_snapshot(policy_file(path))
    with describing(path):
        kind, observe = table.find(about["agent"]), Observation(**about["observation"])
        repeat = int(about["action_repeat"])
    if observe.embedding and look is None:
        raise InputError(f"The policy of {path} sees pictures: give `look`, which embeds the present frame.")
    embeddings: dict[int, np.ndarray] = {}

    choose = held(lambda state, step: kind.act(policy, observe(state, step, embeddings)), repeat)

    def act(state: np.ndarray, step: int) -> np.ndarray:
        if look is not None and step % observe.interval == 0:
            embeddings[step] = look()
        return choose(state, step)

    return act


def load_environment(path: str | Path) -> FlatEnv:
    """The environment that a policy was trained in; it must be registered already, since files are not trusted."""
    _, about = read_snapshot(policy_file(path))
    with describing(path):
        options = TaskConfig(env_options=tuple(about["env_options"])).make_options
        name, horizon = require_registered(str(about["env"])), int(about["observation"]["horizon"])
    return FlatEnv(name, horizon, **options)


@contextmanager
def describing(path: str | Path) -> Iterator[None]:
    """Make one sentence of what is missing in a policy's description of itself."""
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} does not say what its policy sees and does ({error}): train it again.") from None


def policy_file(path: str | Path) -> Path:
    """The file of a policy: itself, the latest one of a run directory, or one that comes with the package, by name.

    What is there on disk comes first.
    """
    path = Path(path)
    if not path.exists() and str(path) in shipped_policies():
        return ASSETS / f"{path}{_SHIPPED}"
    return path / LATEST if path.is_dir() else path


def shipped_policies() -> list[str]:
    """Names of the policies that come with the package."""
    return sorted(path.name.removesuffix(_SHIPPED) for path in ASSETS.glob(f"*{_SHIPPED}"))
