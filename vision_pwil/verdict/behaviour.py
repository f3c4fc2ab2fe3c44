"""Episodes of known worth, to ask a reward about: parts of held-out demonstrations, and play that gets nowhere."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from vision_pwil.envs.control import Choose
from vision_pwil.envs.noise import colored
from vision_pwil.training.rollout import Stage

HELD_OUT, REVERSED, FROZEN = "held-out demonstrations", "reversed demonstrations", "frozen part of the way"
PANTOMIME, POLICY, OPEN_LOOP = "pantomime", "policy", "open-loop replay"
FRACTIONS = tuple(k / 10 for k in range(1, 10))


class Scored(NamedTuple):
    """What a task says of an episode's points."""

    costs: np.ndarray
    """Of each step, to the horizon if its end was absorbing (eq. 6)."""
    rewards: np.ndarray
    """Of the same steps (eq. 7)."""
    w1: float
    """Exact Wasserstein distance to the demonstrations."""
    greedy_w1: float
    """Its greedy upper bound (eq. 5)."""
    paced_w1: float | None = None
    """The exact distance with time as one more coordinate, where the reward has it (`--pace`)."""


class Scorer(Protocol):
    """What scores an episode by its points; needs no environment."""

    cost_scale: float
    """Factor of the cost in eq. 7."""
    ordered: bool
    """Whether the reward sees when something is done."""

    def score(self, points: np.ndarray, *, absorbed: bool) -> Scored:
        """Costs, rewards and distances of an episode."""


@dataclass(frozen=True)
class Behaviour:
    """One episode of known worth, as points of the task."""

    group: str
    points: np.ndarray
    absorbed: bool = False
    """The steps after the last point, to the horizon, are absorbing ones."""
    demonstration: int = -1
    """Of a demonstration or a part of one: which."""
    fraction: float = 1.0
    """Of a part: how much."""
    expert: bool = False


def parts(points: np.ndarray, number: int, *, steps: int, absorbed: bool) -> Iterator[Behaviour]:
    """A held-out demonstration whole, backwards, and frozen at every tenth of its length.

    The whole one is `absorbed` where it finishes the task. The others do not finish it: they go on to `steps`, waiting
    at their last point.
    """
    yield Behaviour(HELD_OUT, points, absorbed, number, expert=True)
    yield unfinished(REVERSED, points[::-1], number, steps)
    for fraction in FRACTIONS:
        shown = points[: max(1, round(fraction * len(points)))]
        yield replace(unfinished(FROZEN, shown, number, steps), fraction=fraction)


def unfinished(group: str, points: np.ndarray, number: int, steps: int) -> Behaviour:
    """What does not finish the task: it waits at its last point until `steps` are over."""
    return Behaviour(group, points[np.arange(max(steps, len(points))).clip(max=len(points) - 1)], False, number)


def idle_play(stage: Stage, episodes: int, seed: int) -> Iterator[Behaviour]:
    """Random play with white and with smooth noise, and doing nothing, in the real environment."""
    size = (stage.horizon, stage.action_size)
    kinds: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
        "random play, white noise": lambda rng: rng.uniform(-1, 1, size),
        "random play, smooth noise": lambda rng: np.clip(colored(*size, 2.0, rng), -1, 1),
        "doing nothing": lambda rng: np.zeros(size),
    }
    for group, noise in kinds.items():
        for index in range(episodes):
            yield _played(stage, group, _playing(noise(np.random.default_rng((seed, index)))), seed + index)


def open_loop_play(stage: Stage, actions: np.ndarray, episodes: int, seed: int) -> Iterator[Behaviour]:
    """A demonstration's actions, in [-1, 1], repeated in fresh episodes without looking."""
    for index in range(episodes):
        yield _played(stage, OPEN_LOOP, _playing(actions), seed + index)


def policy_play(stage: Stage, policies: Iterable[tuple[str, Choose]], episodes: int, seed: int) -> Iterator[Behaviour]:
    """What given policies do; how good they are is not known, so they do not enter the verdict."""
    for name, choose in policies:
        for index in range(episodes):
            yield _played(stage, f"{POLICY} {name}", choose, seed + index)


def _played(stage: Stage, group: str, choose: Choose, seed: int) -> Behaviour:
    record = stage.rollout(choose, seed, evaluating=True).record
    return Behaviour(group, record["points"], bool(record["absorbed"]))


def _playing(actions: np.ndarray) -> Choose:
    return lambda _, step: actions[min(step, len(actions) - 1)]
