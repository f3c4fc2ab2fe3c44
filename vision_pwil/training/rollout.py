"""Episodes: what the learner needs of one, who plays it, and the two reasons to play one."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from vision_pwil.agents.protocol import Act, Policy
from vision_pwil.envs.control import Choose, environment_seed, held
from vision_pwil.envs.noise import colored


@dataclass(frozen=True)
class Trajectory:
    """One episode as the learner needs it, and what a task keeps to measure or film it."""

    observations: np.ndarray
    """(L + 1, S): what the policy saw, and the last observation."""
    actions: np.ndarray
    """(L, A), in [-1, 1]."""
    rewards: np.ndarray
    """(L,), or more: those of the absorbing steps that follow early termination."""
    terminal: bool
    """No other reward follows; otherwise the last observation's value is bootstrapped."""
    statistics: dict[str, float] = field(default_factory=dict)
    """Named numbers about the episode, logged under `train/`."""
    record: dict[str, np.ndarray] = field(default_factory=dict)
    """The task's own notes."""
    unpaced: np.ndarray | None = None
    """The rewards without pace, where there is a pace."""
    finished: bool = False
    """The task was done."""
    unplayed: int = 0
    """Transitions at the end that the environment did not play (DAC's absorbing one)."""

    @property
    def steps(self) -> int:
        """Steps that the environment played."""
        return len(self.actions) - self.unplayed


class Stage(Protocol):
    """Where a task is played: its environment, camera and reward, alive in one process."""

    horizon: int
    action_size: int

    def rollout(self, choose: Choose, seed: int, *, evaluating: bool = False) -> Trajectory:
        """One whole episode, with actions in [-1, 1]; when `evaluating`, with what `measure` needs."""

    def measure(self, trajectory: Trajectory) -> dict[str, float]:
        """An evaluation episode's numbers (some are slow, such as exact optimal transport)."""

    def film(self, trajectory: Trajectory) -> np.ndarray | None:
        """Frames (n, height, width, 3) of the episode, or None where they cost too much."""


class Playable(Protocol):
    """A task: plain values that can be sent to another process, which sets the stage for it."""

    def stage(self) -> Stage:
        """Make the environment and all that belongs to it."""


class Collect(NamedTuple):
    """Ask for an exploring episode."""

    policy: Policy | None
    """None: uniformly random actions."""
    seed: tuple[int, ...]
    """Decides everything random in the episode."""
    noise_exponent: float = 0.0
    action_repeat: int = 1


class Assess(NamedTuple):
    """Ask for episodes without exploration noise."""

    policy: Policy
    seeds: Sequence[tuple[int, ...]]
    action_repeat: int = 1


class Assessment(NamedTuple):
    """Numbers of each episode; of the first one, its frames and rewards."""

    episodes: list[dict[str, float]]
    frames: np.ndarray | None
    rewards: np.ndarray


def collect(stage: Stage, act: Act, request: Collect) -> Trajectory:
    """One exploring episode."""
    rng, policy = np.random.default_rng(request.seed), request.policy
    decisions = -(-stage.horizon // request.action_repeat), stage.action_size
    if policy is None:
        noise = rng.uniform(-1.0, 1.0, decisions).astype(np.float32)
    else:
        noise = colored(*decisions, request.noise_exponent, rng)

    def choose(observation: np.ndarray, step: int) -> np.ndarray:
        drawn = noise[step // request.action_repeat]
        return drawn if policy is None else act(policy, observation, drawn)

    return stage.rollout(held(choose, request.action_repeat), environment_seed(request.seed))


def assess(stage: Stage, act: Act, request: Assess) -> Assessment:
    """The paper's evaluation: episodes without exploration noise."""
    choose = held(lambda observation, _: act(request.policy, observation, None), request.action_repeat)
    episodes = [stage.rollout(choose, environment_seed(seed), evaluating=True) for seed in request.seeds]
    return Assessment([stage.measure(episode) for episode in episodes], stage.film(episodes[0]), episodes[0].rewards)
