"""A trained policy at work in the environment's own units: observations in, actions out."""

from pathlib import Path

import numpy as np

from vision_pwil.agents import table
from vision_pwil.envs.control import Choose, held
from vision_pwil.envs.flat import Bounds, FlatEnv, require_registered
from vision_pwil.system.errors import InputError
from vision_pwil.system.run import LATEST
from vision_pwil.tasks.observation import Observation
from vision_pwil.tasks.task import TaskConfig
from vision_pwil.training.snapshot import read_snapshot


def load_policy(path: str | Path) -> Choose:
    """A trained policy, from a run directory or a policy file: a function of the observation and the step.

    The observation is the environment's own, and so are the actions: `env.step(policy(observation, step))`. What a
    policy sees besides (the time, an absorbing bit) is added here; where actions are held, call it at every step.
    """
    policy, about = read_snapshot(_file(path))
    try:
        kind, observe, action = table.find(about["agent"]), Observation(**about["observation"]), about["action"]
        bounds = Bounds(*(np.asarray(action[end], np.float32) for end in ("low", "high")))
        shape, repeat = tuple(action["shape"]), int(about["action_repeat"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} does not say what its policy sees and does ({error}): train it again.") from None

    def choose(observation: np.ndarray, step: int) -> np.ndarray:
        chosen = kind.act(policy, observe(np.ravel(observation), step))
        return np.reshape(bounds.to_env(chosen), shape)

    return held(choose, repeat)


def load_environment(path: str | Path) -> FlatEnv:
    """The environment that a policy was trained in; it must be registered already, since files are not trusted."""
    _, about = read_snapshot(_file(path))
    try:
        options = TaskConfig(env_options=tuple(about["env_options"])).make_options
        return FlatEnv(require_registered(str(about["env"])), int(about["observation"]["horizon"]), **options)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} does not say which environment it is for ({error}): train it again.") from None


def _file(path: str | Path) -> Path:
    path = Path(path)
    return path / LATEST if path.is_dir() else path
