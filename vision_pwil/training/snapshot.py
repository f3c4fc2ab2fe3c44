"""A policy on disk: the arrays that act, and what the file says of itself, so that it can act far from its run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from vision_pwil.agents.protocol import Policy
from vision_pwil.system import checkpoint
from vision_pwil.system.files import parsing


def write_snapshot(path: Path, policy: Policy, about: Mapping[str, Any]) -> None:
    """Write a policy; `about` says which agent acts with it, what it sees and what its actions mean."""
    checkpoint.save(path, {name: torch.from_numpy(np.asarray(array)) for name, array in policy.items()}, about)


def read_snapshot(path: Path) -> tuple[Policy, dict[str, Any]]:
    """Read what `write_snapshot` wrote."""
    tensors, about = checkpoint.load(path)
    with parsing(path, "policy of this package"):  # numpy does not know all of torch's types
        return {name: tensor.numpy() for name, tensor in tensors.items()}, about
