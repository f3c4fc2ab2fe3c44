"""Cameras of every kind of environment: the view of its `render()`, many times faster or its own."""

import subprocess
import sys
import time
from dataclasses import replace

import gymnasium as gym
import imageio.v3 as imageio
import mujoco
import numpy as np
import pytest
from PIL import Image

from benchmarks.rendering import quality, scenes
from tests.test_renderer import assert_same_to_a_person
from vision_pwil.demonstrations import read
from vision_pwil.envs.camera import MujocoCamera, SelfPortrait, open_camera
from vision_pwil.envs.flat import make
from vision_pwil.envs.renderer import PRETTY, RenderSettings
from vision_pwil.system.errors import InputError

FAMILIES = (
    *("Hopper-v5", "AdroitHandHammer-v1", "FetchPush-v4", "HandReach-v3", "HandManipulateBlock-v1", "FrankaKitchen-v1"),
    *("PointMaze_UMaze-v3", "AntMaze_UMaze-v5"),
)
SMALL = {"width": 84, "height": 84}
PENDULUM = """<mujoco><worldbody><light pos="0 0 3"/><camera name="near" pos="0 -1 0" xyaxes="1 0 0 0 0 1"/>
<geom name="floor" type="plane" size="2 2 0.1" pos="0 0 -1"/>
<body name="rod"><joint type="hinge" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.05"/></body>
</worldbody></mujoco>"""


class OwnPendulum(gym.Env):
    """Someone's own model: no renderer, no render mode, a colour that changes at a reset."""

    observation_space, action_space = gym.spaces.Box(-9, 9, (1,)), gym.spaces.Box(-1, 1, (1,))

    def __init__(self) -> None:
        self.model = mujoco.MjModel.from_xml_string(PENDULUM)
        self.data = mujoco.MjData(self.model)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[0] = self.np_random.uniform(-1, 1)
        self.model.geom_rgba[1, :3] = (1, 0, 0) if seed == 1 else (0, 1, 0)
        return self.data.qpos.copy(), {}

    def step(self, action):
        mujoco.mj_step(self.model, self.data)
        return self.data.qpos.copy(), 0.0, False, False, {}


gym.register("test/OwnPendulum-v0", OwnPendulum, max_episode_steps=10)


def one(camera) -> np.ndarray:
    return camera.draw(camera.snapshot()[None])[0]


@pytest.mark.parametrize("env_id", FAMILIES)
def test_with_everything_turned_on_it_is_the_environments_own_picture(env_id: str) -> None:
    """To the last bit, from reset(seed=0): the view, the goals, what is shown and what is hidden."""
    sized = {} if "Maze" in env_id or "Kitchen" in env_id else SMALL
    env = make(env_id, render_mode="rgb_array", **sized)
    env.reset(seed=0)
    camera = open_camera(env)
    assert one(camera).shape == (84, 84, 3) and one(camera).std() > 10
    camera.close()
    theirs = make(env_id, render_mode="rgb_array", **sized)  # its renderer wants an OpenGL context of its own making
    theirs.reset(seed=0)
    expected = theirs.render()
    theirs.close()
    height, width, _ = expected.shape
    full = open_camera(env, replace(quality(env), width=width, height=height))
    np.testing.assert_array_equal(one(full), expected)
    full.close()


@pytest.mark.parametrize("env_id", ["AdroitHandHammer-v1", "AdroitHandRelocate-v1", "FetchPush-v4"])
def test_the_default_is_the_same_picture_to_a_person(env_id: str) -> None:
    env = make(env_id)
    snapshots = scenes(env, 12)
    fast, plain = MujocoCamera(env, RenderSettings()), MujocoCamera(env, replace(quality(env), shadows=False))
    assert_same_to_a_person(fast.draw(snapshots), plain.draw(snapshots))
    fast.close()
    plain.close()


def test_a_snapshot_is_cheap_and_disturbs_nothing() -> None:
    """Fetch shows its goal only when it draws itself, and then runs its dynamics forward: not here."""
    watched, alone = make("FetchPush-v4"), make("FetchPush-v4")
    camera = open_camera(watched)
    watched.reset(seed=0)
    alone.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        camera.snapshot()
        action = rng.uniform(-1, 1, 4)
        np.testing.assert_array_equal(watched.step(action)[0]["observation"], alone.step(action)[0]["observation"])
    for name in ("site_pos", "geom_rgba"):
        np.testing.assert_array_equal(
            getattr(watched.unwrapped.model, name), getattr(alone.unwrapped.model, name), err_msg=name
        )
    hammer = make("AdroitHandHammer-v1")
    camera = open_camera(hammer)
    started = time.process_time()
    for _ in range(100):
        camera.snapshot()
    assert (time.process_time() - started) / 100 < 1e-3  # microseconds, in truth


def test_every_episode_has_the_same_view_and_fingerprint() -> None:
    """Gymnasium looks at where the geoms happen to be when it first draws; here that is always reset(seed=0)."""
    prints = []
    for seed in (None, 5, 6):
        env = make("AdroitHandRelocate-v1")
        if seed is not None:
            env.reset(seed=seed)
        prints.append(open_camera(env).fingerprint)
    assert len(set(prints)) == 1 and open_camera(env, PRETTY).fingerprint != prints[0]


def test_another_camera_draws_the_same_snapshots() -> None:
    env = make("AdroitHandRelocate-v1")
    small, large = open_camera(env), open_camera(env, PRETTY)
    env.reset(seed=1)
    snapshots = [small.snapshot()]
    env.reset(seed=2)  # the ball and its goal are elsewhere: fields of the model, not joints
    snapshots.append(small.snapshot())
    frames, pretty = small.draw(np.array(snapshots)), large.draw(np.array(snapshots))
    assert pretty.shape == (2, 480, 480, 3)
    reduced = np.array([np.asarray(Image.fromarray(frame).resize((84, 84), Image.Resampling.BOX)) for frame in pretty])
    alike, unlike = (np.abs(reduced.astype(int) - other).mean() for other in (frames, frames[::-1]))
    assert alike < unlike
    small.close()
    large.close()


def test_ones_own_model_needs_no_renderer_and_no_render_mode() -> None:
    env = make("test/OwnPendulum-v0", render_mode="rgb_array")
    camera = open_camera(env)
    env.reset(seed=1)
    red = camera.snapshot()
    env.reset(seed=2)
    red, green = camera.draw(np.array([red, camera.snapshot()])).astype(int)
    assert (red[..., 0] - red[..., 1]).max() > 80 and (green[..., 1] - green[..., 0]).max() > 80
    near = open_camera(env, RenderSettings(camera="near"))
    assert near.settings.pose == {} and (one(near) != one(camera)).any()
    moved = open_camera(env, RenderSettings(distance=1.0))
    assert moved.settings.distance == 1.0 and moved.settings.lookat == camera.settings.lookat
    with pytest.raises(InputError, match="no camera 'far'; it has near"):
        one(open_camera(env, RenderSettings(camera="far")))
    for each in (camera, near, moved):
        each.close()


def test_the_tracking_camera_follows() -> None:
    env = make("Hopper-v5")
    env.reset(seed=0)
    still, follows = open_camera(env), open_camera(env, RenderSettings(camera="track"))
    qpos = np.repeat(env.unwrapped.data.qpos[None], 2, 0)
    qpos[1, 0] += 10.0
    orange = [
        (frames[..., 0].astype(int) - frames[..., 2] > 40).sum((1, 2))
        for frames in (camera.draw(camera.pose(qpos)) for camera in (still, follows))
    ]
    assert orange[0][0] > 30 and orange[0][1] == 0  # it ran out of the picture
    assert orange[1][1] > 0.8 * orange[1][0] > 0
    still.close()
    follows.close()


def test_what_is_not_on_mujoco_draws_itself() -> None:
    env = make("Pendulum-v1", render_mode="rgb_array")
    camera = open_camera(env, RenderSettings(width=50, height=40))
    assert isinstance(camera, SelfPortrait) and camera.fingerprint is None
    env.reset(seed=0)
    middle = Image.fromarray(env.render()[50:450])  # of 500 x 500 pixels
    np.testing.assert_array_equal(one(camera), np.asarray(middle.resize((50, 40), Image.Resampling.BOX)))
    assert camera.draw(np.empty((0, 40, 50, 3), np.uint8)).shape == (0, 40, 50, 3)


def test_a_wide_environment_looks_as_its_videos_do(tmp_path) -> None:
    """What env.render() gives, written by imageio without loss and read again: the same frames as the camera's."""
    env = make("MountainCarContinuous-v0", render_mode="rgb_array")
    camera = open_camera(env)
    env.reset(seed=0)
    shots, pictures = [], []
    for _ in range(3):
        env.step(np.ones(1, np.float32))
        shots.append(camera.snapshot())
        pictures.append(env.render())  # 600 x 400
    for number, picture in enumerate(pictures):
        imageio.imwrite(tmp_path / f"{number}.png", picture)
    np.testing.assert_array_equal(camera.draw(np.array(shots)), read(tmp_path).episodes[0].frames)


def test_an_environment_that_cannot_draw_itself_gets_a_sentence() -> None:
    with pytest.raises(InputError, match=r'Pendulum-v1 draws no pictures.*render_mode="rgb_array"'):
        open_camera(make("Pendulum-v1"))
    code = """
import sys
sys.modules["pygame"] = None
from vision_pwil.demonstrations import read
from vision_pwil.envs.camera import open_camera
from vision_pwil.envs.flat import make
open_camera(make("Pendulum-v1", render_mode="rgb_array"))
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert "InputError: Pendulum-v1 cannot draw itself here: pygame is not installed" in result.stderr
