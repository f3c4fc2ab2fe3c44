"""PWIL's reward: eq. 7 on the costs of the greedy coupling, one step at a time or an episode at once."""

from typing import Any

from numpy.typing import ArrayLike

from vision_pwil.rewards.coupling import GreedyCoupling
from vision_pwil.rewards.reward import CostReward, Floats


class Rewarder(CostReward):
    """The PWIL reward of an agent's points against the demonstrations' atoms (Algorithm 1).

    Args:
        support: ablation PWIL-support, atoms of infinite capacity. The other arguments are those of `CostReward`.
    """

    def __init__(self, atoms: Any, horizon: int, *, support: bool = False, **options: Any) -> None:
        self._support = support
        super().__init__(atoms, horizon, **options)

    def _take(self, features: Floats, horizon: int, weights: ArrayLike | None) -> None:
        self.coupling = GreedyCoupling(features, horizon, weights, support=self._support)

    @property
    def horizon(self) -> int:
        """T, the number of steps of an episode."""
        return self.coupling.horizon

    @property
    def dimension(self) -> int:
        """Numbers in a point."""
        return int(self.coupling.atoms.shape[1])

    def reset(self) -> None:
        """Begin an episode."""
        self.coupling.reset()

    def step(self, point: Any) -> float:
        """Reward of the next step."""
        return float(self.reward(self.coupling.step(self.metric(point))))

    def absorb(self, point: Any = None) -> Floats:
        """Rewards of all the steps that remain after early termination, spent at `point`, or else at the last one."""
        return self.reward(self.coupling.absorb(None if point is None else self.metric(point)))

    def _costs(self, features: Floats, absorbing: bool, absorbing_feature: Floats | None) -> Floats:
        return self.coupling.episode(features, absorbing=absorbing, absorbing_point=absorbing_feature)
