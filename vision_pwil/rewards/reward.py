"""What a reward is: from an episode's points to costs and rewards (paper, eq. 7)."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vision_pwil.rewards.metric import Euclidean, Metric, StandardizedEuclidean

Floats = NDArray[np.float64]
Ours = TypeVar("Ours", bound="CostReward")


def state_scale(horizon: int, dimension: int) -> float:
    """T / sqrt(|S| + |A|), the scale of eq. 7, by the dimension really compared (|S| alone without actions)."""
    return horizon / float(np.sqrt(dimension))


def embedding_scale(horizon: int) -> float:
    """T, the scale of the pixel reward alpha exp(-beta T c) (section "Door Opening Task")."""
    return float(horizon)


def imitation_reward(cost: Any, *, alpha: float, beta: float, scale: float) -> Any:
    """r = alpha exp(-beta scale c), eq. 7, of one cost or many."""
    return alpha * np.exp(-beta * scale * cost)


def fold_absorbing(rewards: ArrayLike, steps: int, discount: float) -> Floats:
    """Rewards of an absorbed episode as seen by a learner that stops at `steps`.

    The rewards of the absorbing steps after early termination, discounted to it, are added to the last step's, so that
    the return from every step is exactly that of the whole episode (paper, appendix "Environment").
    """
    rewards = np.asarray(rewards, dtype=np.float64)
    after = rewards[steps:]
    folded = rewards[:steps].copy()
    folded[-1] += after @ discount ** np.arange(1, len(after) + 1)
    return folded


class EpisodeReward(NamedTuple):
    """Costs (eq. 6) and rewards (eq. 7) of an episode's steps, to the horizon if its end was absorbing."""

    costs: Floats
    rewards: Floats


class Reward(Protocol):
    """Pays an episode for coming near the demonstrations; knows nothing of environments or RL."""

    @property
    def horizon(self) -> int:
        """T, the number of steps of an episode."""

    @property
    def dimension(self) -> int:
        """Numbers in a point."""

    @property
    def scale(self) -> float:
        """Factor of the cost inside the exponential of eq. 7."""

    def episode(self, points: Any, *, absorbing: bool = False, absorbing_point: Any = None) -> EpisodeReward:
        """Costs and rewards of a whole episode: of each point, and to the horizon if its end is `absorbing`.

        The absorbing steps are spent at `absorbing_point`, or else at the last point.
        """


class OnlineReward(Reward, Protocol):
    """A reward that is known as soon as a step is taken, as a Gymnasium wrapper needs it."""

    def reset(self) -> None:
        """Begin an episode."""

    def step(self, point: Any) -> float:
        """Reward of the next step."""

    def absorb(self, point: Any = None) -> Floats:
        """Rewards of all the steps that remain after early termination, spent at `point`, or else at the last one."""


class CostReward(ABC):
    """Eq. 7 on costs of transport to the demonstrations' atoms; a subclass says how a step's cost is found.

    Args:
        atoms: demonstrations' points: state-action pairs, states, embeddings, whatever `metric` takes.
        horizon: T, the number of steps of an episode.
        metric: distance between points.
        scale: factor of the cost inside the exponential, `state_scale` or `embedding_scale`.
        weights: positive whole weight of each atom (an absorbing one weighs as many steps as it lasts).
        alpha: largest reward of a step (paper: 5).
        beta: how fast the reward falls with the cost (paper: 5 for states, 1 for embeddings).
    """

    def __init__(
        self,
        atoms: Any,
        horizon: int,
        *,
        metric: Metric,
        scale: float,
        weights: ArrayLike | None = None,
        alpha: float = 5.0,
        beta: float = 5.0,
    ) -> None:
        self.metric, self.scale, self.alpha, self.beta = metric, scale, alpha, beta
        self._take(np.asarray(metric(atoms), np.float64), horizon, weights)

    @classmethod
    def for_states(
        cls: type[Ours],
        atoms: ArrayLike,
        horizon: int,
        *,
        standardized: bool = True,
        min_std: float = 0.0,
        alpha: float = 5.0,
        beta: float = 5.0,
        **options: Any,
    ) -> Ours:
        """The reward of eq. 7 on states or state-action pairs; not standardised, it is the ablation PWIL-L2.

        No dimension is divided by less than `min_std`, see `StandardizedEuclidean`.
        """
        atoms = np.asarray(atoms, dtype=np.float64)
        metric = StandardizedEuclidean.of(atoms, min_std) if standardized else Euclidean()
        scale = state_scale(horizon, atoms.shape[-1])
        return cls(atoms, horizon, metric=metric, scale=scale, alpha=alpha, beta=beta, **options)

    @classmethod
    def for_embeddings(
        cls: type[Ours], atoms: ArrayLike, horizon: int, *, alpha: float = 5.0, beta: float = 1.0, **options: Any
    ) -> Ours:
        """The reward alpha exp(-beta T c) on embeddings (section "Door Opening Task")."""
        scale = embedding_scale(horizon)
        return cls(atoms, horizon, metric=Euclidean(), scale=scale, alpha=alpha, beta=beta, **options)

    @abstractmethod
    def _take(self, features: Floats, horizon: int, weights: ArrayLike | None) -> None:
        """Keep the atoms' features and weights, checked."""

    @abstractmethod
    def _costs(self, features: Floats, absorbing: bool, absorbing_feature: Floats | None) -> Floats:
        """Cost of each step of an episode, to the horizon if its end is absorbing."""

    def episode(self, points: Any, *, absorbing: bool = False, absorbing_point: Any = None) -> EpisodeReward:
        """Costs and rewards of a whole episode (see `Reward.episode`)."""
        where = None if absorbing_point is None else np.asarray(self.metric(absorbing_point), np.float64)
        costs = self._costs(np.asarray(self.metric(points), np.float64), absorbing, where)
        return EpisodeReward(costs, self.reward(costs))

    def reward(self, cost: Any) -> Any:
        """Eq. 7."""
        return imitation_reward(cost, alpha=self.alpha, beta=self.beta, scale=self.scale)
