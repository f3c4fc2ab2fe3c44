"""The frame encoder of the appendix "Embedding": pixels to 32 numbers whose L2 distance is the learned metric."""

import copy
import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vision_pwil.system import checkpoint
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import parsing
from vision_pwil.system.settings import Settings, Whole, restore

SIZE = 84
"""Height and width of a frame, unless the mean frame has another (appendix "Embedding")."""
SMALLEST = 36
"""Least height and width that the convolutions can take."""
EMBEDDING = 32
_FORMAT = "vision_pwil.encoder.2"


@dataclass(frozen=True)
class Provenance(Settings):
    """Where an encoder's weights come from; travels in the metadata of its file."""

    render_fingerprint: str | None = None
    """Fingerprint of the render settings of the training frames; other frames give meaningless distances."""
    demonstrations: str | None = None
    """Which demonstrations it was trained and validated on (`Demonstrations.identity`)."""
    validation: tuple[Whole, ...] = ()
    """Indices of the episodes held out for validation; the training episodes are all the others."""
    tau_train: float | None = None
    """Kendall's tau over the training videos."""
    tau_validation: float | None = None
    """Kendall's tau over the validation videos."""
    updates: Whole = 0
    """Gradient updates behind these weights."""
    settings: Mapping[str, Any] | None = None
    """The training settings, as plain values."""


class Encoder(nn.Module):
    """conv 128x8x8/4, conv 64x4x4/2, conv 64x3x3/1, linear 128, linear 32, ReLU between (appendix "Embedding").

    The input normalisation is part of the network: frames minus `mean` (the mean training frame), over `scale`.
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, mean: np.ndarray | None = None, scale: float = 40.0) -> None:
        super().__init__()
        frame = np.full((SIZE, SIZE, 3), 127.5) if mean is None else mean
        self.frame_shape = tuple(frame.shape)
        self.register_buffer("mean", torch.as_tensor(frame, dtype=torch.float32).permute(2, 0, 1).contiguous())
        self.register_buffer("scale", torch.tensor(float(scale)))
        network = nn.Sequential(
            nn.Conv2d(3, 128, 8, stride=4),
            nn.ReLU(),
            nn.Conv2d(128, 64, 4, stride=2),
            nn.ReLU(),
            nn.Conv2d(64, 64, 3),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(64 * _patches(frame.shape[0]) * _patches(frame.shape[1]), 128),
            nn.ReLU(),
            nn.Linear(128, EMBEDDING),
        )
        self.network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.provenance = Provenance()

    def normalise(self, frames: Tensor, brightness: Tensor | float = 1.0) -> Tensor:
        """Frames (n,height,width,3) of values 0 to 255 as the network's input, channels-last in memory."""
        pixels = frames.permute(0, 3, 1, 2).to(torch.float32, memory_format=torch.channels_last)
        return pixels.mul(brightness / self.scale).sub_(self.mean / self.scale)

    def forward(self, frames: Tensor) -> Tensor:
        """Embeddings (n,32) of frames (n,height,width,3), uint8 or float in 0 to 255."""
        return self.network(self.normalise(frames))

    @torch.no_grad()
    def embed(self, frames: np.ndarray, batch_size: int = 64) -> np.ndarray:
        """Embeddings (n,32), float32, of uint8 frames (n,height,width,3)."""
        if frames.ndim != 4 or frames.shape[1:] != self.frame_shape or frames.dtype != np.uint8:
            size = ", ".join(map(str, self.frame_shape))
            raise InputError(
                f"The encoder needs uint8 frames of shape (n, {size}), not {frames.dtype} of shape {frames.shape};"
                " resize or convert them first."
            )
        parts = (frames[i : i + batch_size] for i in range(0, len(frames), batch_size))
        batches = [self(torch.tensor(part, device=self.mean.device)) for part in parts]
        return torch.cat(batches).cpu().numpy() if batches else np.empty((0, EMBEDDING), np.float32)

    def rescaled(self, factor: float) -> "Encoder":
        """The same encoder with every distance multiplied by `factor`: the last layer takes it up."""
        encoder = copy.deepcopy(self)
        last = encoder.network[-1]
        assert isinstance(last, nn.Linear)
        with torch.no_grad():
            last.weight.mul_(factor)
            last.bias.mul_(factor)
        return encoder

    @property
    def checksum(self) -> str:
        """SHA-256 of the weights and the input normalisation."""
        digest = hashlib.sha256()
        for name, tensor in sorted(self.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.contiguous().numpy().tobytes())
        return digest.hexdigest()

    def __reduce__(self) -> tuple[Any, ...]:
        """Sent to another process as plain arrays."""
        return _rebuild, ({name: tensor.numpy() for name, tensor in self.state_dict().items()}, self.provenance)

    def save(self, path: str | Path) -> None:
        """Write weights, normalisation and provenance to one safetensors file."""
        checkpoint.save(path, self.state_dict(), {"format": _FORMAT, "provenance": asdict(self.provenance)})

    @classmethod
    def load(cls, path: str | Path) -> "Encoder":
        """Read an encoder file back, exactly."""
        tensors, values = checkpoint.load(path, "encoder file")
        if values.get("format") != _FORMAT:
            raise InputError(
                f"{path} is not an encoder file of this package; make one with `vision-pwil encoder train`."
            )
        try:
            encoder = cls(tensors["mean"].permute(1, 2, 0).numpy())
            encoder.load_state_dict(tensors)
            if any(tensor.dtype != torch.float32 for tensor in tensors.values()):
                raise TypeError
        except (RuntimeError, KeyError, IndexError, TypeError):
            raise InputError(f"The weights in {path} do not fit the encoder's network; train it anew.") from None
        with parsing(path, "encoder file"):
            encoder.provenance = restore(Provenance, values["provenance"])
        return encoder.eval()


def _patches(pixels: int) -> int:
    """Height or width of what the three convolutions leave of a frame."""
    if pixels < SMALLEST:
        raise InputError(f"Frames must be at least {SMALLEST} pixels high and wide, not {pixels}.")
    return (((pixels - 8) // 4 + 1) - 4) // 2 + 1 - 2


def _rebuild(arrays: Mapping[str, np.ndarray], provenance: Provenance) -> Encoder:
    encoder = Encoder(arrays["mean"].transpose(1, 2, 0))
    encoder.load_state_dict({name: torch.tensor(array) for name, array in arrays.items()})
    encoder.provenance = provenance
    return encoder.eval()
