"""Categorical value distributions on a fixed support (Bellemare et al. 2017, "C51")."""

import torch
from torch import Tensor


def project(support: Tensor, probabilities: Tensor, reward: Tensor, discount: Tensor) -> Tensor:
    """The distribution of reward + discount * z, for z on the support, brought back onto the support (Algorithm 1).

    The mass of every shifted atom is shared by its two neighbours in proportion to their nearness; what falls outside
    goes to the nearest end.

    Args:
        support: (atoms,), evenly spaced.
        probabilities: (batch, atoms), of z.
        reward: (batch,).
        discount: (batch,); with 0, all mass falls on the reward.
    """
    low, high, atoms = float(support[0]), float(support[-1]), len(support)
    shifted = torch.addcmul(reward[:, None], discount[:, None], support).clamp_(low, high)
    position = shifted.sub_(low).mul_((atoms - 1) / (high - low))
    lower = position.floor().clamp_(max=atoms - 2)
    upper_share = probabilities * (position - lower)
    index = lower.long()
    result = torch.zeros_like(probabilities)
    result.scatter_add_(1, index, probabilities - upper_share)
    return result.scatter_add_(1, index + 1, upper_share)


def cross_entropy(target: Tensor, logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The critic's loss, averaged over the batch; its gradient by the logits; the probabilities of the logits."""
    log_probabilities = logits.log_softmax(-1)
    probabilities = log_probabilities.exp()
    loss = -(target * log_probabilities).sum(-1).mean()
    return loss, (probabilities - target).div_(len(target)), probabilities


def mean(support: Tensor, logits: Tensor) -> tuple[Tensor, Tensor]:
    """Expected value of each distribution, (batch,), and its gradient by the logits: p_i (z_i - value)."""
    probabilities = logits.softmax(-1)
    values = probabilities @ support
    return values, (support - values[:, None]).mul_(probabilities)


def edge_mass(probabilities: Tensor) -> Tensor:
    """Mean probability of the support's two ends: near 0 while the support is wide enough for the values."""
    return (probabilities[:, 0] + probabilities[:, -1]).mean()
