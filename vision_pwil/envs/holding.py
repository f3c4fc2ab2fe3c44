"""Which action holds a robot's pose, where its actuators hold positions."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

from vision_pwil.system import opengl  # noqa: F401  (before mujoco)

# isort: split
import mujoco

from vision_pwil.system.errors import InputError

Hold = Callable[[], np.ndarray]
"""Gives the action, in the environment's own units, that holds the present pose."""


def holding(env: gym.Env[Any, Any]) -> Hold:
    """How an environment on MuJoCo holds its pose, if each of its actions is the target of a position actuator.

    Such an actuator pushes with gain * control + bias0 + bias1 * length (+ bias2 * velocity), and not at all where that
    is 0. Environments scale actions to controls each in its own way, linearly: two steps, after resets, tell how.
    """
    plain: Any = env.unwrapped
    space, model = env.action_space, getattr(plain, "model", None)
    if (
        not isinstance(space, gym.spaces.Box)
        or not isinstance(model, mujoco.MjModel)
        or not _all_positions(model, space)
    ):
        name = env.spec.id if env.spec is not None else type(plain).__name__
        raise InputError(
            f"The actions of {name} are not the targets of position actuators: leave --action-rate and "
            "--action-smoothing at 0."
        )
    controls = []
    for action in (space.low, space.high):
        env.reset(seed=0)
        env.step(action)
        controls.append(plain.data.ctrl.copy())
    low, high = controls
    gain, bias = model.actuator_gainprm[:, 0], model.actuator_biasprm

    def hold() -> np.ndarray:
        control = -(bias[:, 0] + bias[:, 1] * plain.data.actuator_length) / gain
        return np.ravel(space.low) + (control - low) / (high - low) * np.ravel(space.high - space.low)

    return hold


def _all_positions(model: mujoco.MjModel, space: gym.spaces.Box) -> bool:
    affine = (model.actuator_biastype == mujoco.mjtBias.mjBIAS_AFFINE) & (model.actuator_biasprm[:, 1] < 0.0)
    return model.nu == int(np.prod(space.shape)) and bool(affine.all())
