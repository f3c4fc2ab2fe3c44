import gc
import json
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from benchmarks.rendering import PLAIN, SHIPPED, states, structural_similarity
from tests.shared import DOOR, needs_shared
from vision_pwil.door_env import DoorEnv
from vision_pwil.envs.meshes import door_model, triangle_count
from vision_pwil.envs.renderer import PRETTY, DoorRenderer, RenderSettings
from vision_pwil.system.errors import InputError

# isort: split
import gymnasium_robotics

SIMILAR = 0.95
"""Mean structural similarity to the full-quality frame without shadows, over the frames of a test."""
EVERY = 0.93
"""The same for every single frame."""


@pytest.fixture(scope="module")
def scenes() -> tuple[np.ndarray, np.ndarray]:
    return states(12)


def assert_same_to_a_person(frames: np.ndarray, reference: np.ndarray) -> None:
    similarity = structural_similarity(frames, reference)
    assert similarity.mean() >= SIMILAR and similarity.min() >= EVERY, similarity


def test_similarity_is_one_for_equal_frames_and_follows_the_formula() -> None:
    rng = np.random.default_rng(0)
    frame = rng.integers(0, 256, (1, 84, 84, 3), np.uint8)
    assert structural_similarity(frame, frame) == pytest.approx(1.0)
    assert structural_similarity(frame, 255 - frame)[0] < 0
    # Two flat frames: only the term of the means is left.
    dark, light = np.full((1, 20, 20, 3), 50, np.uint8), np.full((1, 20, 20, 3), 150, np.uint8)
    c1 = 2.55**2
    assert structural_similarity(dark, light)[0] == pytest.approx((2 * 50 * 150 + c1) / (50**2 + 150**2 + c1))


def test_the_view_is_gymnasiums() -> None:
    """With everything turned on, the frame is the one that AdroitHandDoor-v1 renders, to the last bit."""
    gym.register_envs(gymnasium_robotics)
    theirs = gym.make("AdroitHandDoor-v1", render_mode="rgb_array", width=84, height=84)
    theirs.reset(seed=0)
    expected, door = theirs.render(), theirs.unwrapped
    camera = door.mujoco_renderer.viewer.cam
    settings = RenderSettings()
    view = (settings.distance, settings.azimuth, settings.elevation)
    assert view == (camera.distance, camera.azimuth, camera.elevation)
    np.testing.assert_allclose(settings.lookat, camera.lookat, atol=1e-8)
    exact = replace(SHIPPED, lookat=tuple(camera.lookat))
    qpos, place = door.data.qpos.copy(), door.model.body_pos[door.door_body_id].copy()
    theirs.close()
    with DoorRenderer(exact) as renderer:
        np.testing.assert_array_equal(renderer.render(qpos, place), expected)


def test_the_default_looks_the_same_in_random_play(scenes: tuple[np.ndarray, np.ndarray]) -> None:
    with DoorRenderer() as fast, DoorRenderer(PLAIN) as plain:
        assert_same_to_a_person(fast.render_many(*scenes), plain.render_many(*scenes))


@needs_shared
def test_the_default_looks_the_same_in_human_demonstrations() -> None:
    from vision_pwil.demonstrations import read

    qpos, places = [], []
    env = DoorEnv()
    for episode in read(DOOR).episodes[::5]:
        env.reset(options={"state": episode.initial_state})
        for step, action in enumerate(episode.actions):
            terminated = env.step(action)[2]
            if step % 30 == 0 or terminated:
                state = env.get_state()
                qpos.append(state["qpos"])
                places.append(state["door_body_pos"])
            if terminated:
                break
        assert terminated, "the demonstration opens the door again"
    with DoorRenderer() as fast, DoorRenderer(PLAIN) as plain:
        assert_same_to_a_person(
            fast.render_many(np.array(qpos), np.array(places)), plain.render_many(np.array(qpos), np.array(places))
        )


def test_frames_depend_on_the_state_alone(scenes: tuple[np.ndarray, np.ndarray]) -> None:
    qpos, places = scenes
    with DoorRenderer() as renderer:
        frames = renderer.render_many(qpos, places)
        assert frames.shape == (len(qpos), 84, 84, 3) and frames.dtype == np.uint8 and frames.flags.c_contiguous
        for index in reversed(range(len(qpos))):
            np.testing.assert_array_equal(renderer.render(qpos[index], places[index]), frames[index])
        assert len({frame.tobytes() for frame in frames}) == len(frames)
        assert renderer.render_many(qpos[:0], places[:0]).shape == (0, 84, 84, 3)
    with DoorRenderer() as another:
        np.testing.assert_array_equal(another.render_many(qpos, places), frames)


def test_a_recorded_state_gives_the_environments_frame_in_another_process() -> None:
    env = DoorEnv(render_mode="rgb_array")
    env.reset(seed=2)
    for _ in range(10):
        env.step(np.ones(28))
    frame, state = env.render(), env.get_state()
    env.close()
    code = "import sys, json, numpy as np; from vision_pwil.envs.renderer import DoorRenderer; q, p = json.load(sys.stdin); "
    code += "sys.stdout.buffer.write(DoorRenderer().render(np.array(q), np.array(p)).tobytes())"
    sent = json.dumps([state["qpos"].tolist(), state["door_body_pos"].tolist()]).encode()
    result = subprocess.run([sys.executable, "-c", code], input=sent, capture_output=True, timeout=120)
    assert frame is not None and result.stdout == frame.tobytes(), result.stderr.decode()
    assert b"Exception" not in result.stderr, "an open renderer goes quietly with its process"


def test_renderers_live_and_die_side_by_side(scenes: tuple[np.ndarray, np.ndarray]) -> None:
    qpos, places = scenes
    first = DoorRenderer()
    expected = first.render_many(qpos, places)
    second = DoorRenderer(RenderSettings(width=32, height=20))
    assert second.render(qpos[0], places[0]).shape == (20, 32, 3)
    np.testing.assert_array_equal(first.render_many(qpos, places), expected)
    del second
    gc.collect()
    np.testing.assert_array_equal(first.render_many(qpos, places), expected)
    first.close()
    first.close()
    with pytest.raises(InputError, match="closed"):
        first.render(qpos[0], places[0])


def test_pretty_frames_show_the_same_scene(scenes: tuple[np.ndarray, np.ndarray]) -> None:
    qpos, places = scenes[0][::4], scenes[1][::4]
    with DoorRenderer(replace(PRETTY, shadows=False)) as large, DoorRenderer() as small, DoorRenderer(PRETTY) as pretty:
        frames = large.render_many(qpos, places)
        reduced = frames[:, :480, :480].reshape(len(qpos), 40, 12, 40, 12, 3).mean((2, 4))
        thumb = small.render_many(qpos, places)
        # Compare on the coarse grid that both sizes share: 480 / 12 = 40 and 84 sampled at the same centres.
        centres = ((np.arange(40) + 0.5) / 40 * 84).astype(int)
        assert np.corrcoef(reduced.ravel(), thumb[:, centres][:, :, centres].ravel())[0, 1] > 0.9
        assert (pretty.render(qpos[0], places[0]) < frames[0]).mean() > 0.02, "shadows darken"


def test_the_meshes_meet_their_budget_and_leave_the_scene_alone() -> None:
    whole, small = door_model(0), door_model(2000)
    assert triangle_count(whole) == 28_159
    assert triangle_count(small) == pytest.approx(2000, rel=0.05)
    assert small.nq == whole.nq and small.ngeom == whole.ngeom and small.stat.extent == whole.stat.extent


def test_bad_states_are_refused_in_a_sentence() -> None:
    with DoorRenderer() as renderer:
        place = np.zeros(3)
        for qpos in (np.zeros(29), np.full(30, np.nan)):
            with pytest.raises(InputError, match="30 finite joint positions"):
                renderer.render(qpos, place)
        for wrong in (np.zeros(2), np.zeros((5, 3)), np.full(3, np.inf)):
            with pytest.raises(InputError, match="door's place"):
                renderer.render(np.zeros(30), wrong)


def test_the_fingerprint_is_stable_and_tells_every_setting() -> None:
    assert RenderSettings().fingerprint == "df9b7596746eb3fc"
    seen = {RenderSettings().fingerprint}
    for field in fields(RenderSettings):
        value = getattr(RenderSettings(), field.name)
        changed = (not value) if isinstance(value, bool) else (1.0, 2.0, 3.0) if field.name == "lookat" else value + 1
        seen.add(replace(RenderSettings(), **{field.name: changed}).fingerprint)
    assert len(seen) == 1 + len(fields(RenderSettings))
    # 1 and 1.0, a list and a tuple, are the same settings.
    same = RenderSettings(elevation=-45, azimuth=90, lookat=list(RenderSettings().lookat))  # type: ignore[arg-type]
    assert same.fingerprint == RenderSettings().fingerprint


def test_an_encoder_of_other_settings_is_refused_in_a_sentence() -> None:
    settings = RenderSettings()
    settings.require_match(settings.fingerprint, "the encoder")
    with pytest.raises(InputError, match=f"the encoder a.safetensors.*{PRETTY.fingerprint}.*{settings.fingerprint}"):
        settings.require_match(PRETTY.fingerprint, "the encoder a.safetensors")
    with pytest.raises(InputError, match="the frames"):
        settings.require_match(None, "the frames")


@pytest.mark.parametrize("wrong", [{"width": 0}, {"height": -1}, {"samples": -1}, {"slices": 2}, {"triangles": -5}])
def test_impossible_settings_are_refused_in_a_sentence(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        RenderSettings(**wrong)


def test_the_benchmark_writes_its_table_and_picture(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.rendering", "--out", str(tmp_path), "--count", "3", "--rounds", "1"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    rows = json.loads((tmp_path / "summary.json").read_text())["rows"]
    assert rows["simplified meshes: the default"]["times_faster"] > 10  # far below what an idle machine measures
    assert "SSIM" in (tmp_path / "table.md").read_text() and (tmp_path / "side-by-side.png").stat().st_size > 1000
