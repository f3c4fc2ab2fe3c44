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


def forward(parameters: Tensors, inputs: Tensor, layer_norm: bool = False) -> tuple[Tensor, list[Layer]]:
    """The perceptron's output, and its layers for `backward`.

    With `layer_norm` each hidden layer is normalised before its ReLU, without learned scale (the next layer has one).
    """
    last, layers = len(parameters) // 2 - 1, []
    for number in range(last):
        outputs, statistics = _affine(parameters, number, inputs), None
        if layer_norm:
            raw = outputs
            outputs, *moments = torch.native_layer_norm(raw, raw.shape[-1:], None, None, 1e-5)
            statistics = (raw, moments[0], moments[1])
        layers.append(Layer(inputs, outputs.relu_(), statistics))
        inputs = outputs
    output = _affine(parameters, last, inputs)
    return output, [*layers, Layer(inputs, output)]


def backward(parameters: Tensors, layers: list[Layer], gradient: Tensor, into: Tensors | None = None) -> Tensor:
    """From the gradient of a loss by the output, write those by the parameters `into` tensors of their shapes.

    Without `into`, go on to the inputs: a loss that only passes through spends nothing on weights. Returns the gradient
    that it ended with.
    """
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
            _product(layer.inputs.mT, gradient, out=into[f"weight{number}"])
            torch.sum(gradient, dim=-2, keepdim=gradient.ndim == 3, out=into[f"bias{number}"])
            if number == 0:
                break
        gradient = _product(gradient, parameters[f"weight{number}"].mT)
    return gradient
