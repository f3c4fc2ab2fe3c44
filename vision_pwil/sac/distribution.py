"""The tanh-squashed Gaussian of SAC (Haarnoja et al. 2018, appendix C)."""

import math

import torch.nn.functional as F
from torch import Tensor

_LOG_2 = math.log(2.0)
_HALF_LOG_2_PI = 0.5 * math.log(2.0 * math.pi)


def squash(mean: Tensor, std: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
    """Action tanh(mean + std * noise) and its log-probability density, for standard normal noise.

    log(1 - tanh(u)^2) is written as 2 (log 2 - u - softplus(-2u)), which does not underflow for large |u|.
    """
    raw = mean + std * noise
    gaussian = -0.5 * noise.square() - std.log() - _HALF_LOG_2_PI
    log_jacobian = 2.0 * (_LOG_2 - raw - F.softplus(-2.0 * raw))
    return raw.tanh(), (gaussian - log_jacobian).sum(-1)
