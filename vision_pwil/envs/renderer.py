"""Frames of the door from a recorded state (qpos and the door's place): no physics, the same picture every time.

The default settings give the view of `gym.make("AdroitHandDoor-v1", render_mode="rgb_array")` without shadows, at
84x84, several dozen times faster: `python -m benchmarks.rendering` measures each step of the way.
"""

import hashlib
import json
import weakref
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from vision_pwil.system import opengl
from vision_pwil.system.errors import InputError

# isort: split
import mujoco

from vision_pwil.envs.meshes import door_model

_FORMAT = 1  # of the fingerprint: raise it when the same fields come to mean another picture


@dataclass(frozen=True)
class RenderSettings:
    """Camera, size and quality of a frame: all that decides its pixels, given the state of the door."""

    width: int = 84
    """Pixels across (the paper's frames are 84x84)."""
    height: int = 84
    """Pixels down."""
    lookat: tuple[float, float, float] = (-0.00441817, -0.15030982, 0.20043127)
    """Point the camera looks at: Gymnasium's median of the geoms' positions at a reset. Gymnasium's x moves with the
    door's place (this one at half of all resets, up to 6 mm away at the others); here every episode has the same."""
    distance: float = 1.5
    """Metres from the camera to that point (AdroitHandDoor's default view)."""
    azimuth: float = 90.0
    """Degrees about the vertical (AdroitHandDoor's default view)."""
    elevation: float = -45.0
    """Degrees above the horizon, negative when looking down (MuJoCo's default view)."""
    shadows: bool = False
    """Cast shadows: pretty, and slow."""
    reflections: bool = False
    """Mirror the scene in shiny surfaces."""
    samples: int = 0
    """Multisampling: smooth edges from so many samples a pixel (`vis.quality.offsamples`); 0 has none."""
    slices: int = 12
    """Tessellation of round shapes, around (MuJoCo's `vis.quality.numslices`)."""
    stacks: int = 2
    """Tessellation of round shapes, along (`numstacks`)."""
    quads: int = 4
    """Tessellation of flat shapes (`numquads`); light is computed at their corners, so 1 changes the table's shade."""
    triangles: int = 2000
    """Triangles to draw the hand with, about; 0 draws its meshes whole, with 28,159."""

    def __post_init__(self) -> None:
        least = {"width": 1, "height": 1, "samples": 0, "slices": 3, "stacks": 1, "quads": 1, "triangles": 0}
        for name, value in least.items():
            if getattr(self, name) < value:
                raise InputError(f"The render setting {name} must be at least {value}, not {getattr(self, name)}.")
        # One spelling of a number, so that equal settings have one fingerprint.
        object.__setattr__(self, "lookat", tuple(float(value) for value in self.lookat))
        for name in ("distance", "azimuth", "elevation"):
            object.__setattr__(self, name, float(getattr(self, name)))

    @property
    def fingerprint(self) -> str:
        """A short name for these very settings, the same on every machine; it travels with frames and encoders."""
        text = json.dumps({"format": _FORMAT, **asdict(self)}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def require_match(self, fingerprint: str | None, what: str) -> None:
        """Raise unless `what` (say, "the encoder encoder.safetensors") was made with these settings."""
        if fingerprint != self.fingerprint:
            raise InputError(
                f"The render settings of {what} have fingerprint {fingerprint}, those in use {self.fingerprint}: "
                "render its frames or train it again with the settings in use, or use the settings it was made with."
            )


PRETTY = RenderSettings(width=480, height=480, shadows=True, samples=4, slices=28, stacks=16, triangles=0)
"""Large frames of the same scene, for videos that people watch."""


class DoorRenderer:
    """Draws the door's scene. Holds its own model and OpenGL context, freed by `close` or at the end of a `with`."""

    def __init__(self, settings: RenderSettings | None = None) -> None:
        self.settings = settings = settings or RenderSettings()
        self.model = door_model(settings.triangles)
        visual = self.model.vis
        visual.global_.offwidth, visual.global_.offheight = settings.width, settings.height
        visual.quality.offsamples = settings.samples
        visual.quality.numslices, visual.quality.numstacks = settings.slices, settings.stacks
        visual.quality.numquads = settings.quads
        if not settings.shadows:
            visual.quality.shadowsize = 0
        self._data = mujoco.MjData(self.model)
        self._door = self.model.body("frame").id
        self._context = opengl.context(settings.width, settings.height)
        self._context.make_current()
        self._resources = mujoco.MjrContext(self.model, mujoco.mjtFontScale.mjFONTSCALE_100)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._resources)
        self._free = weakref.finalize(self, _free, self._context, self._resources)
        self._free.atexit = False  # the display may be gone by then, and all of it goes with the process
        self._viewport = mujoco.MjrRect(0, 0, settings.width, settings.height)
        self._camera = mujoco.MjvCamera()
        self._camera.lookat[:] = settings.lookat
        self._camera.distance, self._camera.azimuth = settings.distance, settings.azimuth
        self._camera.elevation = settings.elevation
        self._option, self._perturb = mujoco.MjvOption(), mujoco.MjvPerturb()
        self._scene = mujoco.MjvScene(self.model, self.model.ngeom + self.model.nsite)
        flags = mujoco.mjtRndFlag
        self._scene.flags[flags.mjRND_SHADOW] = settings.shadows
        self._scene.flags[flags.mjRND_REFLECTION] = settings.reflections
        for unused in (flags.mjRND_SKYBOX, flags.mjRND_FOG, flags.mjRND_HAZE):
            self._scene.flags[unused] = False
        mujoco.mj_forward(self.model, self._data)  # places the lamp, once and for all

    def render(self, qpos: np.ndarray, door_body_pos: np.ndarray) -> np.ndarray:
        """The frame (height, width, 3) of one state."""
        return self.render_many(np.asarray(qpos)[None], door_body_pos)[0]

    def render_many(self, qpos: np.ndarray, door_body_pos: np.ndarray) -> np.ndarray:
        """The frames (n, height, width, 3) of n states; the door's place is one for all (3,) or one for each (n, 3)."""
        qpos = np.asarray(qpos, dtype=np.float64)
        if qpos.ndim != 2 or qpos.shape[1] != self.model.nq or not np.isfinite(qpos).all():
            raise InputError(f"A frame needs {self.model.nq} finite joint positions (qpos), not shape {qpos.shape}.")
        places = np.asarray(door_body_pos, dtype=np.float64)
        if places.shape not in ((3,), (len(qpos), 3)) or not np.isfinite(places).all():
            raise InputError(f"The door's place (door_body_pos) is 3 finite numbers, not shape {places.shape}.")
        places = np.broadcast_to(places, (len(qpos), 3))
        if not self._free.alive:
            raise InputError("This renderer is closed: make another.")
        self._context.make_current()
        frames = np.empty((len(qpos), self.settings.height, self.settings.width, 3), np.uint8)
        for frame, position, place in zip(frames, qpos, places, strict=True):
            self._data.qpos[:] = position
            self.model.body_pos[self._door] = place
            self._draw(frame)
        # OpenGL's first row is the lowest.
        return np.ascontiguousarray(frames[:, ::-1])

    def _draw(self, frame: np.ndarray) -> None:
        mujoco.mj_kinematics(self.model, self._data)
        mujoco.mjv_updateScene(
            self.model, self._data, self._option, self._perturb, self._camera, mujoco.mjtCatBit.mjCAT_ALL, self._scene
        )
        mujoco.mjr_render(self._viewport, self._scene, self._resources)
        mujoco.mjr_readPixels(frame, None, self._viewport, self._resources)

    def close(self) -> None:
        """Free the OpenGL context."""
        self._free()

    def __enter__(self) -> "DoorRenderer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _free(context: Any, resources: mujoco.MjrContext) -> None:
    # OpenGL frees objects by number in whatever context is current: it must be their own.
    context.make_current()
    resources.free()
    context.free()
