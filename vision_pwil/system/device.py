"""The device that a learner computes on."""

import torch

from vision_pwil.system.errors import InputError


def require_device(name: str) -> None:
    """Refuse a device that torch does not know, or cannot compute on here, before any long work."""
    try:
        torch.zeros(1, device=name).item()
    except (RuntimeError, AssertionError, ImportError):  # what torch raises differs with the device
        raise InputError(
            f"--device {name} is not a device that this machine's torch can compute on: name another, such as cpu."
        ) from None
