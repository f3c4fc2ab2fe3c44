"""Running mean and standard deviation of observations, for agents whose `normalize` is set."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from vision_pwil.agents.protocol import Policy

CLIP = 10.0
"""Normalised observations are clipped to this range, so that a dimension that has barely moved yet cannot explode."""


class Normalizer:
    """Statistics of every observation seen (Chan's parallel update), in float64.

    Args:
        size: dimensions of an observation.
        active: otherwise it has no state, and observations stay as they are.
        device: of the observations that it is called with.
    """

    def __init__(self, size: int, *, active: bool, device: torch.device | str = "cpu") -> None:
        self.active, self.device = active, device
        self.count = 0.0
        self.mean = np.zeros(size)
        self.squares = np.zeros(size)
        self._set_scale()

    def observe(self, observations: np.ndarray) -> None:
        """Add the rows of (n, size)."""
        if not self.active:
            return
        added = len(observations)
        mean = observations.mean(0, dtype=np.float64)
        delta, total = mean - self.mean, self.count + added
        self.squares += ((observations - mean) ** 2).sum(0) + delta**2 * self.count * added / total
        self.mean += delta * added / total
        self.count = total
        self._set_scale()

    def _set_scale(self) -> None:
        self._mean, self._inverse_std = (torch.from_numpy(array).to(self.device) for array in self.scale())

    def scale(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and inverse of the standard deviation (of at least 1e-3), float32; 0 and 1 before anything was seen."""
        if not self.count:
            return np.zeros_like(self.mean, np.float32), np.ones_like(self.mean, np.float32)
        deviation = np.sqrt(self.squares / self.count)
        return self.mean.astype(np.float32), (1.0 / np.maximum(deviation, 1e-3)).astype(np.float32)

    def __call__(self, observation: Tensor) -> Tensor:
        """What the networks get to see of observations."""
        return ((observation - self._mean) * self._inverse_std).clamp_(-CLIP, CLIP) if self.active else observation

    def policy(self) -> dict[str, np.ndarray]:
        """Arrays for `normalized`."""
        return dict(zip(("mean", "inverse_std"), self.scale(), strict=True)) if self.active else {}

    def state_dict(self) -> dict[str, Tensor]:
        """The statistics as tensors."""
        if not self.active:
            return {}
        return {
            "count": torch.tensor(self.count, device="cpu"),
            "mean": torch.tensor(self.mean, device="cpu"),
            "squares": torch.tensor(self.squares, device="cpu"),
        }

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Return to saved statistics."""
        if self.active:
            self.count = float(state["count"])
            self.mean, self.squares = state["mean"].numpy().copy(), state["squares"].numpy().copy()
            self._set_scale()


def normalized(policy: Policy, observation: np.ndarray) -> np.ndarray:
    """One observation as the actor of a policy snapshot wants it, float32; "clip" may name another range."""
    inputs = observation.astype(np.float32)
    if "mean" not in policy:
        return inputs
    limit = policy.get("clip", CLIP)
    return np.clip((inputs - policy["mean"]) * policy["inverse_std"], -limit, limit)
