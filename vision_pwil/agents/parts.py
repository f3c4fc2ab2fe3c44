"""The state of an agent as one mapping of named tensors, gathered from its parts and given back to them."""

from collections.abc import Mapping
from typing import Protocol

import torch
from torch import Tensor


class Part(Protocol):
    """What has a state: parameters, their averages, statistics, a counter, a source of noise."""

    def state_dict(self) -> dict[str, Tensor]:
        """Named tensors."""

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Return to a saved state."""


class Counter:
    """A number of updates, which schedules depend on."""

    value = 0

    def state_dict(self) -> dict[str, Tensor]:
        """The number."""
        return {"value": torch.tensor(self.value, device="cpu")}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Return to a saved number."""
        self.value = int(state["value"])


class Noise:
    """A random generator of torch, for numbers on a device."""

    def __init__(self, seed: int, device: torch.device | str = "cpu") -> None:
        self.generator = torch.Generator(device).manual_seed(seed)

    def state_dict(self) -> dict[str, Tensor]:
        """The generator's state."""
        return {"state": self.generator.get_state()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Return to a saved state."""
        self.generator.set_state(state["state"])


def gather(parts: Mapping[str, Part]) -> dict[str, Tensor]:
    """All parts' tensors, named "part.name"."""
    return {f"{part}.{name}": value for part, owner in parts.items() for name, value in owner.state_dict().items()}


def restore(parts: Mapping[str, Part], state: Mapping[str, Tensor]) -> None:
    """Give every part its own again."""
    for part, owner in parts.items():
        prefix = f"{part}."
        owner.load_state_dict({k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)})
