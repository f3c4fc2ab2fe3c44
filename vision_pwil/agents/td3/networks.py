"""TD3's actor and critics, on SAC's perceptrons with their written-out backward pass; and one for autograd."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from vision_pwil.sac.networks import Layer, Tensors, forward


def perceptron(
    tensors: Mapping[str, Tensor], inputs: Tensor, activation: Callable[[Tensor], Tensor] = torch.relu_
) -> Tensor:
    """The last layer's output, linear, with autograd (DAC's discriminator)."""
    hidden, last = inputs, len(tensors) // 2 - 1
    for layer in range(last):
        hidden = activation(torch.addmm(tensors[f"bias{layer}"], hidden, tensors[f"weight{layer}"]))
    return torch.addmm(tensors[f"bias{last}"], hidden, tensors[f"weight{last}"])


def actor(tensors: Tensors, observation: Tensor) -> tuple[Tensor, list[Layer]]:
    """Actions in [-1, 1], and the layers for the backward pass."""
    output, layers = forward(tensors, observation)
    return output.tanh(), layers


def critics(tensors: Tensors, observation: Tensor, action: Tensor) -> tuple[Tensor, list[Layer]]:
    """Both critics' values, (2, batch), and the layers for the backward pass."""
    values, layers = forward(tensors, torch.cat([observation, action], dim=-1).expand(2, -1, -1))
    return values.squeeze(-1), layers


def first(critics: Tensors) -> dict[str, Tensor]:
    """The first of the twin critics."""
    return {name: tensor[0] for name, tensor in critics.items()}
