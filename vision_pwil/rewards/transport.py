"""Rewards from the optimal transport of a whole episode, exact or by Sinkhorn's iterations (ROT, Haldar et al. 2022).

The greedy coupling pays a step as soon as it is taken. Optimal transport waits for the episode's end and couples all of
it at once. A step's cost is its mass 1/T times the mean distance that the plan moves it. ROT pays minus that cost; here
eq. 7 turns it into a reward, so that rewards stay positive and an early, absorbing end is worth reaching.
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from vision_pwil.rewards.coupling import GreedyCoupling
from vision_pwil.rewards.reward import CostReward, Floats
from vision_pwil.system.errors import InputError

_ITERATIONS = 1_000  # of Sinkhorn, at most
_TOLERANCE = 1e-7  # of its marginals


class TransportReward(CostReward):
    """Eq. 7 on the costs of optimal transport between an episode and the demonstrations.

    An episode that ends early and is not absorbed is transported as it is, every step weighing 1/n.

    Args:
        regularization: weight of the entropy, in units of the mean distance; 0 solves the transport exactly. The other
            arguments are those of `CostReward`.
    """

    def __init__(self, atoms: Any, horizon: int, *, regularization: float = 0.0, **options: Any) -> None:
        if not 0 <= regularization < np.inf:
            raise InputError(f"The regularization of the transport must be 0 or more, not {regularization}.")
        self.regularization = regularization
        super().__init__(atoms, horizon, **options)

    def _take(self, features: Floats, horizon: int, weights: ArrayLike | None) -> None:
        checked = GreedyCoupling(features, horizon, weights)  # one place knows what atoms and weights are allowed
        self._atoms, self._masses = checked.atoms, checked.weights / checked.weights.sum()
        self._horizon = checked.horizon

    @property
    def horizon(self) -> int:
        """T, the number of steps of an episode."""
        return self._horizon

    @property
    def dimension(self) -> int:
        """Numbers in a point."""
        return int(self._atoms.shape[1])

    def _costs(self, features: Floats, absorbing: bool, absorbing_feature: Floats | None) -> Floats:
        steps = len(features)
        if features.ndim != 2 or features.shape[1] != self.dimension or not 0 < steps <= self.horizon:
            raise InputError(
                f"An episode must be 1 to {self.horizon} points of {self.dimension} numbers, not {features.shape}."
            )
        if not np.isfinite(features).all():
            raise InputError("A point of the episode is not finite: check the environment and the policy.")
        after = self.horizon - steps if absorbing else 0
        masses = np.ones(steps)
        if after:
            end = features[-1] if absorbing_feature is None else absorbing_feature
            features, masses = np.vstack([features, end]), np.append(masses, after)
        masses = masses / masses.sum()
        distances = cdist(features, self._atoms)
        mean_distance = (self._plan(masses, distances) * distances).sum(axis=1) / masses
        return np.repeat(mean_distance, [1] * steps + [after] * (after > 0)) / self.horizon

    def _plan(self, masses: Floats, distances: Floats) -> Floats:
        import ot  # imports slowly

        if not self.regularization:
            with warnings.catch_warnings():
                warnings.simplefilter("error", UserWarning)  # POT warns, with a wrong plan, when it does not converge
                return ot.emd(masses, self._masses, distances, numItermax=100_000_000)
        weight = self.regularization * float(distances.mean()) or 1.0
        return ot.sinkhorn(masses, self._masses, distances, weight, "sinkhorn_log", _ITERATIONS, _TOLERANCE, warn=False)
