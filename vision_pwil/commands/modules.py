"""Modules that a user names on the command line."""

import importlib
from collections.abc import Sequence

from vision_pwil.system.errors import InputError


def import_modules(names: Sequence[str]) -> None:
    """Import what the user named, so that its environments are registered."""
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise InputError(f"--import {name}: it cannot be imported ({error}).") from None
