"""The multilayer perceptron of every agent: forward and backward, and in numpy for acting.

The backward pass is written out and tested against autograd: gradients are written where Adam reads them, and a loss
that only passes through a network spends nothing on its weights. On the CPU each pass is one compiled call
(`compiled`); elsewhere it is the same in torch.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from vision_pwil.agents import compiled
from vision_pwil.agents.activations import Activation, Relu, Tensors
from vision_pwil.agents.protocol import Policy

Activations = Sequence[Activation]
"""Of the hidden layers in turn; the last one is that of all further layers too."""
RELU: Activations = (Relu(),)


class Trace(NamedTuple):
    """What the backward pass needs of a forward pass: tensors, or arrays of a compiled one."""

    inputs: Any
    kept: tuple[tuple[Any, ...], ...]
    """Of each hidden layer, its output first."""

    def at(self, rows: Any) -> "Trace":
        """The same for some rows of the batch."""
        chosen = rows.numpy() if isinstance(rows, Tensor) and isinstance(self.inputs, np.ndarray) else rows
        return Trace(self.inputs[chosen], tuple(tuple(part[chosen] for part in layer) for layer in self.kept))


class Perceptron:
    """One network on tensors that others own, change and save (`vision_pwil.agents.parameters`).

    Args:
        tensors: "weight0" (inputs, outputs), "bias0" and so on, and what the activations have of their own.
        hidden: the activations.
        gradients: where `backward` writes, tensors of the same names and shapes.
    """

    def __init__(self, tensors: Tensors, hidden: Activations = RELU, gradients: Tensors | None = None) -> None:
        self.tensors, self.gradients = tensors, gradients
        self.layers = sum(name.startswith("weight") for name in tensors)
        self.hidden = [hidden[min(number, len(hidden) - 1)] for number in range(self.layers - 1)]
        self.compiled = tensors["weight0"].is_cpu
        if self.compiled:
            codes = tuple(activation.code for activation in self.hidden)
            self.arrays = (*self._arrays(tensors), codes)
            """Weights, biases, scale and offset on the same memory, codes of the activations."""
            self.gradient_arrays: tuple[Any, ...] = () if gradients is None else self._arrays(gradients)

    def _arrays(self, tensors: Tensors) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...], tuple[Any, Any]]:
        """Weights, biases, scale and offset, on the same memory."""
        weights = tuple(tensors[f"weight{number}"].numpy() for number in range(self.layers))
        biases = tuple(tensors[f"bias{number}"].numpy().reshape(-1) for number in range(self.layers))
        nothing = np.zeros(0, np.float32)
        affine = [tensors[name].numpy() if name in tensors else nothing for name in ("scale", "offset")]
        return weights, biases, (affine[0], affine[1])

    def forward(self, inputs: Tensor) -> tuple[Tensor, Trace]:
        """The last layer's output, linear, (batch, outputs), and what `backward` needs."""
        if self.compiled:
            array = inputs.contiguous().numpy()
            output, kept = compiled.forward(*self.arrays, array)
            return torch.from_numpy(output), Trace(array, tuple(kept))
        layers = []
        hidden = inputs
        for number, activation in enumerate(self.hidden):
            raw = torch.addmm(self.tensors[f"bias{number}"], hidden, self.tensors[f"weight{number}"])
            layers.append(activation.forward(raw, self.tensors))
            hidden = layers[-1][0]
        last = self.layers - 1
        output = torch.addmm(self.tensors[f"bias{last}"], hidden, self.tensors[f"weight{last}"])
        return output, Trace(inputs, tuple(layers))

    def backward(self, trace: Trace, gradient: Tensor) -> None:
        """From the gradient of a loss by the output, write those by the parameters into `gradients`."""
        assert self.gradients is not None
        if self.compiled:
            weights, _, affine, codes = self.arrays
            arrays = (trace.inputs, trace.kept, gradient.contiguous().numpy())
            compiled.backward(weights, affine, codes, *arrays, *self.gradient_arrays)
            return
        for number in range(self.layers - 1, -1, -1):
            inputs = trace.kept[number - 1][0] if number else trace.inputs
            torch.mm(inputs.T, gradient, out=self.gradients[f"weight{number}"])
            torch.sum(gradient, dim=0, out=self.gradients[f"bias{number}"])
            if number:
                gradient = torch.mm(gradient, self.tensors[f"weight{number}"].T)
                kept = trace.kept[number - 1]
                gradient = self.hidden[number - 1].backward(gradient, kept, self.tensors, self.gradients)

    def to_inputs(self, trace: Trace, gradient: Tensor, first: int = 0) -> Tensor:
        """From the gradient of a loss by the output to that by the inputs from number `first` on."""
        if self.compiled:
            weights, _, affine, codes = self.arrays
            return torch.from_numpy(compiled.to_inputs(weights, affine, codes, trace.kept, gradient.numpy(), first))
        for number in range(self.layers - 1, 0, -1):
            gradient = torch.mm(gradient, self.tensors[f"weight{number}"].T)
            gradient = self.hidden[number - 1].backward(gradient, trace.kept[number - 1], self.tensors, None)
        return torch.mm(gradient, self.tensors["weight0"][first:].T)


def shapes(sizes: Sequence[int], copies: int = 0) -> dict[str, tuple[int, ...]]:
    """Tensor shapes of a multilayer perceptron; with `copies`, of that many of them side by side."""
    result: dict[str, tuple[int, ...]] = {}
    for layer, (inputs, outputs) in enumerate(pairwise(sizes)):
        result[f"weight{layer}"] = (copies, inputs, outputs) if copies else (inputs, outputs)
        result[f"bias{layer}"] = (copies, 1, outputs) if copies else (outputs,)
    return result


def twins(tensors: Tensors, hidden: Activations = RELU, gradients: Tensors | None = None) -> list[Perceptron]:
    """Two networks whose tensors lie side by side."""

    def one(both: Tensors, number: int) -> Tensors:
        parts = {name: tensor[number] for name, tensor in both.items()}
        return {name: part.view(-1) if name.startswith("bias") else part for name, part in parts.items()}

    return [
        Perceptron(one(tensors, number), hidden, None if gradients is None else one(gradients, number))
        for number in range(2)
    ]


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
