"""Network parameters as views of one flat vector: Adam, Polyak averaging and saving are each one operation."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

Shapes = Mapping[str, Sequence[int]]


def views(flat: Tensor, shapes: Shapes) -> dict[str, Tensor]:
    """Named tensors of these shapes that lie one behind the other in a flat vector."""
    parts = flat.split([math.prod(shape) for shape in shapes.values()])
    return {name: part.view(tuple(shape)) for (name, shape), part in zip(shapes.items(), parts, strict=True)}


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
        # Views of the same memory, each a leaf: what Adam writes to the vector, the tensors show.
        self.tensors = {name: view.requires_grad_() for name, view in views(self.flat, shapes).items()}
        bound = 0.0
        with torch.no_grad():
            for name, tensor in self.tensors.items():
                bound = tensor.shape[-2] ** -0.5 if name.startswith("weight") else bound
                tensor.uniform_(-bound, bound, generator=generator)
        self.learning_rate = learning_rate
        self._steps = torch.zeros((), device=generator.device)
        self._moments = torch.zeros_like(self.flat), torch.zeros_like(self.flat)
        self._gradient = torch.zeros_like(self.flat)
        self.gradients = views(self._gradient, shapes)
        """Where a gradient that was computed by hand is written, for `step`."""

    def __getitem__(self, name: str) -> Tensor:
        return self.tensors[name]

    @property
    def steps(self) -> int:
        """Adam steps so far."""
        return int(self._steps)

    def arrays(self) -> dict[str, np.ndarray]:
        """Copies of the tensors, for a policy snapshot."""
        return {name: tensor.detach().cpu().numpy().copy() for name, tensor in self.tensors.items()}

    def descend(self, loss: Tensor, max_norm: float | None = None) -> None:
        """One Adam step on `loss`, its gradient scaled down to `max_norm` where it is longer."""
        gradients = torch.autograd.grad(loss, list(self.tensors.values()))
        torch.cat([gradient.reshape(-1) for gradient in gradients], out=self._gradient)
        self.step(max_norm)

    def step(self, max_norm: float | None = None) -> None:
        """One Adam step on what `gradients` hold, scaled down to `max_norm` where it is longer.

        The kernel of torch.optim.Adam(fused=True), called without its bookkeeping, which takes longer than the kernel.
        """
        if max_norm is not None:
            norm = torch.linalg.vector_norm(self._gradient)
            self._gradient.mul_((max_norm / (norm + 1e-6)).clamp_(max=1.0))
        mean, square = self._moments
        self._steps += 1
        torch._fused_adam_(
            [self.flat],
            [self._gradient],
            [mean],
            [square],
            [],
            [self._steps],
            lr=self.learning_rate,
            beta1=0.9,
            beta2=0.999,
            weight_decay=0.0,
            eps=1e-8,
            amsgrad=False,
            maximize=False,
        )

    def state_dict(self) -> dict[str, Tensor]:
        """Values and Adam's moments."""
        mean, square = self._moments
        return {"values": self.flat, "adam.step": self._steps, "adam.exp_avg": mean, "adam.exp_avg_sq": square}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Return to saved values and moments."""
        for name, tensor in self.state_dict().items():
            tensor.copy_(state[name])


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
