"""The paper's networks (appendix "Agent"): an actor 256-256 and twin critics 256-256, ReLU, as functions.

Parameters are mappings of names to tensors. The two critics are one network whose tensors have a leading dimension
of 2, so that every layer of both is a single batched matrix product.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor


def shapes(sizes: Sequence[int], copies: int = 0) -> dict[str, tuple[int, ...]]:
    """Tensor shapes of a multilayer perceptron; with `copies`, of that many of them side by side."""
    result: dict[str, tuple[int, ...]] = {}
    for layer, (inputs, outputs) in enumerate(pairwise(sizes)):
        result[f"weight{layer}"] = (copies, inputs, outputs) if copies else (inputs, outputs)
        result[f"bias{layer}"] = (copies, 1, outputs) if copies else (outputs,)
    return result


def actor(parameters: Mapping[str, Tensor], observation: Tensor, min_std: float) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation, each (batch, actions), of the Gaussian before the tanh."""
    hidden, last = observation, len(parameters) // 2 - 1
    for layer in range(last):
        hidden = torch.addmm(parameters[f"bias{layer}"], hidden, parameters[f"weight{layer}"]).relu_()
    output = torch.addmm(parameters[f"bias{last}"], hidden, parameters[f"weight{last}"])
    mean, raw = output.chunk(2, dim=-1)
    return mean, F.softplus(raw) + min_std


def critics(parameters: Mapping[str, Tensor], observation: Tensor, action: Tensor, layer_norm: bool) -> Tensor:
    """Both critics' values, (2, batch).

    With `layer_norm` each hidden layer is normalised before its ReLU, without learned scale (the next layer has one).
    """
    hidden = torch.cat([observation, action], dim=-1).expand(2, -1, -1)
    last = len(parameters) // 2 - 1
    for layer in range(last):
        hidden = torch.baddbmm(parameters[f"bias{layer}"], hidden, parameters[f"weight{layer}"])
        if layer_norm:
            hidden = F.layer_norm(hidden, hidden.shape[-1:])
        hidden = hidden.relu_()
    return torch.baddbmm(parameters[f"bias{last}"], hidden, parameters[f"weight{last}"]).squeeze(-1)
