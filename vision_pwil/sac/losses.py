"""SAC's losses (Haarnoja et al. 2018b, equations 5 to 7 and 18) and their gradients by what the networks gave."""

from torch import Tensor


def target(reward: Tensor, discount: Tensor, next_values: Tensor, next_log_prob: Tensor, temperature: Tensor) -> Tensor:
    """Bootstrapped return: r + discount * (min of both target critics - temperature * log pi)."""
    return reward + discount * (next_values.amin(0) - temperature * next_log_prob)


def critic_loss(values: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Half the squared error of both critics, (2, batch) against (batch,), averaged over the batch; its gradient."""
    errors = values - targets
    return 0.5 * errors.square().mean(-1).sum(), errors / errors.shape[-1]


def actor_loss(values: Tensor, log_prob: Tensor, temperature: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Temperature * log pi minus the smaller of the two values, averaged over the batch.

    Also its gradients by the values, (2, batch), and by each log-probability, a number.
    """
    smaller, size = values.amin(0), values.shape[-1]
    by_values = (values == smaller).to(values.dtype).div_(-size)
    return (temperature * log_prob - smaller).mean(), by_values, temperature / size


def temperature_gradient(log_prob: Tensor, target_entropy: float) -> Tensor:
    """Gradient of -log(temperature) * (log pi + target entropy) by log(temperature).

    Descent raises the temperature while the entropy is below its target; in log space, so that it stays positive.
    """
    return -(log_prob.mean() + target_entropy)
