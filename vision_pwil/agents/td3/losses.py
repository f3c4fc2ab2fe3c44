"""TD3's losses (Fujimoto et al. 2018, equations 14 and 15) and their gradients by what the networks gave."""

import torch
from torch import Tensor


def smooth(action: Tensor, noise: Tensor, deviation: float, clip: float) -> Tensor:
    """A target action blurred by clipped noise (standard normal here), so that values of similar actions agree."""
    return (action + (deviation * noise).clamp_(-clip, clip)).clamp_(-1.0, 1.0)


def target(reward: Tensor, discount: Tensor, next_values: Tensor) -> Tensor:
    """Bootstrapped return, from the smaller of both target critics' values (2, batch)."""
    return reward + discount * next_values.amin(0)


def critic_loss(values: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Squared error of a critic, averaged over the batch; its gradient by the values."""
    errors = values - targets
    return errors.square().mean(), errors * (2.0 / len(errors))


def actor_gradient(values: Tensor, weights: Tensor | None = None) -> Tensor:
    """Gradient of minus the (weighted) mean of the first critic's values, by each of them."""
    if weights is None:
        return torch.full_like(values, -1.0 / len(values))
    return -weights / weights.sum().clamp(min=1.0)
