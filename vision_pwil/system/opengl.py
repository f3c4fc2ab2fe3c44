"""Headless OpenGL: choose MuJoCo's rendering backend before MuJoCo is imported.

Import this module before anything that imports mujoco. A user's own MUJOCO_GL is respected. Where it cannot work,
physics still does, and the first attempt to render says what is missing.
"""

import ctypes
import importlib
import os
import sys
from typing import Any

from vision_pwil.system.errors import InputError

# Each backend with the shared libraries it needs, any one name of each group, in order of preference.
_LIBRARIES = {
    "egl": (("libEGL.so.1",), ("libGL.so.1", "libOpenGL.so.0")),
    "osmesa": (("libOSMesa.so.8", "libOSMesa.so.6", "libOSMesa.so"),),
}
_OTHERS = ("glfw", "glx", "enable", "enabled", "on", "true", "1")
_OFF = ("disabled", "disable", "off", "false", "0")
_ADVICE = "install the system packages libegl1 and libgl1 (MUJOCO_GL=egl) or libosmesa6 (MUJOCO_GL=osmesa)"

_problem = ""  # why rendering cannot work, found by `choose`


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
    global _problem
    # llvmpipe takes every core for an 84x84 frame unless told otherwise, and is no faster for it: 0 is the caller's.
    os.environ.setdefault("LP_NUM_THREADS", "0")
    backend = os.environ.get("MUJOCO_GL", "").strip().lower()
    if sys.platform != "linux":
        return backend  # other systems bring OpenGL, and MuJoCo finds it
    if not backend:
        backend = next((name for name in _LIBRARIES if available(name)), "disabled")
        _problem = f"Rendering needs OpenGL and none was found: {_ADVICE}."
    elif backend in _LIBRARIES and not available(backend):
        _problem = f"Rendering needs OpenGL and the libraries for MUJOCO_GL={backend} are missing: {_ADVICE}."
        backend = "disabled"
    elif backend not in (*_LIBRARIES, *_OTHERS, *_OFF):
        _problem = f"MUJOCO_GL={backend} is not a backend of MuJoCo: unset it, or set it to egl or osmesa."
        backend = "disabled"
    elif not _problem:
        _problem = f"Rendering is turned off by MUJOCO_GL={backend}: unset it, or set it to egl or osmesa."
    os.environ["MUJOCO_GL"] = backend
    return backend


def require() -> str:
    """The chosen backend, or one clear sentence on why rendering cannot work."""
    backend = choose()
    if backend in _OFF:
        raise InputError(_problem)
    return backend


def context(width: int, height: int) -> Any:
    """An OpenGL context of the chosen backend, also where mujoco was imported first and chose another."""
    backend = require()
    module = importlib.import_module(f"mujoco.{backend}" if backend in (*_LIBRARIES, "glfw") else "mujoco")
    try:
        return module.GLContext(width, height)
    except (RuntimeError, ImportError, AttributeError) as error:
        raise InputError(f"OpenGL does not start with MUJOCO_GL={backend} ({error}): {_ADVICE}.") from error


choose()
