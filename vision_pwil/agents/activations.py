"""What follows the matrix product of a hidden layer, forward and backward, in torch.

On the CPU the perceptron runs the compiled form of each, which it finds by its code (`compiled`).
"""

from collections.abc import Mapping
from typing import Protocol

import torch
from torch import Tensor

from vision_pwil.agents import compiled

Tensors = Mapping[str, Tensor]
Kept = tuple[Tensor, ...]
"""What the backward pass needs of a layer; its output comes first."""


class Activation(Protocol):
    """An activation function of hidden layers."""

    code: int
    """In `compiled`."""

    def forward(self, raw: Tensor, parameters: Tensors) -> Kept:
        """The layer's output, and what else `backward` needs."""

    def backward(self, gradient: Tensor, kept: Kept, parameters: Tensors, into: Tensors | None) -> Tensor:
        """The gradient by `raw`, from that by the output; those by parameters of its own are written `into`."""


class Relu:
    """max(x, 0)."""

    code = compiled.RELU

    def forward(self, raw: Tensor, parameters: Tensors) -> Kept:
        """Keeps the output alone."""
        return (raw.relu(),)

    def backward(self, gradient: Tensor, kept: Kept, parameters: Tensors, into: Tensors | None) -> Tensor:
        """The gradient where the output is positive."""
        return gradient * (kept[0] > 0.0)


class NormalizedRelu:
    """Layer normalisation without learned scale (the next layer has one), then ReLU."""

    code = compiled.NORMALIZED_RELU

    def forward(self, raw: Tensor, parameters: Tensors) -> Kept:
        """Keeps what was normalised, and the inverse of the deviations."""
        standard, inverse = standardize(raw)
        return standard.relu(), standard, inverse

    def backward(self, gradient: Tensor, kept: Kept, parameters: Tensors, into: Tensors | None) -> Tensor:
        """Through the ReLU, then the normalisation."""
        output, standard, inverse = kept
        return standardize_backward(gradient * (output > 0.0), standard, inverse)


class Elu:
    """x where it is positive, else exp(x) - 1."""

    code = compiled.ELU

    def forward(self, raw: Tensor, parameters: Tensors) -> Kept:
        """Keeps the output alone."""
        return (torch.nn.functional.elu(raw),)

    def backward(self, gradient: Tensor, kept: Kept, parameters: Tensors, into: Tensors | None) -> Tensor:
        """The derivative, from the output, is 1 or output + 1."""
        return gradient * (kept[0].clamp(max=0.0) + 1.0)


class NormalizedTanh:
    """Layer normalisation with the learned parameters "scale" and "offset", then tanh."""

    code = compiled.NORMALIZED_TANH

    def forward(self, raw: Tensor, parameters: Tensors) -> Kept:
        """Keeps what was normalised, and the inverse of the deviations."""
        standard, inverse = standardize(raw)
        return torch.addcmul(parameters["offset"], standard, parameters["scale"]).tanh(), standard, inverse

    def backward(self, gradient: Tensor, kept: Kept, parameters: Tensors, into: Tensors | None) -> Tensor:
        """Through the tanh, then the normalisation."""
        output, standard, inverse = kept
        gradient = gradient * (1.0 - output.square())
        if into is not None:
            torch.sum(gradient * standard, dim=0, out=into["scale"])
            torch.sum(gradient, dim=0, out=into["offset"])
        return standardize_backward(gradient * parameters["scale"], standard, inverse)


def standardize(raw: Tensor) -> tuple[Tensor, Tensor]:
    """Rows minus their mean, over their deviation; and the inverse of the deviations."""
    variance, mean = torch.var_mean(raw, dim=-1, correction=0)
    inverse = (variance + compiled.EPSILON).rsqrt()
    return (raw - mean[:, None]) * inverse[:, None], inverse


def standardize_backward(gradient: Tensor, standard: Tensor, inverse: Tensor) -> Tensor:
    """Gradient by the rows, from that by the standardised ones: (g - mean(g) - x mean(g x)) / deviation."""
    along = (gradient * standard).mean(-1, keepdim=True)
    return (gradient - gradient.mean(-1, keepdim=True) - standard * along) * inverse[:, None]
