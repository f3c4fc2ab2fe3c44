"""A checkpoint: named tensors and a few plain values in one safetensors file that is whole or not there."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from vision_pwil.system.errors import InputError
from vision_pwil.system.files import replacing


def save(path: Path, tensors: Mapping[str, torch.Tensor], values: Mapping[str, Any]) -> None:
    """Write tensors, and values that JSON can hold."""
    with replacing(path) as temporary:
        save_file(
            {name: tensor.contiguous() for name, tensor in tensors.items()}, temporary, {"values": json.dumps(values)}
        )


def load(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Read what `save` wrote."""
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (not a mapping)
            return tensors, json.loads((file.metadata() or {})["values"])
    except (SafetensorError, KeyError, OSError) as error:
        raise InputError(f"{path} is not a checkpoint of this package ({error}).") from None
