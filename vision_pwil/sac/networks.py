"""The paper's networks (appendix "Agent"): perceptrons of 256-256 ReLU units, forward and backward, as functions.

Parameters are mappings of names to tensors. The twin critics are one network whose tensors have a leading dimension of
2, so that every layer of both is a single batched matrix product. The backward pass is written out (and tested against
autograd): a perceptron is small enough that autograd's own work costs a tenth of the update, and gradients can be
written where Adam reads them.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

Tensors = Mapping[str, Tensor]


class Layer(NamedTuple):
    """What the backward pass needs of a layer."""

    inputs: Tensor
    outputs: Tensor
    statistics: tuple[Tensor, Tensor, Tensor] | None = None
    """With layer normalisation: what was normalised, its mean and inverse deviation."""

    def first(self, rows: int) -> "Layer":
        """The same for the first rows of a batch, of a layer without normalisation."""
        return Layer(self.inputs[:rows], self.outputs[:rows])


def shapes(sizes: Sequence[int], copies: int = 0) -> dict[str, tuple[int, ...]]:
    """Tensor shapes of a multilayer perceptron; with `copies`, of that many of them side by side."""
    result: dict[str, tuple[int, ...]] = {}
    for layer, (inputs, outputs) in enumerate(pairwise(sizes)):
        result[f"weight{layer}"] = (copies, inputs, outputs) if copies else (inputs, outputs)
        result[f"bias{layer}"] = (copies, 1, outputs) if copies else (outputs,)
    return result


def forward(parameters: Tensors, inputs: Tensor, layer_norm: bool = False) -> tuple[Tensor, list[Layer]]:
    """The perceptron's output, and its layers for `backward`.

    With `layer_norm` each hidden layer is normalised before its ReLU, without learned scale (the next layer has one).
    """
    affine = torch.baddbmm if parameters["weight0"].ndim == 3 else torch.addmm
    last, layers = len(parameters) // 2 - 1, []
    for number in range(last):
        outputs, statistics = affine(parameters[f"bias{number}"], inputs, parameters[f"weight{number}"]), None
        if layer_norm:
            raw = outputs
            outputs, *moments = torch.native_layer_norm(raw, raw.shape[-1:], None, None, 1e-5)
            statistics = (raw, moments[0], moments[1])
        layers.append(Layer(inputs, outputs.relu_(), statistics))
        inputs = outputs
    output = affine(parameters[f"bias{last}"], inputs, parameters[f"weight{last}"])
    return output, [*layers, Layer(inputs, output)]


def backward(parameters: Tensors, layers: list[Layer], gradient: Tensor, into: Tensors | None = None) -> Tensor:
    """From the gradient of a loss by the output, write those by the parameters `into` tensors of their shapes.

    Without `into`, go on to the inputs: a loss that only passes through spends nothing on weights. Returns the gradient
    that it ended with.
    """
    product = torch.bmm if parameters["weight0"].ndim == 3 else torch.mm
    for number, layer in reversed(list(enumerate(layers))):
        if number < len(layers) - 1:  # hidden: through the ReLU, and the normalisation
            torch.ops.aten.threshold_backward.grad_input(gradient, layer.outputs, 0, grad_input=gradient)
            if layer.statistics is not None:
                raw, mean, inverse = layer.statistics
                shape, mask = raw.shape[-1:], [True, False, False]
                gradient = torch.ops.aten.native_layer_norm_backward(
                    gradient, raw, shape, mean, inverse, None, None, mask
                )[0]
        if into is not None:
            product(layer.inputs.mT, gradient, out=into[f"weight{number}"])
            torch.sum(gradient, dim=-2, keepdim=gradient.ndim == 3, out=into[f"bias{number}"])
            if number == 0:
                break
        gradient = product(gradient, parameters[f"weight{number}"].mT)
    return gradient
