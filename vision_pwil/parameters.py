"""Network parameters as views of one flat vector: Adam, Polyak averaging and saving are each one operation."""

import math
from collections.abc import Mapping, Sequence

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
        generator: source of the initial values.
    """

    def __init__(self, shapes: Shapes, learning_rate: float, generator: torch.Generator) -> None:
        self.shapes = shapes
        self.flat = torch.nn.Parameter(torch.zeros(sum(math.prod(shape) for shape in shapes.values())))
        # Views of the same memory, each a leaf: what Adam writes to the vector, the tensors show.
        self.tensors = {name: view.requires_grad_() for name, view in views(self.flat.detach(), shapes).items()}
        bound = 0.0
        with torch.no_grad():
            for name, tensor in self.tensors.items():
                bound = tensor.shape[-2] ** -0.5 if name.startswith("weight") else bound
                tensor.uniform_(-bound, bound, generator=generator)
        self.optimizer = torch.optim.Adam([self.flat], lr=learning_rate, fused=True)
        self.flat.grad = torch.zeros_like(self.flat)
        self.gradients = views(self.flat.grad, shapes)
        """Where a gradient that was computed by hand is written, for `step`."""

    def __getitem__(self, name: str) -> Tensor:
        return self.tensors[name]

    def frozen(self) -> dict[str, Tensor]:
        """The same tensors as constants: a loss that passes through them spends nothing on their gradients."""
        return {name: tensor.detach() for name, tensor in self.tensors.items()}

    def descend(self, loss: Tensor, max_norm: float | None = None) -> None:
        """One Adam step on `loss`, its gradient scaled down to `max_norm` where it is longer."""
        gradients = torch.autograd.grad(loss, list(self.tensors.values()))
        assert self.flat.grad is not None
        torch.cat([gradient.reshape(-1) for gradient in gradients], out=self.flat.grad)
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(self.flat, max_norm)
        self.step()

    def step(self) -> None:
        """One Adam step on what `gradients` hold."""
        self.optimizer.step()

    def state_dict(self) -> dict[str, Tensor]:
        """Values and the optimiser's moments."""
        moments = self.optimizer.state.get(self.flat, {})
        return {"values": self.flat.detach(), **{f"adam.{name}": value for name, value in moments.items()}}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Return to saved values and moments."""
        with torch.no_grad():
            self.flat.copy_(state["values"])
        moments = {name.removeprefix("adam."): value.clone() for name, value in state.items() if name != "values"}
        self.optimizer.state.clear()
        if moments:
            self.optimizer.state[self.flat] = moments


class Average:
    """A copy of parameters that follows them slowly (Polyak averaging)."""

    def __init__(self, parameters: Parameters) -> None:
        self.flat = parameters.flat.detach().clone()
        self.tensors = views(self.flat, parameters.shapes)

    def follow(self, parameters: Parameters, rate: float) -> None:
        """Move the fraction `rate` of the way."""
        self.flat.lerp_(parameters.flat.detach(), rate)

    def state_dict(self) -> dict[str, Tensor]:
        """The average."""
        return {"values": self.flat}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Return to a saved average."""
        self.flat.copy_(state["values"])
