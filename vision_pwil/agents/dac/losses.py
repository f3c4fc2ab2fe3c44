"""DAC's discriminator loss: a classifier of expert pairs with the gradient penalty of Gulrajani et al. 2017."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor


def classification(expert_logits: Tensor, agent_logits: Tensor, expert_weights: Tensor) -> Tensor:
    """Cross-entropy with the expert as 1 and the agent as 0, each averaged over its half."""
    return (expert_weights * F.softplus(-expert_logits)).mean() + F.softplus(agent_logits).mean()


def gradient_penalty(discriminator: Callable[[Tensor], Tensor], expert: Tensor, agent: Tensor, mix: Tensor) -> Tensor:
    """Mean of (|gradient of the logit by its input| - 1)^2, at points between pairs of expert and agent.

    `mix`, (batch, 1) in [0, 1], is the agent's share of each point.
    """
    points = torch.lerp(expert, agent, mix).requires_grad_()
    (gradient,) = torch.autograd.grad(discriminator(points).sum(), points, create_graph=True)
    return (gradient.norm(dim=-1) - 1.0).square().mean()
