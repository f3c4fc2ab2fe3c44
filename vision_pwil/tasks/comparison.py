"""An episode's points against the demonstrations': rewards, W1 and its bound. Needs no environment."""

from functools import cache
from typing import Any

import numpy as np

from vision_pwil.rewards.coupling import GreedyCoupling
from vision_pwil.rewards.metric import Euclidean, Metric, StandardizedEuclidean
from vision_pwil.rewards.pace import PacedReward
from vision_pwil.rewards.reward import EpisodeReward, Reward, embedding_scale, state_scale
from vision_pwil.rewards.table import find
from vision_pwil.rewards.wasserstein import exact_w1, greedy_w1
from vision_pwil.tasks.atoms import Atoms
from vision_pwil.tasks.config import TaskConfig
from vision_pwil.verdict.behaviour import Scored


class Comparison:
    """The reward of a task and the distances that are reported beside it.

    Args:
        reward: name of the reward.
        config: what is compared, how episodes end, and the reward's constants.
        atoms: the demonstrations.
        horizon: T, steps of an episode.
        state_size: dimensions of a state, where points are states or state-action pairs.
    """

    def __init__(self, reward: str, config: TaskConfig, atoms: Atoms, horizon: int, state_size: int = 0) -> None:
        self.config, self.atoms, self.horizon = config, atoms, horizon
        self.absorbing, self.ordered = config.ending != "none", config.pace > 0
        self._make, self._columns = find(reward), compared_columns(config, state_size, atoms.points.shape[1])
        # Distances are reported on whole points, whatever the reward compares, so that rewards and agents compare.
        pixels = config.compare == "frames"
        self.metric: Metric = Euclidean() if pixels else StandardizedEuclidean.of(atoms.points)
        self.features = self.metric(atoms.points)
        self.shared_end = atoms.end
        self.reward_of = cache(self._reward_of)
        self.cost_scale = self.reward_of(1).scale

    def _reward_of(self, interval: int) -> Reward:
        """The reward that sees one point in so many steps, each with the mass of the steps it stands for."""
        config, horizon = self.config, -(-self.horizon // interval)
        points = self.atoms.points[:, self._columns]
        if config.compare == "frames":
            metric, scale = self.metric, embedding_scale(horizon)
        else:
            metric = StandardizedEuclidean.of(points, config.min_std) if config.standardized else Euclidean()
            scale = state_scale(horizon, points.shape[1])
        constants = {"scale": scale, "alpha": config.alpha, "beta": config.beta}
        options: dict[str, Any] = {"weights": self.atoms.weights, **constants}
        if config.pace:
            times = self.atoms.times
            assert times is not None
            return PacedReward(self._make, points, times, horizon, metric=metric, pace=config.pace, **options)
        return self._make(points, horizon, metric=metric, **options)

    def pay(self, points: np.ndarray, *, absorbed: bool, interval: int = 1) -> EpisodeReward:
        """Costs and rewards of an episode by its points, one in so many steps."""
        where = None if self.shared_end is None else self.shared_end[self._columns]
        return self.reward_of(interval).episode(points[:, self._columns], absorbing=absorbed, absorbing_point=where)

    def score(self, points: np.ndarray, *, absorbed: bool) -> Scored:
        """Costs, rewards, W1 and its greedy bound of an episode, one point a step.

        The distance is that between whole points: standardised state-action pairs (states where the demonstrations have
        no actions), or embeddings. An absorbed episode has T steps; any other weighs each of its n steps 1/n, also when
        it ended early, and its greedy bound is that of a coupling of n steps.
        """
        costs, rewards = self.pay(points, absorbed=absorbed)
        features, steps = self.metric(points), self.horizon if absorbed else len(points)
        end = features[-1] if self.shared_end is None else self.metric(self.shared_end)
        coupling = GreedyCoupling(self.features, steps, self.atoms.weights)
        bound = greedy_w1(coupling.episode(features, absorbing=absorbed, absorbing_point=end))
        paced = self._paced_w1(features, end, steps) if self.config.pace else None
        masses = np.ones(len(features))
        if absorbed:
            features, masses = np.vstack([features, end]), np.append(masses, steps - len(masses))
        return Scored(costs, rewards, exact_w1(features, self.features, masses, self.atoms.weights), bound, paced)

    def _paced_w1(self, features: np.ndarray, end: np.ndarray, steps: int) -> float:
        """W1 with time beside the features; the steps after the last of them are at `end`, each at its own time."""
        times = self.atoms.times
        assert times is not None
        features = np.vstack([features, np.tile(end, (steps - len(features), 1))])
        moments = np.arange(1, steps + 1) / self.horizon
        points = np.column_stack([features, self.config.pace * moments])
        atoms = np.column_stack([self.features, self.config.pace * times])
        return exact_w1(points, atoms, atom_weights=self.atoms.weights)


def compared_columns(config: TaskConfig, state_size: int, point_size: int) -> np.ndarray:
    """Columns of a point that the reward compares: all of an embedding; of a pair, the states' and perhaps actions'."""
    if config.compare == "frames":
        return np.arange(point_size)
    end = point_size if config.compare == "pairs" else state_size
    return np.array([*(config.dimensions or range(state_size)), *range(state_size, end)])
