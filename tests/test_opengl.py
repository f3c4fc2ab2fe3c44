"""Each case runs in a process of its own, since the backend is chosen once, at import."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vision_pwil.system import opengl

FRAME = "from vision_pwil.door_env import DoorEnv; print('frame', DoorEnv(render_mode='rgb_array').render().std() > 10)"
REPORT = "import os; print(os.environ['MUJOCO_GL'], os.environ['LP_NUM_THREADS'])"
RENDER = f"""
from vision_pwil.system.cli import run
from vision_pwil.door_env import DoorEnv
env = DoorEnv()
env.reset(seed=0)
print("stepped", env.step(env.action_space.sample())[0].shape)
def main() -> None:
    {FRAME}
run(main, args=[])
"""


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name not in ("MUJOCO_GL", "LP_NUM_THREADS")}
    clean = {name: value for name, value in clean.items() if name != "PYOPENGL_PLATFORM"} | environment
    return subprocess.run([sys.executable, "-c", code], env=clean, capture_output=True, text=True, timeout=120)


def broken(folder: Path, *libraries: str) -> str:
    """A library path whose files of these names cannot be loaded: the loader finds them first and gives up."""
    for name in libraries:
        (folder / name).touch()
    return str(folder)


EGL = ("libEGL.so.1", "libGL.so.1", "libOpenGL.so.0")
OSMESA = ("libOSMesa.so.8", "libOSMesa.so.6", "libOSMesa.so")


def test_a_backend_is_chosen_and_draws() -> None:
    result = python(f"{FRAME}; {REPORT}")
    assert result.stdout.split()[:2] == ["frame", "True"], result.stderr
    assert result.stdout.split()[2] in ("egl", "osmesa")


@pytest.mark.parametrize("backend", ["egl", "osmesa"])
def test_the_users_choice_is_respected_and_draws(backend: str) -> None:
    if not opengl.available(backend):
        pytest.skip(f"the libraries for {backend} are not installed")
    result = python(f"{FRAME}; {REPORT}", MUJOCO_GL=backend, LP_NUM_THREADS="2")
    assert result.stdout.split() == ["frame", "True", backend, "2"], result.stderr


def test_without_egl_osmesa_is_chosen(tmp_path: Path) -> None:
    if not opengl.available("osmesa"):
        pytest.skip("the libraries for osmesa are not installed")
    result = python(f"import vision_pwil.system.opengl; {REPORT}", LD_LIBRARY_PATH=broken(tmp_path, "libEGL.so.1"))
    assert result.stdout.split()[0] == "osmesa", result.stderr


def test_mujoco_imported_first_still_draws() -> None:
    result = python(f"import warnings; warnings.simplefilter('ignore'); import mujoco; {FRAME}")
    assert "frame True" in result.stdout, result.stderr


@pytest.mark.parametrize(
    ("backend", "missing", "sentence"),
    [
        ("", EGL + OSMESA, "Rendering needs OpenGL and none was found"),
        ("osmesa", OSMESA, "the libraries for MUJOCO_GL=osmesa are missing"),
        ("egl", EGL, "the libraries for MUJOCO_GL=egl are missing"),
        ("disabled", (), "Rendering is turned off by MUJOCO_GL=disabled"),
        ("vulkan", (), "MUJOCO_GL=vulkan is not a backend of MuJoCo"),
    ],
)
def test_without_opengl_physics_works_and_rendering_says_what_to_do(
    tmp_path: Path, backend: str, missing: tuple[str, ...], sentence: str
) -> None:
    result = python(RENDER, MUJOCO_GL=backend, LD_LIBRARY_PATH=broken(tmp_path, *missing))
    assert "stepped (39,)" in result.stdout, result.stderr
    assert result.returncode == 2
    last = result.stderr.strip().splitlines()[-1]
    assert sentence in last and "egl" in last and "Traceback" not in result.stderr
