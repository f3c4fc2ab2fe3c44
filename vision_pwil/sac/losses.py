"""SAC's three losses (Haarnoja et al. 2018b, equations 5 to 7 and 18) as functions of what the networks gave."""

from torch import Tensor


def target(reward: Tensor, discount: Tensor, next_values: Tensor, next_log_prob: Tensor, temperature: Tensor) -> Tensor:
    """Bootstrapped return: r + discount * (min of both target critics - temperature * log pi)."""
    return reward + discount * (next_values.amin(0) - temperature * next_log_prob)


def critic_loss(values: Tensor, targets: Tensor) -> Tensor:
    """Half the squared error of both critics, (2, batch) against (batch,), averaged over the batch."""
    return 0.5 * (values - targets).square().mean(-1).sum()


def actor_loss(values: Tensor, log_prob: Tensor, temperature: Tensor) -> Tensor:
    """Temperature * log pi minus the smaller of the two values, averaged over the batch."""
    return (temperature * log_prob - values.amin(0)).mean()


def temperature_loss(log_temperature: Tensor, log_prob: Tensor, target_entropy: float) -> Tensor:
    """Raise the temperature while the entropy is below its target; in log space, so that it stays positive."""
    return -log_temperature * (log_prob.detach().mean() + target_entropy)
