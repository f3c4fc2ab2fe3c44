"""Any Gymnasium environment, by its id, with flat observations and actions in [-1, 1]."""

import contextlib
import importlib
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import vision_pwil.system.opengl  # noqa: F401  (chooses the backend before MuJoCo is imported)

# isort: split
import gymnasium as gym
import mujoco
import numpy as np
from gymnasium.envs.mujoco import MujocoEnv
from gymnasium.spaces import Box, Dict, Tuple

from vision_pwil.demonstrations import Demonstrations
from vision_pwil.demonstrations.episode import LARGEST
from vision_pwil.envs.holding import holding
from vision_pwil.envs.targets import OWN, Targets
from vision_pwil.system.errors import InputError

TARGETS = "targets"
"""Name of the last part of an observation, where actions move targets."""


@dataclass(frozen=True)
class Bounds:
    """The range of each action; a policy's actions lie in [-1, 1]."""

    low: np.ndarray
    high: np.ndarray

    def to_env(self, action: np.ndarray) -> np.ndarray:
        """A policy's actions in the environment's units."""
        return self._middle + self._half * action  # exact where the range is [-1, 1]

    @cached_property
    def _middle(self) -> np.ndarray:
        return (self.low + self.high) * 0.5

    @cached_property
    def _half(self) -> np.ndarray:
        return (self.high - self.low) * 0.5

    def to_policy(self, action: np.ndarray) -> np.ndarray:
        """The environment's actions in a policy's units; an action outside the range becomes its nearest end."""
        return np.clip(2.0 * (action - self.low) / (self.high - self.low) - 1.0, -1.0, 1.0)


class FlatEnv:
    """An environment whose observations and actions are vectors.

    Observations of several parts (Dict and Tuple spaces, nested too) are laid end to end.

    Args:
        env_id: as `gymnasium.make` takes it; "module:id" imports the module first.
        horizon: longest episode; by default the environment's own limit.
        targets: what actions mean; other than the environment's own, observations end with the targets.
        options: arguments for the environment's constructor, such as its render mode.
    """

    def __init__(self, env_id: str, horizon: int | None = None, targets: Targets = OWN, **options: Any) -> None:
        self.env = make(env_id, horizon, **options)
        limit = self.env.spec.max_episode_steps if self.env.spec is not None else None
        if limit is None:
            raise InputError(f"{env_id} has no limit of steps: name one with --horizon.")
        self.horizon = limit
        self._boxes = dict(_boxes(self.env.observation_space, env_id))
        ends = np.cumsum([int(np.prod(box.shape)) for box in self._boxes.values()])
        starts = [0, *ends[:-1]]
        self.parts = {name: slice(int(a), int(b)) for name, a, b in zip(self._boxes, starts, ends, strict=True)}
        """Where each part of an observation lies, by its name ("achieved_goal", "robot/joints"; a single Box: "")."""
        self.state_size = self.observation_size = int(ends[-1])
        space = self.env.action_space
        if not isinstance(space, Box):
            raise InputError(
                f"{env_id} has the action space {space}: the agents here choose numbers within bounds (a Box). "
                "Wrap it so that its actions are a Box, or choose a version of it with continuous actions."
            )
        low, high = (np.ravel(bound).astype(np.float32) for bound in (space.low, space.high))
        if not (np.isfinite(low) & np.isfinite(high) & (low < high)).all():
            raise InputError(f"{env_id} has actions without bounds: wrap it so that every action has a range.")
        self.bounds = Bounds(low, high)
        self.action_size = len(low)
        self.action_shape = space.shape
        self._steps = 0  # of the present episode
        self.meaning = targets
        if targets:
            targets.require(self.action_size)
            self._hold = holding(self.env)
            self.observation_size += self.action_size
            self.parts[TARGETS] = slice(self.state_size, self.observation_size)

    def reset(self, seed: int) -> np.ndarray:
        """First observation of an episode."""
        observation, _ = self.env.reset(seed=seed)
        self._steps = 0
        if self.meaning:
            self._targets = self.bounds.to_policy(self._hold())
        return self._sound("number {} of its observation", self._flat(observation))

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Apply an action of [-1, 1]: next observation, the task's reward, terminated, truncated, info."""
        if self.meaning:
            action = self._targets = self.meaning.moved(self._targets, action)
        applied = np.reshape(self.bounds.to_env(action), self.action_shape)
        observation, reward, terminated, truncated, info = self.env.step(applied)
        self._steps += 1
        flat = self._sound("number {} of its observation", self._flat(observation))
        self._sound("its reward", np.array([reward]))
        return flat, float(reward), bool(terminated), bool(truncated), info

    def _sound(self, what: str, numbers: np.ndarray) -> np.ndarray:
        """Numbers from outside, unless they would poison all that is computed from them."""
        fine = np.abs(numbers) <= LARGEST  # of NaN it is not true
        if not fine.all():
            where = int(np.argmin(fine))
            fault = f"overflows beyond {LARGEST:.2g}" if np.isfinite(numbers[where]) else "is not finite"
            name = self.env.spec.id if self.env.spec is not None else "The environment"
            raise InputError(
                f"{name} gave {numbers[where]:g} as {what.format(where)} at step {self._steps}, which {fault}; nothing "
                "of that episode is kept."
            )
        return numbers

    def _flat(self, observation: Any) -> np.ndarray:
        parts = [np.ravel(part) for part in _leaves(self.env.observation_space, observation)]
        return np.concatenate([*parts, self._targets] if self.meaning else parts)

    def pairs(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """State-action pairs of an episode in the environment's own terms, from all that it was given and gave."""
        given = self.bounds.to_env(states[1:, self.state_size :] if self.meaning else actions)
        return np.concatenate([states[:-1, : self.state_size], given], axis=1)

    def require(self, demonstrations: Demonstrations, *, actions: bool) -> None:
        """Raise one clear sentence unless these are demonstrations of this environment, with actions if need be."""
        env_id = self.env.spec.id if self.env.spec is not None else None
        if demonstrations.env_id is not None and demonstrations.env_id != env_id:
            raise InputError(f"The demonstrations are of {demonstrations.env_id}, not of {env_id}: choose others.")
        demonstrations.require("states")
        if actions:
            demonstrations.require("actions")
        for name, size in (("states", self.state_size), ("actions", self.action_size)):
            array = getattr(demonstrations.episodes[0], name)
            if array is not None and array.shape[1] != size:
                raise InputError(
                    f"The demonstrations' {name} have {array.shape[1]} dimensions, those of {env_id} have {size}: "
                    "are they from another environment, or another version of it?"
                )


def flat_observation(observation: Any, parts: Iterable[str]) -> np.ndarray:
    """An environment's own observation as one vector, its parts by the names that `FlatEnv.parts` gives them."""

    def part(name: str) -> Any:
        value = observation
        for key in name.split("/") if name else ():
            value = value[int(key)] if isinstance(value, tuple) else value[key]
        return value

    return np.concatenate([np.ravel(part(name)) for name in parts])


def _boxes(space: gym.Space[Any], env_id: str, name: str = "") -> Iterator[tuple[str, Box]]:
    """The parts of an observation space, in order, named by the way to them."""
    for key, part in _members(space):
        yield from _boxes(part, env_id, f"{name}/{key}" if name else str(key))
    if isinstance(space, (Dict, Tuple)):
        return
    where = f"{name} of the observation" if name else "the observation"
    if not isinstance(space, Box):
        raise InputError(
            f"{env_id} has {where} in the space {space}: it must be numbers (a Box, or a Dict or Tuple of them). "
            "Wrap it with gymnasium.wrappers.TransformObservation."
        )
    if space.dtype == np.uint8 and len(space.shape) == 3:
        raise InputError(
            f"{env_id} has pictures of shape {space.shape} as {where}: the policy sees vectors here. Choose a version "
            "that observes its state; the reward still sees pictures, from a camera."
        )
    yield name, space


def _members(space: gym.Space[Any]) -> Iterable[tuple[Any, gym.Space[Any]]]:
    if isinstance(space, Dict):
        return space.spaces.items()
    return enumerate(space.spaces) if isinstance(space, Tuple) else ()


def _leaves(space: gym.Space[Any], value: Any) -> Iterator[Any]:
    """The arrays of an observation, in the order of `_boxes`."""
    if isinstance(space, (Dict, Tuple)):
        for key, part in _members(space):
            yield from _leaves(part, value[key])
    else:
        yield value


def make(env_id: str, horizon: int | None = None, **options: Any) -> gym.Env[Any, Any]:
    """`gymnasium.make`, its errors as one sentence, its checks at every step off.

    An environment that takes no render mode is made without: one on MuJoCo needs none to be drawn.
    """
    mujoco.set_mju_user_warning(_warn)
    _registered(env_id)
    try:
        with warnings.catch_warnings():  # whether it can be drawn all the same, the camera finds out
            warnings.filterwarnings("ignore", ".*render_mode='rgb_array' that is not in the possible render_modes")
            return gym.make(env_id, max_episode_steps=horizon, disable_env_checker=True, **options)
    except (gym.error.Error, ImportError) as error:
        raise InputError(f'There is no Gymnasium environment "{env_id}" here: {error}') from None
    except Exception as error:
        if isinstance(error, TypeError) and "render_mode" in options and "'render_mode'" in str(error):
            return make(env_id, horizon, **{name: value for name, value in options.items() if name != "render_mode"})
        given = " ".join(f"{name}={value!r}" for name, value in options.items() if name != "render_mode")
        if not given:  # a fault of the environment, which its author wants to see whole
            raise
        raise InputError(f"{env_id} cannot be made with {given}: {' '.join(str(error).split())}") from None


def require_registered(env_id: str) -> str:
    """The id of an environment that a file names, if it is registered: what a file names is never imported."""
    name = env_id.rpartition(":")[2]
    if not _registered(name):
        raise InputError(
            f'The environment "{env_id}" is not registered here, and a file may not import it: name the module that '
            "registers it with --import MODULE."
        )
    return name


def _registered(name: str) -> bool:
    """Whether Gymnasium knows an environment, if need be after gymnasium-robotics and this package have told theirs."""
    if name not in gym.registry:
        importlib.import_module("vision_pwil.door_env")
        importlib.import_module("vision_pwil.envs.adroit")  # brings gymnasium-robotics, quietly
    return name in gym.registry


def follow(env: gym.Env[Any, Any]) -> None:
    """Draw through the model's own tracking camera: Gymnasium 1.4 stays where an episode began, and robots run away."""
    plain = env.unwrapped
    if isinstance(plain, MujocoEnv):
        camera = mujoco.mj_name2id(plain.model, mujoco.mjtObj.mjOBJ_CAMERA, "track")
        if camera >= 0:
            plain.mujoco_renderer.camera_id = camera


def _warn(message: str) -> None:
    """MuJoCo's warnings; its own handler would leave a log file in the working directory for every old model."""
    if "deprecated" not in message:
        with contextlib.suppress(Exception):  # called from C: nothing may be raised
            warnings.warn(message, RuntimeWarning, stacklevel=2)
