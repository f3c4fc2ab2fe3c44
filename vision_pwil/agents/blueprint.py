"""What a fresh learner is made from."""

from typing import Any, NamedTuple

import numpy as np


class Expert(NamedTuple):
    """What the baselines learn from beside the reward: the demonstrations' own pairs."""

    states: np.ndarray
    """(D, S)."""
    actions: np.ndarray
    """(D, A), in [-1, 1]."""
    ends: int
    """Demonstrations that ended early."""
    every: int
    """Steps for each pair kept."""


class Blueprint(NamedTuple):
    """All that a fresh learner is made from."""

    settings: Any
    observation_size: int
    action_size: int
    seed: int
    device: str = "cpu"
    expert: Expert | None = None
