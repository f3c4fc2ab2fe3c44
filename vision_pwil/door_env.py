"""The door: gymnasium-robotics' AdroitHandDoor with early termination, a horizon, and exact save and restore.

Registered as `vision_pwil/AdroitDoor-v0`. The dynamics are those of AdroitHandDoor-v1, bit for bit. What differs: the
episode ends when the door is open (an absorbing state) or at the horizon, and the task's own reward is told in `info`
only, unless asked for: an imitation learner never sees it.
"""

from collections.abc import Mapping
from typing import Any, Literal

import gymnasium as gym
import numpy as np

from vision_pwil.envs.adroit import AdroitHandDoorEnv  # first: it chooses the OpenGL backend

# isort: split
import mujoco

from vision_pwil.envs.camera import Camera, open_camera
from vision_pwil.envs.renderer import RenderSettings
from vision_pwil.system.errors import InputError

ENV_ID = "vision_pwil/AdroitDoor-v0"
HORIZON = 300
"""Steps in an episode: no shorter than the longest human demonstration's opening of the door (278 steps)."""
OPEN_ANGLE = 1.0
"""Radians at which the door counts as opened: where the observation itself flips its `door_open` entry."""
SUCCESS_ANGLE = 1.35
"""Radians at which AdroitHandDoor-v1 reports success."""
CAMERA = {"lookat": (-0.00441817, -0.15030982, 0.20043127), "distance": 1.5, "azimuth": 90.0, "elevation": -45.0}
"""The default view of AdroitHandDoor-v1. Gymnasium looks at the median of the geoms' positions at a reset; its x moves
with the door's place (this one at half of all resets, up to 6 mm away at the others). Here every episode has the same.
"""
SETTINGS = RenderSettings(smooth=False, stacks=2, quads=4, triangles=2000, **CAMERA)  # type: ignore[arg-type]
"""The door's frames: their fingerprint travels with its demonstrations and encoders."""
FRAME = "frame"
"""The body of the model that a reset places: the door in its frame."""

_PHYSICS = mujoco.mjtState.mjSTATE_INTEGRATION
_STATE_KEYS = ("qpos", "qvel", "door_body_pos", "physics", "observation", "elapsed_steps", "random")
_WORD = (1 << 64) - 1


class DoorEnv(gym.Env[np.ndarray, np.ndarray]):
    """Open a door with a 24-joint hand on a 4-joint arm: 39-d state, 28-d action in [-1, 1], 100 steps a second.

    `reward="none"` returns 0.0 from every step; `reward="dense"` returns the task's shaped reward, its sign mended
    (`info["dense_reward"]` has it in either case). `info` also says `door_angle`, `opened` (beyond `open_angle`),
    `success` (beyond 1.35 rad), and `absorbing`: the episode ended because the door was opened.
    """

    default_camera_config = CAMERA
    metadata = {"render_modes": ["rgb_array"], "render_fps": 100}  # noqa: RUF012  (Gymnasium's convention)

    def __init__(
        self,
        horizon: int | None = HORIZON,
        open_angle: float = OPEN_ANGLE,
        reward: Literal["none", "dense"] = "none",
        render_settings: RenderSettings = SETTINGS,
        render_mode: str | None = None,
    ) -> None:
        if horizon is not None and horizon < 1:
            raise InputError(f"The door's horizon must be at least one step, not {horizon}.")
        if reward not in ("none", "dense"):
            raise InputError(f'The door\'s reward is "none" or "dense", not {reward!r}.')
        if render_mode not in (None, "rgb_array"):
            raise InputError(f'The door renders as "rgb_array" or not at all, not as {render_mode!r}.')
        self.horizon = horizon
        self.open_angle = open_angle
        self.reward = reward
        self.render_mode = render_mode
        self.render_settings = render_settings
        door = AdroitHandDoorEnv()
        self.observation_space = door.observation_space
        self.action_space = door.action_space
        self.model: mujoco.MjModel = door.model
        self.data: mujoco.MjData = door.data
        self._frame_skip = door.frame_skip
        self._center, self._half_range = door.act_mean, door.act_rng
        self._frame = door.door_body_id
        self.hinge = door.door_hinge_addrs
        self._handle, self._grasp = door.handle_site_id, door.grasp_site_id
        # Nothing reads the 65 sensors, and no sensor feeds back into the dynamics.
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_SENSOR
        self._elapsed = 0
        self._observation = np.zeros(self.observation_space.shape or ())
        self._camera: Camera | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Place the door at random, or as recorded: `options={"state": {qpos, qvel, door_body_pos}}`."""
        super().reset(seed=seed)
        mujoco.mj_resetData(self.model, self.data)
        if options and "state" in options:
            targets = self._recorded()
            values = {name: _checked(options["state"], name, target.shape) for name, target in targets.items()}
            for name, target in targets.items():
                target[:] = values[name]
        else:
            # The ranges and the order of AdroitHandDoor-v1: the same seed gives the same door.
            for axis, (low, high) in enumerate(((-0.3, -0.2), (0.25, 0.35), (0.252, 0.35))):
                self.model.body_pos[self._frame, axis] = self.np_random.uniform(low, high)
        mujoco.mj_forward(self.model, self.data)
        self._elapsed = 0
        self._observation = self._observe()
        return self._observation.copy(), self._info(terminated=False)

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Apply one action for five physics steps (0.01 s)."""
        action = np.clip(np.asarray(action, dtype=np.float64), -1.0, 1.0)
        if action.shape != self._center.shape or not np.isfinite(action).all():
            raise InputError(f"The door takes {self._center.size} finite numbers as an action, not {action}.")
        self.data.ctrl[:] = self._center + action * self._half_range
        mujoco.mj_step(self.model, self.data, nstep=self._frame_skip)
        self._elapsed += 1
        self._observation = self._observe()
        terminated = self.door_angle > self.open_angle
        truncated = not terminated and self.horizon is not None and self._elapsed >= self.horizon
        info = self._info(terminated)
        reward = info["dense_reward"] if self.reward == "dense" else 0.0
        return self._observation.copy(), reward, terminated, truncated, info

    def render(self) -> np.ndarray | None:
        """The current frame, or None without a render mode."""
        if self.render_mode is None:
            return None
        if self._camera is None:
            self._camera = open_camera(self, self.render_settings)
        return self._camera.draw(self._camera.snapshot()[None])[0]

    def close(self) -> None:
        """Free the camera."""
        if self._camera is not None:
            self._camera.close()
            self._camera = None

    @property
    def door_angle(self) -> float:
        """How far the door is open, in radians."""
        return float(self.data.qpos[self.hinge])

    def get_state(self) -> dict[str, np.ndarray]:
        """Everything that decides the rest of the episode and of the run, as arrays.

        `qpos`, `qvel` and `door_body_pos` are readable (and enough to render, or to `reset` from); `physics` is
        MuJoCo's whole integration state, with the solver's warm start.
        """
        physics = np.empty(mujoco.mj_stateSize(self.model, _PHYSICS))
        mujoco.mj_getState(self.model, self.data, physics, _PHYSICS)
        return {name: target.copy() for name, target in self._recorded().items()} | {
            "physics": physics,
            "observation": self._observation.copy(),
            "elapsed_steps": np.array(self._elapsed),
            "random": _pack_generator(self.np_random),
        }

    def set_state(self, state: Mapping[str, np.ndarray]) -> np.ndarray:
        """Continue where `get_state` was called, bit for bit; returns the observation of that moment."""
        missing = [name for name in _STATE_KEYS if name not in state]
        if missing:
            raise InputError(f"The saved state of the door lacks {', '.join(missing)}; save it with DoorEnv.get_state.")
        physics = _checked(state, "physics", (mujoco.mj_stateSize(self.model, _PHYSICS),))
        self.model.body_pos[self._frame] = _checked(state, "door_body_pos", (3,))
        mujoco.mj_resetData(self.model, self.data)
        mujoco.mj_setState(self.model, self.data, physics, _PHYSICS)
        self._observation = _checked(state, "observation", self._observation.shape).copy()
        self._elapsed = int(state["elapsed_steps"])
        self.np_random = _unpack_generator(state["random"])
        return self._observation.copy()

    def _recorded(self) -> dict[str, np.ndarray]:
        """Views of what a recorded initial state sets."""
        return {
            "qpos": self.data.qpos,
            "qvel": self.data.qvel,
            "door_body_pos": self.model.body_pos[self._frame],
        }

    def _observe(self) -> np.ndarray:
        """The observation of AdroitHandDoor-v1, with its site positions of the last substep's start."""
        qpos = self.data.qpos
        handle = self.data.site_xpos[self._handle]
        palm = self.data.site_xpos[self._grasp]
        angle = self.door_angle
        flag = 1.0 if angle > 1.0 else -1.0
        return np.concatenate([qpos[1:-2], [qpos[-1], angle], palm, handle, palm - handle, [flag]])

    def _info(self, terminated: bool) -> dict[str, Any]:
        angle = self.door_angle
        return {
            "door_angle": angle,
            "opened": angle > self.open_angle,
            "success": angle >= SUCCESS_ANGLE,
            "absorbing": terminated,
            "dense_reward": self._dense_reward(),
        }

    def _dense_reward(self) -> float:
        """The shaped reward of the task. AdroitHandDoor-v1 pays for distance to the handle; this charges for it."""
        angle = self.door_angle
        reach = self.data.site_xpos[self._grasp] - self.data.site_xpos[self._handle]
        reward = -0.1 * float(np.sqrt(reach @ reach)) - 0.1 * (angle - 1.57) ** 2
        reward -= 1e-5 * float(self.data.qvel @ self.data.qvel)
        return reward + 2.0 * (angle > 0.2) + 8.0 * (angle > 1.0) + 10.0 * (angle > SUCCESS_ANGLE)


def _checked(state: Mapping[str, Any], name: str, shape: tuple[int, ...]) -> np.ndarray:
    if name not in state:
        raise InputError(f"The door's state lacks {name!r}; it needs qpos (30), qvel (30) and door_body_pos (3).")
    try:
        value = np.asarray(state[name], dtype=np.float64)
    except (TypeError, ValueError):
        value = np.array(np.nan)
    if value.shape != shape or not np.isfinite(value).all():
        raise InputError(f"{name!r} of the door's state must be finite numbers of shape {shape}.")
    return value


def _pack_generator(generator: np.random.Generator) -> np.ndarray:
    """A PCG64 generator as six 64-bit words (its two 128-bit integers do not fit an array)."""
    state: Any = generator.bit_generator.state
    if state["bit_generator"] != "PCG64":
        raise InputError(f"The door can save a PCG64 random generator, not {state['bit_generator']}.")
    value, increment = state["state"]["state"], state["state"]["inc"]
    words = [value >> 64, value & _WORD, increment >> 64, increment & _WORD, state["has_uint32"], state["uinteger"]]
    return np.array(words, dtype=np.uint64)


def _unpack_generator(words: np.ndarray) -> np.random.Generator:
    value_high, value, increment_high, increment, has_half, half = (int(word) for word in words)
    generator = np.random.Generator(np.random.PCG64())
    generator.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": value_high << 64 | value, "inc": increment_high << 64 | increment},
        "has_uint32": has_half,
        "uinteger": half,
    }
    return generator


# Made by its id, the environment has Gymnasium's time limit instead of its own.
gym.register(id=ENV_ID, entry_point="vision_pwil.door_env:DoorEnv", max_episode_steps=HORIZON, kwargs={"horizon": None})
