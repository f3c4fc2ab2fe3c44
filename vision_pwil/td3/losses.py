"""TD3's losses (Fujimoto et al. 2018, equations 14 and 15, Algorithm 1) as functions of what the networks gave."""

from torch import Tensor


def smooth(action: Tensor, noise: Tensor, deviation: float, clip: float) -> Tensor:
    """A target action blurred by clipped noise (standard normal here), so that values of similar actions agree."""
    return (action + (deviation * noise).clamp_(-clip, clip)).clamp_(-1.0, 1.0)


def target(reward: Tensor, discount: Tensor, next_values: Tensor) -> Tensor:
    """Bootstrapped return, from the smaller of both target critics' values (2, batch)."""
    return reward + discount * next_values.amin(0)


def critic_loss(values: Tensor, targets: Tensor) -> Tensor:
    """Squared error of both critics, (2, batch) against (batch,), averaged over the batch."""
    return (values - targets).square().mean(-1).sum()


def actor_loss(values: Tensor, weights: Tensor | None = None) -> Tensor:
    """Minus the mean of the first critic's values; with weights, the weighted mean."""
    if weights is None:
        return -values.mean()
    return -(weights * values).sum() / weights.sum().clamp(min=1.0)
