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
    slope: Tensor
    """Derivative of std by the actor's output."""
    noise: Tensor

    def first(self, rows: int) -> "Sample":
        """The same for the first rows of a batch."""
        return Sample(*(tensor[:rows] for tensor in self))


def sample(output: Tensor, noise: Tensor, min_std: float) -> Sample:
    """Squash (mean, raw), the halves of `output`, with standard normal noise; std = softplus(raw) + min_std.

    log(1 - tanh(u)^2) is written as 2 (log 2 - u - softplus(-2u)), which does not underflow for large |u|.
    """
    mean, raw = output.chunk(2, dim=-1)
    std = F.softplus(raw) + min_std
    inner = torch.addcmul(mean, std, noise)
    terms = 2.0 * (inner + F.softplus(-2.0 * inner)) - std.log() - 0.5 * noise.square()
    return Sample(inner.tanh(), terms.sum(-1) - _CONSTANT * mean.shape[-1], std, raw.sigmoid(), noise)


def backward(drawn: Sample, by_action: Tensor, by_log_prob: Tensor) -> Tensor:
    """Gradient of a loss by the actor's output, from those by each action and by each log-probability (a number).

    d tanh(u) / du = 1 - a^2, d log pi / du = 2 a, d log pi / d std = -1 / std beside what comes through u.
    """
    action, _, std, slope, noise = drawn
    inner = by_action * (1.0 - action.square()) + 2.0 * by_log_prob * action
    return torch.cat([inner, (inner * noise - by_log_prob / std) * slope], dim=-1)
