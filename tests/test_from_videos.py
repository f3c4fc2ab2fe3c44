"""From videos alone to a policy: every kind of camera and observation, what is used, and what is refused."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import imageio.v3 as imageio
import numpy as np
import pytest
import torch
import tyro

from tests.shared import HAMMER, needs_shared
from tools import pages
from vision_pwil.commands.train import configured, describe
from vision_pwil.demonstrations import Demonstrations, Episode, read
from vision_pwil.encoder import EMBEDDING, Encoder
from vision_pwil.envs.camera import MujocoCamera, SelfPortrait, open_camera
from vision_pwil.envs.flat import FlatEnv, make
from vision_pwil.envs.renderer import RenderSettings
from vision_pwil.system.checkpoint import load
from vision_pwil.system.errors import InputError
from vision_pwil.tasks import imitation, presets
from vision_pwil.tasks.atoms import Atoms
from vision_pwil.tasks.library import _settings
from vision_pwil.tasks.settings import Choice
from vision_pwil.tasks.task import Task
from vision_pwil.tasks.views import check_views

DOCS = pages.ROOT / "docs"
SMALL = {"steps": 120, "random_steps": 60, "batch_size": 8, "hidden": (8,), "evaluation_interval": 80}
SMALL |= {"evaluation_episodes": 1, "horizon": 40, "audit": False, "video": False}
PENDULUM = "Pendulum-v1"  # draws itself


class Blind(gym.Env):
    """Draws nothing, whatever it is asked."""

    observation_space, action_space = gym.spaces.Box(-1, 1, (2,)), gym.spaces.Box(-1, 1, (1,))
    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012  (Gymnasium's convention)

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        return np.zeros(2, np.float32), {}

    def step(self, action):
        return np.zeros(2, np.float32), 0.0, False, False, {}


class Dark(Blind):
    """Says that it draws, and gives nothing."""

    def render(self):
        return None


class Modeless(Dark):
    """Knows no render mode."""

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self):
        super().__init__()


gym.register("test/Blind-v0", Blind, max_episode_steps=20)
gym.register("test/Dark-v0", Dark, max_episode_steps=20)
gym.register("test/Modeless-v0", Modeless, max_episode_steps=20)


def film(env_id: str, folder: Path, videos: int = 4, steps: int = 12, rate: float = 0.0, **options) -> Path:
    """Random play as another tool would film it: env.render() through imageio, as mp4."""
    env = make(env_id, render_mode="rgb_array", **options)
    env.action_space.seed(0)
    folder.mkdir()
    for number in range(videos):
        env.reset(seed=number)
        frames = []
        for _ in range(steps):
            env.step(env.action_space.sample())
            frames.append(env.render())
        fps = rate or env.metadata["render_fps"]
        imageio.imwrite(folder / f"{number}.mp4", frames, fps=fps, macro_block_size=2)
    env.close()
    return folder


@pytest.fixture(scope="module")
def pendulums(tmp_path_factory) -> Path:
    return film(PENDULUM, tmp_path_factory.mktemp("pendulum") / "videos")


def settings(tmp_path: Path, demos: Path | None, **options):
    options = {"env": PENDULUM, **options}
    torch.manual_seed(0)  # the same weights each time
    Encoder().save(tmp_path / "encoder.safetensors")
    given = {"demos": demos, "encoder": tmp_path / "encoder.safetensors", "run": tmp_path / "run", **SMALL, **options}
    return _settings(given.pop("env"), **given)


@pytest.mark.parametrize("observe", ["state", "embedding"])
@pytest.mark.parametrize(
    ("env_id", "kind", "view"),
    [
        (PENDULUM, SelfPortrait, {}),
        ("Hopper-v5", MujocoCamera, {"view": "track"}),
        ("FetchReach-v4", MujocoCamera, {"distance": 1.0}),  # observations in parts
        ("PointMaze_UMaze-v3", MujocoCamera, {}),  # its robot's renderer is that of an environment inside
    ],
)
def test_every_kind_of_camera_and_observation(env_id: str, kind: type, view: dict, observe: str) -> None:
    config = presets.defaults(Choice("")).task
    config = replace(
        config, horizon=10, ending="last", view=replace(config.view, **view), observe=observe, proprioception=(1, 0)
    )
    atoms = Atoms(np.random.default_rng(0).normal(size=(20, EMBEDDING)).astype(np.float32), np.ones(20, np.int64))
    stage = Task(env_id, "pwil", config, atoms, Encoder()).stage()
    rng = np.random.default_rng(0)
    chosen = rng.uniform(-1, 1, (10, stage.action_size)).astype(np.float32)
    played = stage.rollout(lambda observation, step: chosen[step], seed=3)
    assert type(stage.camera) is kind and len(played.actions) == 10
    assert np.isfinite(played.rewards).all() and (played.rewards > 0).any()
    points = played.record["points"]
    assert points.shape == (3, EMBEDDING)  # after 4, 8 and 10 steps
    state = FlatEnv(env_id).reset(3)
    if observe == "state":
        np.testing.assert_array_equal(played.observations[0], [*state.astype(np.float32), 0.0])
        return
    assert played.observations.shape == (11, 2 * EMBEDDING + 2 + 1)
    np.testing.assert_array_equal(played.observations[0, -3:-1], state[[1, 0]].astype(np.float32))
    # What the policy saw is what the reward sees, and between two decisions nothing new is seen.
    for step, (present, previous) in {4: (0, None), 7: (0, None), 8: (1, 0), 10: (1, 0)}.items():
        np.testing.assert_array_equal(played.observations[step, :EMBEDDING], points[present])
        if previous is not None:
            np.testing.assert_array_equal(played.observations[step, EMBEDDING : 2 * EMBEDDING], points[previous])


def test_a_policy_that_sees_embeddings_is_trained(tmp_path, pendulums) -> None:
    """The real command, and what it leaves acts from pictures."""
    Encoder().save(tmp_path / "encoder.safetensors")
    line = (
        f"train --env {PENDULUM} --demos {pendulums} --encoder {tmp_path}/encoder.safetensors --run {tmp_path}/run "
        "--observe embedding --proprioception 2 --horizon 40 --steps 120 --random-steps 60 --batch-size 8 --hidden 8 "
        "--evaluation-interval 80 --evaluation-episodes 1 --no-audit"
    )
    done = command(line)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "policy.mp4").stat().st_size > 1000
    tensors, about = load(tmp_path / "run" / "policy.safetensors")
    assert any(tensor.shape[-1] == 2 * EMBEDDING + 1 + 1 for tensor in tensors.values())  # two frames, speed, time
    assert about["observation"]["embedding"] == EMBEDDING and about["observation"]["proprioception"] == [2]
    done = command(f"evaluate {tmp_path}/run --episodes 1")
    assert done.returncode == 0, done.stderr


def command(line: str) -> subprocess.CompletedProcess:
    words = [sys.executable, "-m", "vision_pwil", *line.split()]
    return subprocess.run(words, capture_output=True, text=True, timeout=600, cwd=pages.ROOT)


def test_states_actions_and_rewards_of_demonstrations_are_not_used(tmp_path, pendulums) -> None:
    """Left out, or nonsense of another size: the same run, to the last bit of its policy."""
    videos, rng, policies, scores = read(pendulums), np.random.default_rng(0), [], []
    nonsense = tuple(
        Episode(rng.normal(size=(len(each), 7)), 1e9 * rng.normal(size=(len(each), 5)), each.frames, name="x")
        for each in videos.episodes
    )
    for name, episodes in {"bare": videos.episodes, "nonsense": nonsense}.items():
        folder = tmp_path / name
        folder.mkdir()
        Demonstrations(episodes, source="mine").save(folder / "mine.demos")
        outcome = imitation.imitate(settings(folder, folder / "mine.demos", audit=True))
        assert outcome.finished
        policies.append(load(folder / "run" / "policy.safetensors")[0])
        scores.append(json.loads((folder / "run" / "audit.json").read_text())["scores"])
    bare, other = policies
    assert bare.keys() == other.keys() and all((bare[key] == other[key]).all() for key in bare)
    assert scores[0] == scores[1]


def test_foreign_videos_are_shown_beside_the_environment(tmp_path, pendulums, capsys) -> None:
    shown, env = read(pendulums), FlatEnv(PENDULUM, render_mode="rgb_array")
    check_views(shown, env, open_camera(env.env), tmp_path)
    said = capsys.readouterr().err
    assert "compare the first frame" in said and str(tmp_path / "views.png") in said and "ffmpeg" not in said
    picture = imageio.imread(tmp_path / "views.png")
    np.testing.assert_array_equal(picture[2:86, 2:86], shown.episodes[0].frames[0])
    camera = open_camera(env.env)
    env.reset(0)
    np.testing.assert_array_equal(picture[2:86, 88:172], camera.draw(camera.snapshot()[None])[0])


def test_videos_at_another_rate_are_noticed(tmp_path, pendulums, capsys) -> None:
    env = FlatEnv(PENDULUM, render_mode="rgb_array")
    check_views(replace(read(pendulums), rate=10.0), env, open_camera(env.env), tmp_path)
    said = capsys.readouterr().err
    assert "10 frames a second" in said and "30 steps" in said and "ffmpeg -i video.mp4 -r 30" in said


def test_frames_of_another_camera_are_refused(tmp_path) -> None:
    env = FlatEnv("Hopper-v5", render_mode="rgb_array")
    near = open_camera(env.env, RenderSettings(distance=1.0))
    frames = tuple(Episode(frames=np.zeros((5, 84, 84, 3), np.uint8)) for _ in range(4))
    shown = Demonstrations(frames, "Hopper-v5", render_fingerprint=near.fingerprint)
    check_views(shown, env, near, tmp_path)
    with pytest.raises(InputError, match=f"{near.fingerprint}, the camera here has .*render them again"):
        check_views(shown, env, open_camera(env.env), tmp_path)
    assert not [*tmp_path.iterdir()]


def test_videos_decide_the_preset_where_states_are_usual(pendulums) -> None:
    words = ["--env", "Hopper-v5", "--demos"]
    from_videos = configured([*words, str(pendulums)], Choice(env=tyro.MISSING, agent=""))
    assert from_videos.task.compare == "frames" and from_videos.agent == "sac"
    assert _settings("Hopper-v5", demos=str(pendulums)) == from_videos
    shipped = Path("vision_pwil/demonstrations/assets/Hopper-v5.demos")
    from_states = configured([*words, str(pages.ROOT / shipped)], Choice(env=tyro.MISSING, agent=""))
    assert from_states.task.compare == "pairs" and from_states.agent == "d4pg"


@needs_shared
def test_a_recording_becomes_videos_that_end_with_the_nail_driven_in(tmp_path) -> None:
    """Hammer, without a word about the environment: the file names it. The mp4 files show what was rendered."""
    recorded = read(HAMMER)
    replace(recorded, episodes=recorded.episodes[:2]).save(tmp_path / "two.demos")
    done = command(f"demonstrations render {tmp_path}/two.demos {tmp_path}/drawn.demos --videos {tmp_path}/videos")
    assert done.returncode == 0, done.stderr
    drawn, filmed = read(tmp_path / "drawn.demos"), read(tmp_path / "videos")
    assert drawn.env_id == "AdroitHandHammer-v1" and drawn.rate == filmed.rate == 100
    for episode, video in zip(drawn.episodes, filmed.episodes, strict=True):
        assert episode.absorbing and 10 < len(episode) < 200  # of 200 recorded steps
        assert np.abs(episode.frames.astype(int) - video.frames).mean() < 6  # compressed
    Demonstrations(recorded.episodes[:2], None).save(tmp_path / "nameless.demos")
    done = command(f"demonstrations render {tmp_path}/nameless.demos {tmp_path}/x.demos")
    assert done.returncode == 2 and "does not say which environment it is of: name one with --env" in done.stderr


def assert_not_begun(run: Path) -> None:
    """No encoder, no audit, no training."""
    assert {path.name for path in run.rglob("*")} <= {"views.png"}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"success": "swung"}, "no entry 'swung', but none: name another with --success"),
        ({"horizon": 11}, "takes 12 steps, more than the horizon of 11: raise --horizon"),
        ({"horizon": 12}, "no absorbing state to share: use --ending last"),
        ({"size": 48}, "takes frames of 84x84 pixels.*have 48x48: read the videos with --size 84"),
        ({"fit": "stretch"}, "the middle is taken, too, and --fit stretch would show something else"),
        ({"env": "test/Blind-v0"}, "test/Blind-v0 cannot draw itself here: NotImplementedError"),
        ({"env": "test/Dark-v0"}, "test/Dark-v0 cannot draw itself here: its render.. gives nothing"),
        ({"env": "test/Modeless-v0"}, "test/Modeless-v0 draws no pictures in render mode None: it has no mode rgb_ar"),
        ({"env": "CartPole-v1"}, r"the action space Discrete\(2\).*continuous actions"),
        ({"replay_capacity": 10**14}, "--replay-capacity 100,000,000,000,000 takes .* GiB of memory"),
        ({"proprioception": (7,), "observe": "embedding"}, "--proprioception 7 does not name dimensions"),
    ],
)
def test_bad_input_is_refused_before_any_long_work(tmp_path, pendulums, options, sentence) -> None:
    with pytest.raises(InputError, match=sentence):  # some when the settings are made
        imitation.imitate(settings(tmp_path, pendulums, **options))
    assert_not_begun(tmp_path / "run")


def test_videos_that_are_too_short_are_refused(tmp_path) -> None:
    short = film(PENDULUM, tmp_path / "short", steps=1)
    with pytest.raises(InputError, match=r"Video 0 of short has 1 frame of 84x84 pixels; .* two frames or more"):
        imitation.imitate(settings(tmp_path, short))
    assert_not_begun(tmp_path / "run")


def test_the_command_says_it_in_one_line(tmp_path, pendulums) -> None:
    done = command(f"train --env test/nowhere --demos {pendulums} --run {tmp_path}/run")
    assert done.returncode == 2 and re.fullmatch(r"error: There is no Gymnasium environment .*\n", done.stderr)


@pytest.mark.parametrize(("success", "too_few"), [(0.0, True), (1.0, False)])
def test_few_steps_are_not_too_few_where_the_task_is_learned(tmp_path, pendulums, success, too_few) -> None:
    config = settings(tmp_path, pendulums)
    config = replace(config, task=replace(config.task, success="arrived"))
    row = {"step": 120.0, "return": 1.0, "arrived": success}
    said = describe(imitation.Outcome(tmp_path, finished=True, last=row, best=row), config, enough=300_000)
    assert f"arrived in {success:.0%} of episodes" in said and ("too few to learn" in said) is too_few


@pytest.mark.slow
def test_from_someone_elses_videos_to_a_policy_that_is_better_than_random(tmp_path) -> None:
    """The commands of docs/own-videos.md as they stand, from mp4 files that imageio wrote."""
    pages.run(tmp_path, [DOCS / "own-environment.md", DOCS / "own-videos.md"], OMP_NUM_THREADS="1")
    playing = """
import cross, sys
import gymnasium as gym
import numpy as np
from vision_pwil import load_policy
env, policy = gym.make("Cross-v0"), load_policy(sys.argv[1])
env.action_space.seed(0)
for choose in (policy, lambda observation, step: env.action_space.sample()):
    arrived = 0
    for seed in range(100, 120):
        observation, _ = env.reset(seed=seed)
        for step in range(40):
            observation, _, _, _, info = env.step(choose(observation, step))
            if info["arrived"]:
                arrived += 1
                break
    print(arrived)
"""
    done = subprocess.run(
        [sys.executable, "-c", playing, "runs/pixels"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(pages.ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    ours, random = map(int, done.stdout.split())
    assert ours >= 15 and random <= 2
