"""Deterministic actor and single critic as functions; the twin critics are SAC's."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor


def perceptron(
    tensors: Mapping[str, Tensor], inputs: Tensor, activation: Callable[[Tensor], Tensor] = torch.relu_
) -> Tensor:
    """The last layer's output, linear."""
    hidden, last = inputs, len(tensors) // 2 - 1
    for layer in range(last):
        hidden = activation(torch.addmm(tensors[f"bias{layer}"], hidden, tensors[f"weight{layer}"]))
    return torch.addmm(tensors[f"bias{last}"], hidden, tensors[f"weight{last}"])


def actor(tensors: Mapping[str, Tensor], observation: Tensor) -> Tensor:
    """Actions in [-1, 1]."""
    return perceptron(tensors, observation).tanh()


def first_critic(critics: Mapping[str, Tensor], observation: Tensor, action: Tensor) -> Tensor:
    """Values of the first of the twin critics, (batch,)."""
    tensors = {name: tensor[0] for name, tensor in critics.items()}
    return perceptron(tensors, torch.cat([observation, action], dim=-1)).squeeze(-1)
