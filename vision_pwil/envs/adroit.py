"""gymnasium-robotics' door task, imported after the OpenGL backend is chosen and without its notice.

On import the library prints a notice about its dense rewards, which are not used here: `door_env` has its own.
"""

import io
from contextlib import redirect_stderr
from pathlib import Path

from vision_pwil.system import opengl  # noqa: F401  (before mujoco)

with redirect_stderr(io.StringIO()):
    import gymnasium_robotics
    from gymnasium_robotics.envs.adroit_hand.adroit_door import AdroitHandDoorEnv

SCENE = Path(gymnasium_robotics.__file__).parent / "envs" / "assets" / "adroit_hand" / "adroit_door.xml"
"""The door's model."""

__all__ = ["SCENE", "AdroitHandDoorEnv"]
