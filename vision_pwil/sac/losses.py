"""SAC's losses (Haarnoja et al. 2018b, equations 5 to 7 and 18) and their gradients by what the networks gave."""

from torch import Tensor


def target(reward: Tensor, discount: Tensor, next_values: Tensor, next_log_prob: Tensor, temperature: Tensor) -> Tensor:
    """Bootstrapped return: r + discount * (min of both target critics - temperature * log pi)."""
    return reward + discount * (next_values.amin(0) - temperature * next_log_prob)


def critic_loss(values: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Half the squared error of a critic, averaged over the batch; its gradient."""
    errors = values - targets
    return 0.5 * errors.square().mean(), errors / len(errors)


def actor_loss(values: Tensor, log_prob: Tensor, temperature: Tensor) -> tuple[Tensor, Tensor]:
    """Temperature * log pi minus the smaller of the two values, (2, batch), averaged over the batch.

    Also which critic's value is the smaller one, (batch,). The gradient by that value is -1 / batch, by the other 0.
    """
    smaller, which = values.min(0)
    return (temperature * log_prob - smaller).mean(), which


def temperature_gradient(log_prob: Tensor, target_entropy: float) -> Tensor:
    """Gradient of -log(temperature) * (log pi + target entropy) by log(temperature).

    Descent raises the temperature while the entropy is below its target; in log space, so that it stays positive.
    """
    return -(log_prob.mean() + target_entropy)
