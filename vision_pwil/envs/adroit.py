"""gymnasium-robotics, imported after the OpenGL backend is chosen and without its notice; its environments registered.

On import the library prints a notice about its dense rewards, which are not used here: `door_env` has its own.
"""

import io
from contextlib import redirect_stderr

import gymnasium as gym

from vision_pwil.system import opengl  # noqa: F401  (before mujoco)

with redirect_stderr(io.StringIO()):
    import gymnasium_robotics
    from gymnasium_robotics.envs.adroit_hand.adroit_door import AdroitHandDoorEnv

gym.register_envs(gymnasium_robotics)

__all__ = ["AdroitHandDoorEnv"]
