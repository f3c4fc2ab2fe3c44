"""Replay and rendering of the door's demonstrations, the cache, recording, and the command line."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from tests.shared import DOOR, needs_shared
from tests.test_demonstrations import command
from vision_pwil.demonstrations import Demonstrations, Episode, read
from vision_pwil.demonstrations.cache import cache_folder, cached
from vision_pwil.door_env import ENV_ID, FRAME, SETTINGS, DoorEnv
from vision_pwil.envs.camera import MujocoCamera
from vision_pwil.envs.open_loop import hand_alone, render_door, replay, replay_table
from vision_pwil.envs.record import record
from vision_pwil.system.errors import InputError

HINGE = -2  # of qpos and qvel


def swinging(speed: float = 5.0, steps: int = 40) -> Demonstrations:
    """The hand rests while the door swings open by itself: from 0.8 rad, at so many radians a second."""
    env = DoorEnv()
    env.reset(seed=0)
    state = env.get_state()
    start = {name: state[name].copy() for name in ("qpos", "qvel", "door_body_pos")}
    start["qpos"][HINGE], start["qvel"][HINGE] = 0.8, speed
    return Demonstrations((Episode(actions=np.zeros((steps, 28)), initial_state=start),), ENV_ID, "a swing")


def test_episodes_end_where_the_door_opens(tmp_path):
    demonstrations = swinging()
    (replayed,) = replay(demonstrations)
    opened = replayed.opened
    assert opened is not None and 2 < opened < 40
    # The same by hand, with the environment that replay is said to use.
    env = DoorEnv()
    observation, _ = env.reset(options={"state": demonstrations.episodes[0].initial_state})
    states, qpos = [], []
    for _ in range(opened):
        states.append(observation)
        observation, _, terminated, _, info = env.step(np.zeros(28))
        qpos.append(env.get_state()["qpos"])
    assert terminated and info["door_angle"] > 1.0 and qpos[-2][HINGE] <= 1.0
    (episode,) = render_door(demonstrations, cache_dir=tmp_path).episodes
    assert len(episode) == opened and episode.absorbing
    assert np.array_equal(episode.states, states)
    camera = MujocoCamera(env, SETTINGS)  # each frame shows the state after its step
    place = demonstrations.episodes[0].initial_state["door_body_pos"]
    assert np.array_equal(episode.frames, camera.draw(camera.pose(np.array(qpos), {FRAME: place})))
    camera.close()


def test_a_door_that_stays_shut_is_not_absorbing(tmp_path):
    rendered = render_door(swinging(speed=0.0, steps=5), cache_dir=tmp_path)
    assert [len(episode) for episode in rendered.episodes] == [5]
    assert not rendered.episodes[0].absorbing
    (replayed,) = replay(swinging(speed=0.0, steps=5))
    assert replayed.opened is None and np.isnan(replayed.deviation)
    assert "| " in replay_table([replayed])


def test_what_cannot_be_replayed_says_so(tmp_path):
    episode = swinging().episodes[0]
    with pytest.raises(InputError, match="Episode 0 cannot be replayed"):
        replay(Demonstrations((Episode(actions=episode.actions),)))
    with pytest.raises(InputError, match="39"):
        replay(Demonstrations((Episode(np.zeros((40, 5)), episode.actions, initial_state=episode.initial_state),)))
    with pytest.raises(InputError, match="28"):
        replay(Demonstrations((Episode(actions=np.zeros((3, 5)), initial_state=episode.initial_state),)))
    with pytest.raises(InputError, match="door_body_pos"):
        render_door(
            Demonstrations((Episode(actions=episode.actions, initial_state={"qpos": np.zeros(30)}),)),
            cache_dir=tmp_path,
        )
    assert not list(tmp_path.rglob("*.demos"))


def test_rendered_frames_carry_their_settings_and_are_kept_by_them(tmp_path):
    demonstrations = swinging()
    small = replace(SETTINGS, width=20, height=16)
    first = render_door(demonstrations, small, cache_dir=tmp_path)
    assert first.render_fingerprint == small.fingerprint and first.episodes[0].frames.shape[1:] == (16, 20, 3)
    (kept,) = tmp_path.rglob("*.demos")
    before = kept.stat().st_mtime_ns
    moved = replace(demonstrations, source="elsewhere")
    again = render_door(moved, small, cache_dir=tmp_path)
    assert again.checksum == first.checksum and again.source == "elsewhere"
    assert kept.stat().st_mtime_ns == before  # read, not made again
    render_door(demonstrations, small, open_angle=0.9, cache_dir=tmp_path)
    render_door(demonstrations, replace(SETTINGS, width=16, height=16), cache_dir=tmp_path)
    render_door(swinging(speed=6.0), small, cache_dir=tmp_path)
    assert len(list(tmp_path.rglob("*.demos"))) == 4
    kept.write_bytes(kept.read_bytes()[:-100])  # damage is mended
    assert render_door(demonstrations, small, cache_dir=tmp_path).checksum == first.checksum
    assert Demonstrations.load(kept).checksum == first.checksum


def test_cache_folder_can_be_chosen(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    monkeypatch.delenv("VISION_PWIL_CACHE", raising=False)
    assert cache_folder() == Path("/xdg/vision-pwil")
    monkeypatch.setenv("VISION_PWIL_CACHE", "/named")
    assert cache_folder() == Path("/named")
    assert cache_folder(tmp_path) == tmp_path


def _fill(folder: Path, go: float, results: "multiprocessing.Queue[str]") -> None:
    def make() -> Demonstrations:
        with (folder / f"made-{os.getpid()}").open("w"):
            time.sleep(0.5)
        return Demonstrations((Episode(np.arange(3000.0).reshape(1000, 3)),))

    time.sleep(max(0.0, go - time.time()))
    results.put(cached(folder / "a.demos", make).checksum)


def test_two_processes_fill_the_cache_at_once(tmp_path):
    """Both begin together; one makes the file, the other waits and reads it."""
    context = multiprocessing.get_context("spawn")
    results: multiprocessing.Queue[str] = context.Queue()
    go = time.time() + 4.0
    processes = [context.Process(target=_fill, args=(tmp_path, go, results)) for _ in range(2)]
    for process in processes:
        process.start()
    checksums = [results.get(timeout=60) for _ in processes]
    for process in processes:
        process.join(timeout=60)
        assert process.exitcode == 0
    expected = Demonstrations((Episode(np.arange(3000.0).reshape(1000, 3)),)).checksum
    assert checksums == [expected, expected]
    assert len(list(tmp_path.glob("made-*"))) == 1
    assert {path.suffix for path in tmp_path.iterdir()} == {"", ".demos", ".lock"}


def test_a_process_that_dies_does_not_block_the_next(tmp_path):
    context = multiprocessing.get_context("spawn")
    results: multiprocessing.Queue[str] = context.Queue()
    process = context.Process(target=_fill, args=(tmp_path, 0.0, results))
    process.start()
    while not list(tmp_path.glob("made-*")):
        time.sleep(0.02)
        assert process.is_alive()
    process.kill()
    process.join()
    made = cached(tmp_path / "a.demos", lambda: Demonstrations((Episode(np.ones((2, 2))),)))
    assert Demonstrations.load(tmp_path / "a.demos").checksum == made.checksum


def test_recordings_replay_exactly():
    env = gym.make(ENV_ID, horizon=25)
    rng = np.random.default_rng(0)
    recorded = record(lambda observation, step: rng.uniform(-1, 1, 28).astype(np.float32), env, episodes=2, seed=5)
    assert recorded.env_id == ENV_ID and [len(episode) for episode in recorded.episodes] == [25, 25]
    for episode, replayed in zip(recorded.episodes, replay(recorded), strict=True):
        assert not episode.absorbing and replayed.deviation == 0.0
    assert np.array_equal(recorded.episodes[1].states[0], gym.make(ENV_ID).reset(seed=6)[0])
    with pytest.raises(InputError, match="None of the 1 episodes"):
        record(lambda observation, step: np.zeros(28), env, episodes=1, seed=0, only_absorbing=True)


def test_any_environment_can_be_recorded():
    env = gym.make("Pendulum-v1", max_episode_steps=10)
    recorded = record(lambda observation, step: observation[:1] + step, env, episodes=1, seed=0)
    (episode,) = recorded.episodes
    assert episode.initial_state is None and np.array_equal(
        episode.actions, episode.states[:, :1] + np.arange(10, dtype=np.float32)[:, None]
    )


def test_command_line_renders(tmp_path):
    swinging().save(tmp_path / "in.demos")
    done = command(
        *("render", tmp_path / "in.demos", tmp_path / "out.demos", "--videos", tmp_path / "videos"),
        *("--sheet", tmp_path / "sheet.png", "--report", tmp_path / "report.md", "--env-options", "open_angle=0.95"),
    )
    assert done.returncode == 0, done.stderr
    rendered = read(tmp_path / "out.demos")
    assert rendered.episodes[0].absorbing and rendered.render_fingerprint == SETTINGS.fingerprint
    assert (tmp_path / "report.md").read_text().strip() in done.stdout
    assert (tmp_path / "sheet.png").exists()
    (film,) = read(tmp_path / "videos").episodes  # as a video, with its compression
    assert np.abs(film.frames.astype(int) - rendered.episodes[0].frames).mean() < 4


def test_interrupted_rendering_leaves_nothing(tmp_path):
    (shut,) = swinging(speed=0.0, steps=300).episodes
    Demonstrations((shut,) * 8).save(tmp_path / "in.demos")
    arguments = ["render", tmp_path / "in.demos", tmp_path / "out.demos", "--env", ENV_ID]
    process = subprocess.Popen(
        [sys.executable, "-m", "vision_pwil", "demonstrations", *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "VISION_PWIL_CACHE": str(tmp_path / "cache")},
    )
    while not list(tmp_path.rglob("*.lock")):
        time.sleep(0.05)
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "Stopped" in errors and "Traceback" not in errors
    assert {path.name for path in tmp_path.rglob("*.demos")} == {"in.demos"}


@needs_shared
def test_all_human_demonstrations_open_the_door_again():
    replays = replay(read(DOOR))
    assert len(replays) == 25
    for each in replays:
        assert each.opened is not None and each.recorded_opened is not None
        assert abs(each.opened - each.recorded_opened) <= 3
        assert each.angle_deviation < 0.15
    assert min(each.opened for each in replays) == 157 and max(each.opened for each in replays) == 278


@needs_shared
def test_human_demonstrations_render(tmp_path):
    human = read(DOOR)
    some = Demonstrations(human.episodes[-3:], human.env_id, human.source)
    rendered = render_door(some, cache_dir=tmp_path / "one")
    assert render_door(some, cache_dir=tmp_path / "two").checksum == rendered.checksum
    for episode, each in zip(rendered.episodes, replay(some), strict=True):
        assert episode.frames.shape == (each.opened, 84, 84, 3) and episode.absorbing
        moved = np.abs(np.diff(episode.frames.astype(int), axis=0)).sum(axis=(1, 2, 3))
        assert (moved > 0).mean() > 0.9  # something moves in nearly every frame


def test_the_pantomime_is_the_demonstration_with_the_door_shut_in_the_same_view():
    near = replace(SETTINGS, lookat=(0.0, -0.05, 0.25), distance=0.95, azimuth=60.0, elevation=-30.0)
    shown = replace(read("door"), episodes=read("door").episodes[:1])
    frames = np.asarray(render_door(shown, settings=near).episodes[0].frames, int)
    (posing,) = hand_alone(shown, {}, near)
    assert posing.shape == frames.shape
    assert np.abs(posing[:20] - frames[:20]).mean() < 0.5  # the hand has not reached the handle
    assert np.abs(posing[-1] - frames[-1]).mean() > 5.0
