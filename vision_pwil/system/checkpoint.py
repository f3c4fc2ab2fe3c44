"""A checkpoint: named tensors and a few plain values in one safetensors file that is whole, checked, or not there.

The file's metadata hold one JSON object, `record`: the values, and a checksum over them and over every tensor's name,
type, shape and bytes. Checkpoints, policies, tasks, encoders and segments of the replay are such files.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save as serialize

from vision_pwil.system.errors import InputError
from vision_pwil.system.files import DAMAGED, NO_CHECKSUM, parse_json, parsing, replacing, require_file


def save(path: str | Path, tensors: Mapping[str, torch.Tensor], values: Mapping[str, Any]) -> None:
    """Write tensors, on whichever device they are, and values that JSON can hold."""
    tensors = {name: tensor.cpu().contiguous() for name, tensor in tensors.items()}
    values = json.loads(json.dumps(values, allow_nan=False))
    record = json.dumps({"sha256": _checksum(tensors, values), "values": values})
    # One entry only: safetensors writes more in any order. And not to the file: a full disk would be no OSError.
    content = serialize(tensors, {"record": record})
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def load(path: str | Path, kind: str = "checkpoint") -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Read what `save` wrote; `kind` is what a complaint calls the file."""
    with parsing(path, f"{kind} of this package"):
        require_file(path)
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (not a mapping)
        if "record" not in metadata:
            raise InputError(NO_CHECKSUM)
        record = parse_json(metadata["record"])
        values = dict(record["values"])
        if record["sha256"] != _checksum(tensors, values):
            raise InputError(DAMAGED)
        return tensors, values


def require_alike(found: Mapping[str, torch.Tensor], expected: Mapping[str, torch.Tensor]) -> None:
    """Refuse tensors of other names, types or shapes than those in whose place they are to be used."""
    for name in sorted(found.keys() | expected.keys()):
        kinds = [(each[name].dtype, each[name].shape) if name in each else None for each in (found, expected)]
        if kinds[0] != kinds[1]:
            raise InputError(f"its {name!r} is not what it has to be: copy the run anew, or begin a new one.")


def _checksum(tensors: Mapping[str, torch.Tensor], values: Mapping[str, Any]) -> str:
    names = sorted(tensors)
    described = [[name, str(tensors[name].dtype), list(tensors[name].shape)] for name in names]
    digest = hashlib.sha256(json.dumps([values, described], sort_keys=True).encode())
    for name in names:
        digest.update(tensors[name].reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
