"""The paper's networks (appendix A): a first layer with layer normalisation and tanh, then ELU layers."""

from collections.abc import Sequence

import torch
from torch import nn

from vision_pwil.agents import perceptron
from vision_pwil.agents.activations import Elu, NormalizedTanh
from vision_pwil.agents.parameters import Parameters
from vision_pwil.agents.perceptron import Activations

HIDDEN: Activations = (NormalizedTanh(), Elu())
"""Activations of the hidden layers."""


def parameters(
    sizes: Sequence[int], learning_rate: float, generator: torch.Generator, *, normal_head: bool = False
) -> Parameters:
    """A network's parameters: those of a multilayer perceptron, and scale and offset of the normalisation.

    They begin as in the authors' code, which takes them from Acme and Sonnet: biases 0, weights uniform in
    +-1/sqrt(outputs). So the first layer starts small and learns fast at the paper's learning rates, and the actor's
    first actions are far from 0. With `normal_head`, the last weights are normal, of deviation 1/sqrt(inputs), cut at
    two deviations (the critic's).
    """
    shapes = {**perceptron.shapes(sizes), "scale": (sizes[1],), "offset": (sizes[1],)}
    result = Parameters(shapes, learning_rate, generator)
    with torch.no_grad():
        for name, tensor in result.tensors.items():
            if name.startswith("weight"):
                bound = tensor.shape[1] ** -0.5
                tensor.uniform_(-bound, bound, generator=generator)
            else:
                tensor.fill_(name == "scale")
        if normal_head:
            head = result[f"weight{len(sizes) - 2}"]
            deviation = sizes[-2] ** -0.5
            nn.init.trunc_normal_(head, 0.0, deviation, -2.0 * deviation, 2.0 * deviation, generator)
    return result
