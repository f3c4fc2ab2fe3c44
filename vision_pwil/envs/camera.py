"""Pictures of any environment: a cheap snapshot at each step, drawn later, in one go.

An environment on MuJoCo is drawn by this package's own renderer, dozens of times faster than its `render()`; any other
draws itself.
"""

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, Protocol, cast

import gymnasium as gym
import numpy as np
from PIL import Image, ImageOps

from vision_pwil.envs.moment import Moment
from vision_pwil.envs.renderer import Renderer, RenderSettings
from vision_pwil.envs.view import complete, on_mujoco, visual_flags
from vision_pwil.system.errors import InputError

# isort: split
import mujoco


class Camera(Protocol):
    """Takes snapshots of one environment, and draws them. Cameras of other settings can draw them as well."""

    settings: RenderSettings
    """Size, view and quality of its pictures."""
    fingerprint: str | None
    """A short name for all that decides a picture, given the environment and its state; None where that is unknown."""

    def snapshot(self) -> np.ndarray:
        """What a picture needs of the present moment: a vector of float64, or the picture itself, uint8."""

    def draw(self, snapshots: np.ndarray) -> np.ndarray:
        """The pictures (n, height, width, 3), uint8, of n snapshots."""

    def close(self) -> None:
        """Free what drawing needs."""


def open_camera(env: gym.Env[Any, Any], settings: RenderSettings | None = None) -> Camera:
    """The fastest camera there is for this environment.

    Without settings it has those that the environment itself names (`render_settings`), or else the default ones. An
    environment that is not on MuJoCo is reset once, to find out whether it can draw itself.
    """
    if settings is None:
        settings = getattr(env.unwrapped, "render_settings", RenderSettings())
    if on_mujoco(env):
        return MujocoCamera(env, settings)
    if env.render_mode != "rgb_array":
        modes = env.metadata.get("render_modes", [])
        remedy = 'make it with render_mode="rgb_array"' if "rgb_array" in modes else "it has no mode rgb_array"
        raise InputError(f"{_name(env)} draws no pictures in render mode {env.render_mode}: {remedy}.")
    camera = SelfPortrait(env, settings)
    env.reset(seed=0)
    camera.snapshot()
    return camera


class MujocoCamera:
    """Draws an environment on MuJoCo from its joints and its model, without its physics and without its `render()`.

    The view is that of `render()` unless the settings say another. The environment is only looked at: an episode goes
    the same way with a camera as without.
    """

    def __init__(self, env: gym.Env[Any, Any], settings: RenderSettings) -> None:
        self.settings = complete(env, settings)
        self.fingerprint: str | None = self.settings.fingerprint
        self._env, self._plain = env, cast(Any, env.unwrapped)
        self._model = self._plain.model
        self._moment = Moment(self._model, self._plain.data)
        # gymnasium-robotics' goal environments show their goal only when they draw themselves.
        self._show_goal = getattr(self._plain, "_render_callback", None)
        if self._show_goal is not None:
            self._copy = mujoco.MjData(self._model)
            self._moment_of_copy = Moment(self._model, self._copy)

    @cached_property
    def renderer(self) -> Renderer:
        """Made when the first picture is drawn: only that needs OpenGL."""
        return Renderer(self._model, self.settings, visual_flags(self._env))

    def snapshot(self) -> np.ndarray:
        """The joints, and what the environment may have changed in its model."""
        if self._plain.model is not self._model:
            raise InputError(f"{_name(self._env)} has made itself a new model: open a new camera for it.")
        if self._show_goal is None:
            return self._moment.read()
        # In a copy of the data, for it may move joints and runs forward dynamics; and the model gets its fields back.
        before = self._moment.read()
        live, copy = self._plain.data, self._copy
        copy.qpos[:], copy.mocap_pos[:], copy.mocap_quat[:] = live.qpos, live.mocap_pos, live.mocap_quat
        mujoco.mj_kinematics(self._model, copy)
        self._plain.data = copy
        try:
            self._show_goal()
        finally:
            self._plain.data = live
        shown = self._moment_of_copy.read()
        self._moment.write(before)
        return shown

    def pose(self, qpos: np.ndarray, bodies: Mapping[str, np.ndarray] = MappingProxyType({})) -> np.ndarray:
        """Snapshots of recorded joint positions (n, nq), the named bodies of the model at other places.

        A place is one for all (3,) or one for each (n, 3); what is not given is as in the environment now.
        """
        qpos = np.asarray(qpos, dtype=np.float64)
        if qpos.ndim != 2 or qpos.shape[1] != self._model.nq or not np.isfinite(qpos).all():
            raise InputError(f"A picture needs {self._model.nq} finite joint positions (qpos), not shape {qpos.shape}.")
        snapshots = np.tile(self.snapshot(), (len(qpos), 1))
        snapshots[:, self._moment.parts["qpos"]] = qpos
        positions = snapshots[:, self._moment.parts["body_pos"]].reshape(len(qpos), -1, 3)
        for name, place in bodies.items():
            if np.shape(place) not in ((3,), (len(qpos), 3)) or not np.isfinite(place).all():
                raise InputError(f"The place of the body {name!r} is 3 finite numbers, not shape {np.shape(place)}.")
            positions[:, self._model.body(name).id] = place
        snapshots[:, self._moment.parts["body_pos"]] = positions.reshape(len(qpos), -1)
        return snapshots

    def draw(self, snapshots: np.ndarray) -> np.ndarray:
        """The pictures (n, height, width, 3), uint8, of n snapshots."""
        return self.renderer.draw(snapshots)

    def close(self) -> None:
        """Free the renderer."""
        if "renderer" in vars(self):
            self.renderer.close()


class SelfPortrait:
    """The middle of the pictures of `env.render()`, resized by area averaging, as frames of videos are.

    A snapshot is the picture itself, at the size of the settings; only their size counts here.
    """

    fingerprint: str | None = None  # what decides its pixels is the environment's own business

    def __init__(self, env: gym.Env[Any, Any], settings: RenderSettings) -> None:
        self.settings, self._env = settings, env

    def snapshot(self) -> np.ndarray:
        """The picture of the present moment."""
        try:
            drawn = self._env.render()
        except Exception as error:  # whatever an environment's own renderer lacks: pygame, a display, a file
            why = str(error) or type(error).__name__
            raise InputError(f"{_name(self._env)} cannot draw itself here: {why}") from error
        if drawn is None:
            raise InputError(f"{_name(self._env)} cannot draw itself here: its render() gives nothing.")
        picture = np.asarray(drawn)
        if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
            raise InputError(
                f"{_name(self._env)} should draw uint8 pictures of shape (height, width, 3), "
                f"not {picture.dtype} of shape {picture.shape}."
            )
        return self._resized(picture)

    def draw(self, snapshots: np.ndarray) -> np.ndarray:
        """The snapshots, at the size of the settings."""
        size = (self.settings.height, self.settings.width, 3)
        return np.array([self._resized(picture) for picture in snapshots], np.uint8).reshape(-1, *size)

    def close(self) -> None:
        """Nothing: the environment closes its own renderer."""

    def _resized(self, picture: np.ndarray) -> np.ndarray:
        size = (self.settings.width, self.settings.height)
        return np.asarray(ImageOps.fit(Image.fromarray(picture), size, Image.Resampling.BOX))


def _name(env: gym.Env[Any, Any]) -> str:
    return env.spec.id if env.spec is not None else type(env.unwrapped).__name__
