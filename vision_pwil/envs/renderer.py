"""Frames of any MuJoCo model from snapshots: no physics, the same picture every time.

The default settings give the view of `env.render()` without shadows, at 84x84, dozens of times faster:
`python -m benchmarks.rendering` measures each step of the way. The sky stays: it costs next to nothing.
"""

import atexit
import hashlib
import json
import weakref
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from vision_pwil.system import opengl
from vision_pwil.system.errors import InputError

# isort: split
import mujoco

from vision_pwil.envs.meshes import simplify
from vision_pwil.envs.moment import Moment

_FORMAT = 1  # of the fingerprint: raise it when the same fields come to mean another picture
_PLAIN = 8  # levels of 255 between the brightest and the darkest texel of a sky that counts as one colour
_UNUSED = {"camera": None, "smooth": False}  # settings that format 1 was without: named only where they are in use


@dataclass(frozen=True)
class RenderSettings:
    """Camera, size and quality of a frame: all that decides its pixels, given an environment and its state.

    The camera is one of the model's own, by name, or looks from a pose; what is not given of it (None) is as the
    environment's `render()` has it.
    """

    width: int = 84
    """Pixels across (the paper's frames are 84x84)."""
    height: int = 84
    """Pixels down."""
    camera: str | None = None
    """One of the model's cameras, by its name ("track" follows the robot in Gymnasium's models)."""
    lookat: tuple[float, float, float] | None = None
    """Point that the camera looks at."""
    distance: float | None = None
    """Metres from the camera to that point."""
    azimuth: float | None = None
    """Degrees about the vertical."""
    elevation: float | None = None
    """Degrees above the horizon, negative when looking down."""
    shadows: bool = False
    """Cast shadows: pretty, and slow."""
    reflections: bool = False
    """Mirror the scene in shiny surfaces."""
    samples: int = 0
    """Multisampling: smooth edges from so many samples a pixel (`vis.quality.offsamples`); 0 has none."""
    smooth: bool = True
    """Soften edges from one pixel to the next, nearly as multisampling does and at a small part of its cost."""
    slices: int = 12
    """Tessellation of round shapes, around (MuJoCo's `vis.quality.numslices`)."""
    stacks: int = 4
    """Tessellation of round shapes, along (`numstacks`)."""
    quads: int = 1
    """Tessellation of flat shapes (`numquads`); light is computed at their corners, so a lamp above the middle of a
    large table takes more than 1 to show."""
    triangles: int = 1200
    """Triangles to draw all meshes of the scene with, about; 0 draws them whole (the Adroit hand's have 28,159)."""

    def __post_init__(self) -> None:
        least = {"width": 1, "height": 1, "samples": 0, "slices": 3, "stacks": 1, "quads": 1, "triangles": 0}
        for name, value in least.items():
            if getattr(self, name) < value:
                raise InputError(f"The render setting {name} must be at least {value}, not {getattr(self, name)}.")
        if self.camera is not None and self.pose:
            raise InputError(
                f"The camera {self.camera!r} has a pose of its own: leave out {', '.join(self.pose)}, or the camera."
            )
        # One spelling of a number, so that equal settings have one fingerprint.
        for name, given in self.pose.items():
            plain = tuple(float(value) for value in given) if name == "lookat" else float(given)
            object.__setattr__(self, name, plain)

    @property
    def pose(self) -> dict[str, Any]:
        """What is given of the pose."""
        given = {name: getattr(self, name) for name in ("lookat", "distance", "azimuth", "elevation")}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def fingerprint(self) -> str:
        """A short name for these very settings, the same on every machine; it travels with frames and encoders."""
        used = {name: value for name, value in asdict(self).items() if name not in _UNUSED or value != _UNUSED[name]}
        text = json.dumps({"format": _FORMAT, **used}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def require_match(self, fingerprint: str | None, what: str) -> None:
        """Raise unless `what` (say, "the encoder encoder.safetensors") was made with these settings."""
        if fingerprint != self.fingerprint:
            raise InputError(
                f"The render settings of {what} have fingerprint {fingerprint}, those in use {self.fingerprint}: "
                "render its frames or train it again with the settings in use, or use the settings it was made with."
            )


PRETTY = RenderSettings(
    width=480, height=480, shadows=True, samples=4, smooth=False, slices=28, stacks=16, quads=4, triangles=0
)
"""Large frames of the same scene, for videos that people watch."""


class Renderer:
    """Draws a model from snapshots. Holds its own copy of the model and an OpenGL context, freed by `close`.

    Args:
        model: the model; it stays as it is.
        settings: with a camera or a whole pose.
        flags: MuJoCo's visual options (`mjtVisFlag`) that differ from its defaults.
    """

    def __init__(
        self, model: mujoco.MjModel, settings: RenderSettings, flags: Mapping[int, bool] | None = None
    ) -> None:
        self.settings = settings
        self._camera = _camera(model, settings)
        self.model, self._frames = simplify(model, settings.triangles)
        visual = self.model.vis
        visual.global_.offwidth, visual.global_.offheight = settings.width, settings.height
        visual.quality.offsamples = settings.samples
        visual.quality.numslices, visual.quality.numstacks = settings.slices, settings.stacks
        visual.quality.numquads = settings.quads
        if not settings.shadows:
            visual.quality.shadowsize = 0
        self._data = mujoco.MjData(self.model)
        self._moment = Moment(self.model, self._data)
        # The fields of the last snapshot, its geoms among them, and where those are in the simplified model.
        self._fields, self._geoms = b"", np.empty(0)
        self._placed = (np.empty((0, 3)), np.empty((0, 4)))
        self._context = opengl.context(settings.width, settings.height)
        self._context.make_current()
        self._resources = mujoco.MjrContext(self.model, mujoco.mjtFontScale.mjFONTSCALE_100)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._resources)
        if settings.smooth:
            _leave_plain_sky_unfiltered(self.model, self._resources)
        self._free = weakref.finalize(self, _free, self._context, self._resources)
        # At exit before MuJoCo closes the display: exit handlers run last in, first out, and its own is in by now.
        self._free.atexit = False
        atexit.register(self._free)
        self._viewport = mujoco.MjrRect(0, 0, settings.width, settings.height)
        self._option, self._perturb = mujoco.MjvOption(), mujoco.MjvPerturb()
        for flag, value in (flags or {}).items():
            self._option.flags[flag] = value
        self._scene = mujoco.MjvScene(self.model, 1000 + self.model.ngeom + self.model.nsite + self.model.nwrap)
        self._scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = settings.shadows
        self._scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = settings.reflections

    def draw(self, snapshots: np.ndarray) -> np.ndarray:
        """The frames (n, height, width, 3) of n snapshots of the model."""
        snapshots = np.asarray(snapshots, dtype=np.float64)
        if snapshots.ndim != 2 or snapshots.shape[1] != self._moment.size or not np.isfinite(snapshots).all():
            raise InputError(
                f"A frame needs a snapshot of {self._moment.size} finite numbers, not shape {snapshots.shape}: "
                "was it taken in another environment?"
            )
        if not self._free.alive:
            raise InputError("This camera is closed: open another.")
        self._context.make_current()
        frames = np.empty((len(snapshots), self.settings.height, self.settings.width, 3), np.uint8)
        for frame, snapshot in zip(frames, snapshots, strict=True):
            self._place(snapshot)
            self._draw(frame)
        frames = np.ascontiguousarray(frames[:, ::-1])  # OpenGL's first row is the lowest
        return _smoothed(frames) if self.settings.smooth else frames

    def _place(self, snapshot: np.ndarray) -> None:
        """Put the model in the moment of the snapshot."""
        fields = snapshot[self._moment.fields].tobytes()
        if fields == self._fields:  # mostly so within an episode
            self._moment.write(snapshot, fields=False)
            return
        self._moment.write(snapshot)
        self._fields = fields
        geoms = np.concatenate([snapshot[self._moment.parts[name]] for name in ("geom_pos", "geom_quat")])
        if not np.array_equal(geoms, self._geoms):
            placed = self._frames.place(self.model.geom_pos, self.model.geom_quat)
            self._geoms, self._placed = geoms, placed
        self.model.geom_pos[:], self.model.geom_quat[:] = self._placed

    def _draw(self, frame: np.ndarray) -> None:
        mujoco.mj_kinematics(self.model, self._data)
        mujoco.mj_comPos(self.model, self._data)  # for cameras that follow a centre of mass
        mujoco.mj_camlight(self.model, self._data)
        mujoco.mj_tendon(self.model, self._data)
        mujoco.mjv_updateScene(
            self.model, self._data, self._option, self._perturb, self._camera, mujoco.mjtCatBit.mjCAT_ALL, self._scene
        )
        mujoco.mjr_render(self._viewport, self._scene, self._resources)
        mujoco.mjr_readPixels(frame, None, self._viewport, self._resources)

    def close(self) -> None:
        """Free the OpenGL context."""
        self._free()


def _camera(model: mujoco.MjModel, settings: RenderSettings) -> mujoco.MjvCamera:
    camera = mujoco.MjvCamera()
    if settings.camera is None:
        camera.lookat[:], camera.distance = settings.lookat, settings.distance
        camera.azimuth, camera.elevation = settings.azimuth, settings.elevation
        return camera
    camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
    camera.fixedcamid = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, settings.camera)
    if camera.fixedcamid < 0:
        names = [model.camera(number).name for number in range(model.ncam)]
        raise InputError(f"The model has no camera {settings.camera!r}; it has {', '.join(names) or 'none'}.")
    return camera


def _leave_plain_sky_unfiltered(model: mujoco.MjModel, resources: mujoco.MjrContext) -> None:
    """A sky of nearly one colour, smoothed later, needs no filtering, which can take a tenth of a frame's time."""
    from OpenGL import GL  # MuJoCo's own; knows its platform once there is a context

    for number in np.flatnonzero(model.tex_type == mujoco.mjtTexture.mjTEXTURE_SKYBOX):
        size = model.tex_width[number] * model.tex_height[number] * model.tex_nchannel[number]
        start = model.tex_adr[number]
        texels = model.tex_data[start : start + size].reshape(-1, model.tex_nchannel[number])
        if np.ptp(texels, axis=0).max() > _PLAIN:
            continue
        GL.glBindTexture(GL.GL_TEXTURE_CUBE_MAP, resources.texture[number])
        for when in (GL.GL_TEXTURE_MIN_FILTER, GL.GL_TEXTURE_MAG_FILTER):
            GL.glTexParameteri(GL.GL_TEXTURE_CUBE_MAP, when, GL.GL_NEAREST)


def _smoothed(frames: np.ndarray) -> np.ndarray:
    """Every pixel with an eighth of its neighbours on either side, and then of those above and below."""
    smooth = np.empty_like(frames)
    _, height, width, colours = frames.shape
    padded = np.empty((height + 2, width + 2, colours), np.uint16)  # at the border a pixel is its own neighbour
    for frame, out in zip(frames, smooth, strict=True):  # one by one: a frame fits the processor's cache
        padded[1:-1, 1:-1] = frame
        padded[:, 0], padded[:, -1] = padded[:, 1], padded[:, -2]
        padded[0], padded[-1] = padded[1], padded[-2]
        sums = padded.ravel()  # as one long row, which is faster; what runs over its ends is border
        for neighbour in (colours, (width + 2) * colours):
            total = 6 * sums
            total[neighbour:] += sums[:-neighbour]
            total[:-neighbour] += sums[neighbour:]
            sums = total
        sums += 32  # to round
        sums >>= 6
        out[:] = sums.reshape(padded.shape)[1:-1, 1:-1]
    return smooth


def _free(context: Any, resources: mujoco.MjrContext) -> None:
    # OpenGL frees objects by number in whatever context is current: it must be their own.
    context.make_current()
    resources.free()
    context.free()
