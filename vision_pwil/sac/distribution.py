"""The tanh-squashed Gaussian of SAC (Haarnoja et al. 2018, appendix C) as functions of the actor's output."""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

_CONSTANT = 0.5 * math.log(2.0 * math.pi) + 2.0 * math.log(2.0)


class Sample(NamedTuple):
    """Actions tanh(mean + std * noise), and what they came from."""

    action: Tensor
    log_prob: Tensor
    """Log-probability density of each action, (batch,)."""
    std: Tensor
    raw: Tensor
    """std = softplus(raw) + min_std."""
    noise: Tensor


def sample(output: Tensor, noise: Tensor, min_std: float) -> Sample:
    """Squash (mean, raw), the halves of `output`, with standard normal noise.

    log(1 - tanh(u)^2) is written as 2 (log 2 - u - softplus(-2u)), which does not underflow for large |u|.
    """
    mean, raw = output.chunk(2, dim=-1)
    std = F.softplus(raw) + min_std
    inner = torch.addcmul(mean, std, noise)
    terms = (inner + F.softplus(-2.0 * inner)).mul_(2.0).sub_(std.log()).addcmul_(noise, noise, value=-0.5)
    return Sample(inner.tanh(), terms.sum(-1).sub_(_CONSTANT * mean.shape[-1]), std, raw, noise)


def backward(drawn: Sample, action_gradient: Tensor, log_prob_gradient: Tensor) -> Tensor:
    """Gradient of a loss by the actor's output, from those by each action and by each log-probability (a number).

    d tanh(u) / du = 1 - a^2, d log pi / du = 2 a, d log pi / d std = -1 / std beside what comes through u.
    """
    action = drawn.action
    inner = torch.addcmul(action_gradient, action_gradient * action, action, value=-1.0)
    inner.addcmul_(action, log_prob_gradient, value=2.0)
    std = torch.addcmul(-log_prob_gradient / drawn.std, inner, drawn.noise)
    return torch.cat([inner, std.mul_(drawn.raw.sigmoid())], dim=-1)
