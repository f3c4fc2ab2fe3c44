"""Headless OpenGL: choose MuJoCo's rendering backend before MuJoCo is imported.

Import this module before anything that imports mujoco. A user's own MUJOCO_GL is respected.
"""

import ctypes
import importlib
import os
from typing import Any

from vision_pwil.errors import InputError

# Each backend with the shared libraries it needs, any one name of each group, in order of preference.
_LIBRARIES = {
    "egl": (("libEGL.so.1",), ("libGL.so.1", "libOpenGL.so.0")),
    "osmesa": (("libOSMesa.so.8", "libOSMesa.so.6", "libOSMesa.so"),),
}
_ADVICE = "install the system packages libegl1 and libgl1 (MUJOCO_GL=egl) or libosmesa6 (MUJOCO_GL=osmesa)"


def _loads(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def available(backend: str) -> bool:
    """Whether the system libraries of a headless backend can be loaded."""
    return all(any(_loads(name) for name in names) for names in _LIBRARIES[backend])


def choose() -> str:
    """Set MUJOCO_GL to a backend that loads (EGL, else OSMesa, else none: physics still works) and return it."""
    backend = os.environ.get("MUJOCO_GL", "").strip().lower()
    if not backend:
        backend = next((name for name in _LIBRARIES if available(name)), "disabled")
        os.environ["MUJOCO_GL"] = backend
    elif backend in _LIBRARIES and not available(backend):
        raise InputError(f"MUJOCO_GL={backend} is set but its OpenGL libraries are missing: {_ADVICE}.")
    # llvmpipe takes every core for an 84x84 frame unless told otherwise, and is no faster for it: 0 draws in the caller.
    os.environ.setdefault("LP_NUM_THREADS", "0")
    return backend


def require() -> None:
    """Raise one clear sentence when no rendering backend is available."""
    if choose() in ("disabled", "disable", "off", "false", "0"):
        raise InputError(f"Rendering needs OpenGL and no backend was found: {_ADVICE}.")


def context(width: int, height: int) -> Any:
    """An OpenGL context of the chosen backend, even where mujoco was imported first and chose another."""
    require()
    backend = os.environ["MUJOCO_GL"].strip().lower()
    module = importlib.import_module(f"mujoco.{backend}" if backend in (*_LIBRARIES, "glfw") else "mujoco")
    return module.GLContext(width, height)


choose()
