"""Perceptrons as functions, for autograd: the deterministic actor, the twin critics, DAC's discriminator."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor


def perceptron(
    tensors: Mapping[str, Tensor], inputs: Tensor, activation: Callable[[Tensor], Tensor] = torch.relu_
) -> Tensor:
    """The last layer's output, linear; of several perceptrons side by side, all of theirs."""
    affine = torch.baddbmm if tensors["weight0"].ndim == 3 else torch.addmm
    hidden, last = inputs, len(tensors) // 2 - 1
    for layer in range(last):
        hidden = activation(affine(tensors[f"bias{layer}"], hidden, tensors[f"weight{layer}"]))
    return affine(tensors[f"bias{last}"], hidden, tensors[f"weight{last}"])


def actor(tensors: Mapping[str, Tensor], observation: Tensor) -> Tensor:
    """Actions in [-1, 1]."""
    return perceptron(tensors, observation).tanh()


def critics(tensors: Mapping[str, Tensor], observation: Tensor, action: Tensor) -> Tensor:
    """Both critics' values, (2, batch)."""
    return perceptron(tensors, torch.cat([observation, action], dim=-1).expand(2, -1, -1)).squeeze(-1)


def first_critic(tensors: Mapping[str, Tensor], observation: Tensor, action: Tensor) -> Tensor:
    """Values of the first of the twin critics, (batch,)."""
    first = {name: tensor[0] for name, tensor in tensors.items()}
    return perceptron(first, torch.cat([observation, action], dim=-1)).squeeze(-1)
