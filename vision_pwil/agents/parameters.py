"""Network parameters as views of one flat vector: Adam, Polyak averaging and saving are each one operation."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vision_pwil.agents import kernels

Shapes = Mapping[str, Sequence[int]]


def views(flat: Tensor, shapes: Shapes) -> dict[str, Tensor]:
    """Named tensors of these shapes that lie one behind the other in a flat vector."""
    parts = flat.split([math.prod(shape) for shape in shapes.values()])
    return {name: part.view(tuple(shape)) for (name, shape), part in zip(shapes.items(), parts, strict=True)}


def adam(values: Tensor, gradient: Tensor, mean: Tensor, square: Tensor, step_size: float, correction: float) -> None:
    """The kernel of the same name in torch, for other devices than the CPU."""
    mean.lerp_(gradient, 0.1)
    square.lerp_(gradient.square(), 0.001)
    values.addcdiv_(mean, square.sqrt().mul_(correction).add_(1e-8), value=-step_size)


class Parameters:
    """Named tensors that share one flat vector, learned with Adam.

    Args:
        shapes: name and shape of each tensor. Names that start with "weight" hold (..., inputs, outputs) and are
            followed by their "bias"; both start uniform in +-1/sqrt(inputs), as torch.nn.Linear does. Others are 0.
        learning_rate: of Adam.
        generator: source of the initial values; it decides the device.
    """

    def __init__(self, shapes: Shapes, learning_rate: float, generator: torch.Generator) -> None:
        self.shapes = shapes
        size = sum(math.prod(shape) for shape in shapes.values())
        self.flat = torch.zeros(size, device=generator.device)
        self.tensors = views(self.flat, shapes)
        bound = 0.0
        for name, tensor in self.tensors.items():
            bound = tensor.shape[-2] ** -0.5 if name.startswith("weight") else bound
            tensor.uniform_(-bound, bound, generator=generator)
        self.learning_rate = learning_rate
        self.steps = 0
        """Adam steps so far."""
        self._moments = torch.zeros_like(self.flat), torch.zeros_like(self.flat)
        self._gradient = torch.zeros_like(self.flat)
        if self.flat.is_cpu:
            self._arrays = [vector.numpy() for vector in (self.flat, self._gradient, *self._moments)]
        self.gradients = views(self._gradient, shapes)
        """Where a gradient that was computed by hand is written, for `step`."""

    def __getitem__(self, name: str) -> Tensor:
        return self.tensors[name]

    def arrays(self) -> dict[str, np.ndarray]:
        """Copies of the tensors, for a policy snapshot."""
        return {name: tensor.cpu().numpy().copy() for name, tensor in self.tensors.items()}

    def leaves(self) -> dict[str, Tensor]:
        """The same tensors for autograd: a loss of them can be given to `descend`."""
        return {name: tensor.detach().requires_grad_() for name, tensor in self.tensors.items()}

    def descend(self, loss: Tensor, leaves: Mapping[str, Tensor]) -> None:
        """One Adam step on a loss of `leaves`."""
        gradients = torch.autograd.grad(loss, list(leaves.values()))
        torch.cat([gradient.reshape(-1) for gradient in gradients], out=self._gradient)
        self.step()

    def _next_step(self) -> tuple[Tensor, Tensor, Tensor, Tensor, float, float]:
        """Count a step of Adam; values, gradient, moments and factors for it."""
        self.steps += 1
        factors = self.learning_rate / (1.0 - 0.9**self.steps), (1.0 - 0.999**self.steps) ** -0.5
        return self.flat, self._gradient, *self._moments, *factors

    def next_step(self) -> tuple[Any, ...]:
        """The same for the kernel `adam`."""
        *_, step_size, correction = self._next_step()
        return *self._arrays, np.float32(step_size), np.float32(correction)

    @torch.no_grad()
    def step(self, max_norm: float | None = None, average: "Average | None" = None, rate: float = 0.0) -> None:
        """One Adam step on what `gradients` hold, scaled down to `max_norm` where it is longer.

        An `average` follows at this rate, in the same pass over the memory.
        """
        if max_norm is not None:
            norm = torch.linalg.vector_norm(self._gradient)
            self._gradient.mul_((max_norm / (norm + 1e-6)).clamp_(max=1.0))
        if self.flat.is_cpu:
            if average is None:
                kernels.adam(*self.next_step())
            else:
                kernels.adam_and_follow(*self.next_step(), average.flat.numpy(), np.float32(rate))
            return
        adam(*self._next_step())
        if average is not None:
            average.follow(self, rate)

    def state_dict(self) -> dict[str, Tensor]:
        """Values and Adam's moments."""
        mean, square = self._moments
        steps = torch.tensor(self.steps, device="cpu")
        return {"values": self.flat, "adam.step": steps, "adam.exp_avg": mean, "adam.exp_avg_sq": square}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Return to saved values and moments."""
        for name, tensor in self.state_dict().items():
            tensor.copy_(state[name])
        self.steps = int(state["adam.step"])


class Average:
    """A copy of parameters that follows them slowly (Polyak averaging)."""

    def __init__(self, parameters: Parameters) -> None:
        self.flat = parameters.flat.clone()
        self.tensors = views(self.flat, parameters.shapes)

    def follow(self, parameters: Parameters, rate: float) -> None:
        """Move the fraction `rate` of the way."""
        self.flat.lerp_(parameters.flat, rate)

    def state_dict(self) -> dict[str, Tensor]:
        """The average."""
        return {"values": self.flat}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Return to a saved average."""
        self.flat.copy_(state["values"])
