"""A policy read from a file that nobody vouches for: checked as a whole, then at work.

`About` is what the file says of its task, enough to act in the environment's own units far from its run.
"""

import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from vision_pwil.agents import table
from vision_pwil.agents.protocol import Policy
from vision_pwil.envs.flat import Bounds, FlatEnv
from vision_pwil.envs.targets import Targets
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import parsing
from vision_pwil.system.run import LATEST
from vision_pwil.system.settings import Count, Settings, Whole, restore
from vision_pwil.tasks.observation import Observation
from vision_pwil.training.snapshot import read_snapshot


@dataclass(frozen=True)
class Action(Settings):
    """What an environment takes."""

    low: tuple[float, ...]
    """The least of each number."""
    high: tuple[float, ...]
    """The largest."""
    shape: tuple[Count, ...]
    """How the numbers are laid out."""
    targets: Targets = field(default_factory=Targets)
    """What they mean."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.targets.require(len(self.low))
        low, high = self.bounds.low, self.bounds.high
        if not len(low) == len(high) == math.prod(self.shape) or not (np.isfinite(high - low) & (low < high)).all():
            raise InputError("the bounds of its actions do not fit together")

    @property
    def bounds(self) -> Bounds:
        """The range of each action."""
        with np.errstate(over="ignore"):
            return Bounds(np.array(self.low, np.float32), np.array(self.high, np.float32))


@dataclass(frozen=True)
class About(Settings):
    """What a saved policy says of itself and of its task."""

    agent: str
    action_repeat: Count
    step: Whole
    """Environment steps that it was trained for."""
    env: str
    env_options: tuple[str, ...]
    parts: tuple[str, ...]
    """Names of the parts of an observation, in their order (`FlatEnv.parts`)."""
    observation: Observation
    action: Action

    def require(self, env: FlatEnv) -> None:
        """Raise one clear sentence unless this is how the environment is."""
        if [*env.parts] != [*self.parts] or env.action_shape != self.action.shape:
            raise InputError(f"The policy was made for other observations or actions than {self.env} has here.")


@dataclass(frozen=True)
class Actor:
    """A policy of a file, without exploration noise: observations as the policy sees them, actions in [-1, 1]."""

    file: Path
    arrays: Policy
    about: About
    size: int = field(init=False)
    """Numbers in an observation."""

    def __post_init__(self) -> None:
        first = self.arrays["weight0"]
        if any(array.dtype.kind != "f" for array in self.arrays.values()) or first.ndim != 2 or not first.size:
            raise InputError("its network is not one of numbers in layers")
        object.__setattr__(self, "size", len(first))
        with np.errstate(all="ignore"):
            action = self(np.zeros(self.size, np.float32))
        if action.shape != self.about.action.bounds.low.shape or not np.isfinite(action).all():
            raise InputError("its network does not give what its actions are")

    def __call__(self, observation: np.ndarray) -> np.ndarray:
        """The action."""
        if observation.shape != (self.size,):
            raise InputError(f"{self.file} takes {self.size} numbers, and here it would see {observation.size}.")
        return table.find(self.about.agent).act(self.arrays, observation)


def read_actor(path: str | Path) -> Actor:
    """The policy of a file, or the latest one of a run directory."""
    path = Path(path)
    file = path / LATEST if path.is_dir() else path
    arrays, values = read_snapshot(file)
    with parsing(file, "policy of this package"):
        return Actor(file, arrays, restore(About, values))
