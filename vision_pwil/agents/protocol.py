"""What the training loop asks of an agent: act, update, state."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

Policy = Mapping[str, np.ndarray]
"""A snapshot of an actor: plain arrays, cheap to send to another process and to act with."""


class Batch(NamedTuple):
    """Transitions sampled from the replay, float32; n-step sums and discounts are already in them."""

    observation: Tensor
    action: Tensor
    reward: Tensor
    """Discounted sum of the n rewards that follow the action."""
    discount: Tensor
    """gamma^n, and 0 where nothing follows."""
    next_observation: Tensor
    """The observation n steps later."""

    def split(self, rows: int) -> "list[Batch]":
        """Batches of so many transitions, in turn: sampling many at once takes a fraction of sampling each."""
        return [Batch(*parts) for parts in zip(*(tensor.split(rows) for tensor in self), strict=True)]

    def to(self, device: torch.device) -> "Batch":
        """The same on a device."""
        return self if self.reward.device == device else Batch(*(tensor.to(device) for tensor in self))


class Act(Protocol):
    """Acting with a policy snapshot, in numpy; a module-level function, so that it can be sent to another process."""

    def __call__(self, policy: Policy, observation: np.ndarray, noise: np.ndarray | None = None) -> np.ndarray:
        """Action in [-1, 1]; `noise` is standard normal, one number an action dimension, None acts without noise."""


class Agent(Protocol):
    """One learner: SAC here; D4PG and TD3 have the same face."""

    name: str

    def observe(self, observations: np.ndarray) -> None:
        """See an episode's observations once, as they enter the replay (running statistics)."""

    def update(self, batch: Batch) -> dict[str, Tensor]:
        """Do one gradient update and return scalar metrics."""

    def policy(self) -> Policy:
        """Snapshot of the actor for `Act`."""

    def state_dict(self) -> dict[str, Tensor]:
        """Everything that the next update depends on, random state included, as named tensors."""

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Return to a saved state, bit for bit."""
