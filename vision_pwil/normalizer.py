"""Running mean and standard deviation of observations."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

CLIP = 10.0
"""Normalised observations are clipped to this range, so that a dimension that has barely moved yet cannot explode."""


class Normalizer:
    """Statistics of every observation seen (Chan's parallel update), in float64."""

    def __init__(self, size: int) -> None:
        self.count = 0.0
        self.mean = np.zeros(size)
        self.squares = np.zeros(size)

    def observe(self, observations: np.ndarray) -> None:
        """Add the rows of (n, size)."""
        added = len(observations)
        mean = observations.mean(0, dtype=np.float64)
        delta, total = mean - self.mean, self.count + added
        self.squares += ((observations - mean) ** 2).sum(0) + delta**2 * self.count * added / total
        self.mean += delta * added / total
        self.count = total

    def scale(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and inverse of the standard deviation (of at least 1e-3), float32; 0 and 1 before anything was seen."""
        if not self.count:
            return np.zeros_like(self.mean, np.float32), np.ones_like(self.mean, np.float32)
        deviation = np.sqrt(self.squares / self.count)
        return self.mean.astype(np.float32), (1.0 / np.maximum(deviation, 1e-3)).astype(np.float32)

    def state_dict(self) -> dict[str, Tensor]:
        """The statistics as tensors."""
        return {
            "count": torch.tensor(self.count),
            "mean": torch.tensor(self.mean),
            "squares": torch.tensor(self.squares),
        }

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Return to saved statistics."""
        self.count = float(state["count"])
        self.mean, self.squares = state["mean"].numpy().copy(), state["squares"].numpy().copy()
