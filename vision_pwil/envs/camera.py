"""Pictures of any environment: a cheap snapshot at each step, drawn later, in one go.

An environment on MuJoCo is drawn by this package's own renderer, many times faster than its `render()`; any other
draws itself.
"""

from typing import Any, Protocol

import gymnasium as gym
import numpy as np
from PIL import Image

from vision_pwil.door_env import DoorEnv
from vision_pwil.envs.renderer import DoorRenderer, RenderSettings
from vision_pwil.system.errors import InputError


class Camera(Protocol):
    """Takes and draws snapshots of one environment."""

    settings: RenderSettings
    """Size, view and quality of its pictures."""
    fingerprint: str | None
    """A short name for all that decides a picture, given the environment and its state; None where that is unknown."""

    def snapshot(self) -> np.ndarray:
        """What a picture needs of the present moment: a vector of float64, or the picture itself, uint8."""

    def draw(self, snapshots: np.ndarray) -> np.ndarray:
        """The pictures (n, height, width, 3), uint8, of n snapshots."""

    def with_settings(self, settings: RenderSettings) -> "Camera":
        """Another camera of the same environment, which draws the same snapshots otherwise."""

    def close(self) -> None:
        """Free what drawing needs."""


def open_camera(env: gym.Env[Any, Any], settings: RenderSettings | None = None) -> Camera:
    """The fastest camera there is for this environment."""
    if isinstance(env.unwrapped, DoorEnv):
        return DoorCamera(env.unwrapped, settings or RenderSettings())
    return SelfPortrait(env, settings or RenderSettings())


class DoorCamera:
    """Interim."""

    def __init__(self, env, settings):
        self.settings, self._env, self.fingerprint = settings, env, settings.fingerprint
        self._renderer = None

    def snapshot(self):
        return np.concatenate([self._env._data.qpos, self._env._model.body_pos[self._env._frame]])

    def draw(self, snapshots):
        if self._renderer is None:
            self._renderer = DoorRenderer(self.settings)
        return self._renderer.render_many(snapshots[:, :-3], snapshots[:, -3:])

    def with_settings(self, settings):
        return DoorCamera(self._env, settings)

    def close(self):
        pass


class SelfPortrait:
    """The pictures of `env.render()`, resized by area averaging, as frames of videos are.

    A snapshot is the picture itself at the size of the settings. To film in a larger size, take snapshots with a camera
    of that size. Opening it resets the environment, to find out whether it can draw itself.
    """

    fingerprint = None  # what decides its pixels is the environment's own business

    def __init__(self, env: gym.Env[Any, Any], settings: RenderSettings) -> None:
        self.settings, self._env = settings, env
        self._name = env.spec.id if env.spec is not None else type(env.unwrapped).__name__
        if env.render_mode != "rgb_array":
            raise InputError(
                f'{self._name} draws no pictures in render mode {env.render_mode}: make it with render_mode="rgb_array".'
            )
        env.reset(seed=0)
        self.snapshot()

    def snapshot(self) -> np.ndarray:
        """The picture of the present moment."""
        try:
            picture = np.asarray(self._env.render())
        except Exception as error:  # whatever an environment's own renderer lacks: pygame, a display, a file
            raise InputError(f"{self._name} cannot draw itself here: {error}") from error
        if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
            raise InputError(
                f"{self._name} should draw uint8 pictures of shape (height, width, 3), "
                f"not {picture.dtype} of shape {picture.shape}."
            )
        return self._resized(picture)

    def draw(self, snapshots: np.ndarray) -> np.ndarray:
        """The snapshots, at the size of the settings."""
        size = (self.settings.height, self.settings.width, 3)
        return np.array([self._resized(picture) for picture in snapshots], np.uint8).reshape(-1, *size)

    def with_settings(self, settings: RenderSettings) -> "SelfPortrait":
        """The same pictures in another size."""
        return SelfPortrait(self._env, settings)

    def close(self) -> None:
        """Nothing: the environment closes its own renderer."""

    def _resized(self, picture: np.ndarray) -> np.ndarray:
        size = (self.settings.width, self.settings.height)
        if picture.shape[1::-1] == size:
            return picture
        return np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.BOX))
