"""From greedy costs to rewards (paper, eq. 7), for states and for embeddings."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vision_pwil.rewards.coupling import GreedyCoupling
from vision_pwil.rewards.metric import Euclidean, Metric, StandardizedEuclidean

Floats = NDArray[np.float64]


def state_scale(horizon: int, dimension: int) -> float:
    """T / sqrt(|S| + |A|), the scale of eq. 7, by the dimension really compared (|S| alone without actions)."""
    return horizon / float(np.sqrt(dimension))


def embedding_scale(horizon: int) -> float:
    """T, the scale of the pixel reward alpha exp(-beta T c) (section "Door Opening Task")."""
    return float(horizon)


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


class Rewarder:
    """The PWIL reward of an agent's points against the demonstrations' atoms; knows nothing of environments or RL.

    Args:
        atoms: demonstrations' points: state-action pairs, states, frames, whatever `metric` takes.
        horizon: T, the number of steps of an episode.
        metric: distance between points.
        scale: factor of the cost inside the exponential, `state_scale` or `embedding_scale`.
        weights: positive whole weight of each atom (an absorbing one weighs as many steps as it lasts).
        alpha: largest reward of a step (paper: 5).
        beta: how fast the reward falls with the cost (paper: 5 for states, 1 for embeddings).
        support: ablation PWIL-support, atoms of infinite capacity.
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
        support: bool = False,
    ):
        self.metric = metric
        self.coupling = GreedyCoupling(metric(atoms), horizon, weights, support=support)
        self.alpha, self.beta, self.scale = alpha, beta, scale

    @classmethod
    def for_states(
        cls,
        atoms: ArrayLike,
        horizon: int,
        *,
        standardized: bool = True,
        min_deviation: float = 0.0,
        alpha: float = 5.0,
        beta: float = 5.0,
        **options: Any,
    ) -> "Rewarder":
        """Reward of eq. 7 on states or state-action pairs; not standardised, it is the ablation PWIL-L2.

        No dimension is divided by less than `min_deviation`, see `StandardizedEuclidean`.
        """
        atoms = np.asarray(atoms, dtype=np.float64)
        metric = StandardizedEuclidean.of(atoms, min_deviation) if standardized else Euclidean()
        scale = state_scale(horizon, atoms.shape[-1])
        return cls(atoms, horizon, metric=metric, scale=scale, alpha=alpha, beta=beta, **options)

    @classmethod
    def for_embeddings(
        cls, atoms: ArrayLike, horizon: int, *, alpha: float = 5.0, beta: float = 1.0, **options: Any
    ) -> "Rewarder":
        """Reward alpha exp(-beta T c) on embeddings (section "Door Opening Task")."""
        return cls(
            atoms, horizon, metric=Euclidean(), scale=embedding_scale(horizon), alpha=alpha, beta=beta, **options
        )

    @property
    def horizon(self) -> int:
        """T, the number of steps of an episode."""
        return self.coupling.horizon

    def reset(self) -> None:
        """Begin an episode."""
        self.coupling.reset()

    def step(self, point: Any) -> float:
        """Reward of the next step."""
        return float(self.reward(self.coupling.step(self.metric(point))))

    def absorb(self, point: Any = None) -> Floats:
        """Rewards of all the steps that remain after early termination, spent at `point`, or else at the last one."""
        return self.reward(self.coupling.absorb(None if point is None else self.metric(point)))

    def episode(self, points: Any, *, absorbing: bool = False, absorbing_point: Any = None) -> EpisodeReward:
        """Costs and rewards of a whole episode, identical to those of `step` and `absorb`."""
        where = None if absorbing_point is None else self.metric(absorbing_point)
        costs = self.coupling.episode(self.metric(points), absorbing=absorbing, absorbing_point=where)
        return EpisodeReward(costs, self.reward(costs))

    def reward(self, cost: Any) -> Any:
        """r = alpha exp(-beta scale c), eq. 7."""
        return self.alpha * np.exp(-self.beta * self.scale * cost)
