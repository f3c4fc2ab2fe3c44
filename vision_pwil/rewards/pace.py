"""Time as one more coordinate of the metric: (features, pace t/T).

A coupling hardly sees the order or the speed of what it compares: a demonstration played backwards, or twice as fast,
earns nearly as much as the demonstration. With its time beside it, a point is compared with what the demonstrations
show at about that time. It is a true metric on space and time, and every reward takes it. Not in the paper.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vision_pwil.rewards.metric import Euclidean, Metric
from vision_pwil.rewards.reward import EpisodeReward, Floats, Reward


class PacedReward:
    """A reward on features and time.

    Args:
        make: makes the reward itself from features that are compared by their Euclidean distance.
        atoms: demonstrations' points.
        times: when each of them was, as a share of the horizon; absorbing steps are atoms at times of their own.
        horizon: T, the number of steps of an episode.
        metric: distance between points.
        pace: distance between the beginning and the end of an episode.
        options: those of the reward (`scale`, `weights`, `alpha`, `beta`).
    """

    def __init__(
        self, make: Any, atoms: Any, times: ArrayLike, horizon: int, *, metric: Metric, pace: float, **options: Any
    ) -> None:
        self._metric, self._pace = metric, pace
        features = np.column_stack([metric(atoms), pace * np.asarray(times, np.float64)])
        self._reward: Reward = make(features, horizon, metric=Euclidean(), **options)
        self.scale = self._reward.scale

    @property
    def horizon(self) -> int:
        """T, the number of steps of an episode."""
        return self._reward.horizon

    @property
    def dimension(self) -> int:
        """Numbers in a point."""
        return self._reward.dimension - 1

    def episode(self, points: Any, *, absorbing: bool = False, absorbing_point: Any = None) -> EpisodeReward:
        """Costs and rewards of a whole episode (see `Reward.episode`); absorbing steps go on in time."""
        features: Floats = np.asarray(self._metric(points), np.float64)
        if absorbing:
            end = features[-1] if absorbing_point is None else np.asarray(self._metric(absorbing_point), np.float64)
            features = np.vstack([features, np.tile(end, (self.horizon - len(features), 1))])
        return self._reward.episode(self.timed(features))

    def timed(self, features: Floats) -> Floats:
        """Features of the first steps of an episode with the time of each."""
        return np.column_stack([features, self._pace * np.arange(1, len(features) + 1) / self.horizon])
