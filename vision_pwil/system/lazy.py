"""Names of a package that are imported when they are first used: torch alone takes seconds."""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazily(package: str, places: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__`; `places` gives the module of each name, relative to the package: ".agent"."""

    def find(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(places[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    return find
