"""What follows the matrix product of a hidden layer: forward and backward.

An activation turns what a layer's product gave into the layer's output, and keeps what its backward pass needs. The
backward passes are written out and tested against autograd.
"""

from collections.abc import Mapping
from typing import Protocol

import torch
from torch import Tensor

Tensors = Mapping[str, Tensor]
Kept = tuple[Tensor, ...]
EPSILON = 1e-5
"""Added to the variance in layer normalisation, as torch.nn.LayerNorm does."""


class Activation(Protocol):
    """An activation function of hidden layers."""

    def forward(self, raw: Tensor, parameters: Tensors) -> tuple[Tensor, Kept]:
        """The layer's output, and what `backward` needs; `raw` is used up."""

    def backward(self, gradient: Tensor, kept: Kept, parameters: Tensors, into: Tensors | None) -> Tensor:
        """The gradient by `raw`, from that by the output, which is used up; those by own parameters go `into`."""


class Relu:
    """max(x, 0)."""

    def forward(self, raw: Tensor, parameters: Tensors) -> tuple[Tensor, Kept]:
        """In place."""
        output = raw.relu_()
        return output, (output,)

    def backward(self, gradient: Tensor, kept: Kept, parameters: Tensors, into: Tensors | None) -> Tensor:
        """The gradient where the output is positive."""
        return torch.ops.aten.threshold_backward.grad_input(gradient, kept[0], 0, grad_input=gradient)


class NormalizedRelu(Relu):
    """Layer normalisation without learned scale (the next layer has one), then ReLU."""

    def forward(self, raw: Tensor, parameters: Tensors) -> tuple[Tensor, Kept]:
        """Keeps what was normalised, its mean and inverse deviation."""
        output, mean, inverse = torch.native_layer_norm(raw, raw.shape[-1:], None, None, EPSILON)
        return output.relu_(), (output, raw, mean, inverse)

    def backward(self, gradient: Tensor, kept: Kept, parameters: Tensors, into: Tensors | None) -> Tensor:
        """Through the ReLU, then the normalisation."""
        _, raw, mean, inverse = kept
        gradient = super().backward(gradient, kept, parameters, into)
        return torch.ops.aten.native_layer_norm_backward(
            gradient, raw, raw.shape[-1:], mean, inverse, None, None, [True, False, False]
        )[0]


class Elu:
    """x where it is positive, else exp(x) - 1."""

    def forward(self, raw: Tensor, parameters: Tensors) -> tuple[Tensor, Kept]:
        """max(x, exp(min(x, 0)) - 1) takes half the time of torch's own and differs by float32's rounding."""
        output = raw.clamp(max=0.0).exp_().sub_(1.0).clamp_(min=raw)
        return output, (output,)

    def backward(self, gradient: Tensor, kept: Kept, parameters: Tensors, into: Tensors | None) -> Tensor:
        """The derivative, from the output, is 1 or output + 1."""
        return torch.ops.aten.elu_backward.grad_input(gradient, 1.0, 1.0, 1.0, True, kept[0], grad_input=gradient)


class NormalizedTanh:
    """Layer normalisation with the learned parameters "scale" and "offset", then tanh."""

    def forward(self, raw: Tensor, parameters: Tensors) -> tuple[Tensor, Kept]:
        """tanh(x) = 2 sigmoid(2x) - 1 takes half the time of torch's own and differs by float32's rounding."""
        doubled = (2.0 * parameters["scale"], 2.0 * parameters["offset"])
        output, mean, inverse = torch.native_layer_norm(raw, raw.shape[-1:], *doubled, EPSILON)
        return output.sigmoid_().mul_(2.0).sub_(1.0), (output, raw, mean, inverse)

    def backward(self, gradient: Tensor, kept: Kept, parameters: Tensors, into: Tensors | None) -> Tensor:
        """Through the tanh, then the normalisation."""
        output, raw, mean, inverse = kept
        torch.ops.aten.tanh_backward.grad_input(gradient, output, grad_input=gradient)
        wanted, affine = [True, into is not None, into is not None], (parameters["scale"], parameters["offset"])
        gradient, *by_affine = torch.ops.aten.native_layer_norm_backward(
            gradient, raw, raw.shape[-1:], mean, inverse, *affine, wanted
        )
        if into is not None:
            into["scale"].copy_(by_affine[0])
            into["offset"].copy_(by_affine[1])
        return gradient
