"""The paper's networks (appendix A) as functions: a first layer with layer normalisation and tanh, then ELU layers."""

from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from vision_pwil.parameters import Parameters
from vision_pwil.sac.networks import shapes as perceptron_shapes


def parameters(sizes: Sequence[int], learning_rate: float, generator: torch.Generator) -> Parameters:
    """A network's parameters: those of a multilayer perceptron, and scale and offset of the normalisation."""
    shapes = {**perceptron_shapes(sizes), "scale": (sizes[1],), "offset": (sizes[1],)}
    result = Parameters(shapes, learning_rate, generator)
    with torch.no_grad():
        result["scale"].fill_(1.0)
        result["offset"].zero_()
    return result


def network(tensors: Mapping[str, Tensor], inputs: Tensor) -> Tensor:
    """The last layer's output, linear."""
    hidden = torch.addmm(tensors["bias0"], inputs, tensors["weight0"])
    hidden = F.layer_norm(hidden, hidden.shape[-1:], tensors["scale"], tensors["offset"]).tanh()
    last = len(tensors) // 2 - 2
    for layer in range(1, last):
        hidden = F.elu(torch.addmm(tensors[f"bias{layer}"], hidden, tensors[f"weight{layer}"]), inplace=True)
    return torch.addmm(tensors[f"bias{last}"], hidden, tensors[f"weight{last}"])


def actor(tensors: Mapping[str, Tensor], observation: Tensor) -> Tensor:
    """Actions in [-1, 1]."""
    return network(tensors, observation).tanh()


def critic(tensors: Mapping[str, Tensor], observation: Tensor, action: Tensor) -> Tensor:
    """Logits of the value's distribution over the support's atoms."""
    return network(tensors, torch.cat([observation, action], dim=-1))
