"""The multilayer perceptron of every agent: forward, backward, and in numpy for acting, as functions.

Parameters are mappings of names to tensors. Twin critics are one network whose tensors have a leading dimension of 2,
so that every layer of both is a single batched matrix product. The backward pass is written out (and tested against
autograd): a perceptron is small enough that autograd's own work costs a tenth of an update, and gradients can be
written where Adam reads them.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from vision_pwil.agents.activations import Activation, Kept, Relu, Tensors
from vision_pwil.agents.protocol import Policy

Activations = Sequence[Activation]
"""Of the hidden layers in turn; the last one is that of all further layers too."""
RELU: Activations = (Relu(),)


class Layer(NamedTuple):
    """What the backward pass needs of a layer."""

    inputs: Tensor
    kept: Kept = ()
    """By its activation."""

    def first(self, rows: int) -> "Layer":
        """The same for the first rows of a batch."""
        return Layer(self.inputs[:rows], tuple(tensor[:rows] for tensor in self.kept))


def shapes(sizes: Sequence[int], copies: int = 0) -> dict[str, tuple[int, ...]]:
    """Tensor shapes of a multilayer perceptron; with `copies`, of that many of them side by side."""
    result: dict[str, tuple[int, ...]] = {}
    for layer, (inputs, outputs) in enumerate(pairwise(sizes)):
        result[f"weight{layer}"] = (copies, inputs, outputs) if copies else (inputs, outputs)
        result[f"bias{layer}"] = (copies, 1, outputs) if copies else (outputs,)
    return result


def _product(left: Tensor, right: Tensor, out: Tensor | None = None) -> Tensor:
    """Matrix product of one pair or several. Those of a critic's single output, a row or a column, are sums and outer
    products: as such they take a seventh of what the matrix routines spend on them."""
    if left.shape[-1] == 1:
        return torch.mul(left, right, out=out)
    if right.shape[-1] == 1:
        return torch.sum(left * right.mT, dim=-1, keepdim=True, out=out)
    return torch.matmul(left, right, out=out)


def _affine(parameters: Tensors, number: int, inputs: Tensor) -> Tensor:
    """What layer `number` makes of its inputs, before any activation."""
    bias, weight = parameters[f"bias{number}"], parameters[f"weight{number}"]
    if weight.shape[-1] == 1:
        return _product(inputs, weight).add_(bias)
    return torch.addmm(bias, inputs, weight) if weight.ndim == 2 else torch.baddbmm(bias, inputs, weight)


def forward(parameters: Tensors, inputs: Tensor, hidden: Activations = RELU) -> tuple[Tensor, list[Layer]]:
    """The last layer's output, linear, and the layers for `backward`."""
    layers: list[Layer] = []
    while f"weight{len(layers) + 1}" in parameters:
        activation = hidden[min(len(layers), len(hidden) - 1)]
        output, kept = activation.forward(_affine(parameters, len(layers), inputs), parameters)
        layers.append(Layer(inputs, kept))
        inputs = output
    return _affine(parameters, len(layers), inputs), [*layers, Layer(inputs)]


def backward(
    parameters: Tensors,
    layers: list[Layer],
    gradient: Tensor,
    into: Tensors | None = None,
    hidden: Activations = RELU,
) -> Tensor:
    """From the gradient of a loss by the output, write those by the parameters `into` tensors of their shapes.

    Without `into`, go on to the inputs: a loss that only passes through spends nothing on weights. Returns the gradient
    that it ended with.
    """
    for number, layer in reversed(list(enumerate(layers))):
        if number < len(layers) - 1:
            activation = hidden[min(number, len(hidden) - 1)]
            gradient = activation.backward(gradient, layer.kept, parameters, into)
        if into is not None:
            _product(layer.inputs.mT, gradient, out=into[f"weight{number}"])
            torch.sum(gradient, dim=-2, keepdim=gradient.ndim == 3, out=into[f"bias{number}"])
            if number == 0:
                break
        gradient = _product(gradient, parameters[f"weight{number}"].mT)
    return gradient


def twin_values(
    critics: Tensors, observation: Tensor, action: Tensor, hidden: Activations = RELU
) -> tuple[Tensor, list[Layer]]:
    """Both critics' values of pairs, (2, batch), and the layers for `backward`."""
    values, layers = forward(critics, torch.cat([observation, action], dim=-1).expand(2, -1, -1), hidden)
    return values.squeeze(-1), layers


def differentiable(parameters: Tensors, inputs: Tensor, activation: Callable[[Tensor], Tensor]) -> Tensor:
    """The same network for autograd, for losses that need derivatives of derivatives."""
    number = 0
    while f"weight{number + 1}" in parameters:
        inputs = activation(torch.addmm(parameters[f"bias{number}"], inputs, parameters[f"weight{number}"]))
        number += 1
    return torch.addmm(parameters[f"bias{number}"], inputs, parameters[f"weight{number}"])


def relu(raw: np.ndarray) -> np.ndarray:
    """max(x, 0), in place."""
    return np.maximum(raw, 0.0, out=raw)


def output(
    policy: Policy, inputs: np.ndarray, hidden: Sequence[Callable[[np.ndarray], np.ndarray]] = (relu,)
) -> np.ndarray:
    """The last layer's output for one observation, in numpy: through 256-256 it takes a few ten microseconds."""
    number = 0
    while f"weight{number + 1}" in policy:
        activation = hidden[min(number, len(hidden) - 1)]
        inputs = activation(inputs @ policy[f"weight{number}"] + policy[f"bias{number}"])
        number += 1
    return inputs @ policy[f"weight{number}"] + policy[f"bias{number}"]
