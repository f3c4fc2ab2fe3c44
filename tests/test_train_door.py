"""The door as a preset, and the commands that train, evaluate and plot, run as a user runs them."""

import csv
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import imageio.v3 as imageio
import numpy as np
import pytest
import torch

from vision_pwil.agents.table import AGENTS
from vision_pwil.commands import evaluate, plot
from vision_pwil.commands import train as training
from vision_pwil.door_env import ENV_ID, SETTINGS
from vision_pwil.encoder import Encoder, Provenance
from vision_pwil.envs.record import record
from vision_pwil.system.run import Run, read_curve
from vision_pwil.tasks import door, presets
from vision_pwil.tasks.atoms import Atoms
from vision_pwil.tasks.playback import Playback
from vision_pwil.tasks.policy import load_policy
from vision_pwil.tasks.settings import Choice
from vision_pwil.tasks.task import Task

HORIZON = 24


def command(module: str, *arguments: object) -> subprocess.CompletedProcess:
    line = [sys.executable, "-m", *module.split(), *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, timeout=300)


def still(observation, step):
    return np.zeros(28, np.float32)


def task(**changes) -> Task:
    atoms = Atoms(np.random.default_rng(0).normal(size=(50, 39)), np.ones(50, np.int64))
    preset = presets.defaults(Choice(ENV_ID)).task
    settings = {"compare": "states", "ending": "last", "horizon": HORIZON, "point_interval": 1, **changes}
    return Task(ENV_ID, "pwil", replace(preset, **settings), atoms)


def test_the_door_is_watched_on_after_it_opened():
    """A door that counts as open at the first step: in an evaluation the policy acts on, to see how far it goes."""
    stage = task(env_options=("open_angle=-1.0",)).stage()
    played = stage.rollout(still, seed=0)
    assert len(played.actions) == 1 and len(played.rewards) == HORIZON
    seen = []
    evaluated = stage.rollout(lambda state, step: seen.append(step) or still(state, step), seed=0, evaluating=True)
    assert seen == list(range(HORIZON))
    np.testing.assert_array_equal(evaluated.rewards, played.rewards)
    measured = stage.measure(evaluated)
    assert measured["opened"] == 1 and measured["success"] == 0
    assert measured["door_angle"] >= played.statistics["door_angle"]


def test_frames_are_those_of_the_states_after_each_step():
    """Embeddings of the frames that the environment itself draws, through the whole stage."""
    torch.manual_seed(0)
    encoder = Encoder()
    config = replace(task().config, compare="frames")
    atoms = Atoms(np.random.default_rng(0).normal(size=(50, 32)), np.ones(50, np.int64))
    stage = Task(ENV_ID, "pwil", config, atoms, encoder).stage()
    played = stage.rollout(still, seed=3)
    env = gym.make(ENV_ID, render_mode="rgb_array")
    env.reset(seed=3)
    frames = []
    for _ in range(HORIZON):
        env.step(np.zeros(28))
        frames.append(env.render())
    np.testing.assert_allclose(played.record["points"], encoder.embed(np.array(frames)), atol=1e-5)
    np.testing.assert_array_equal(stage.film(stage.rollout(still, seed=3, evaluating=True)), frames)


def test_recipes():
    paper = presets.defaults(Choice(ENV_ID, recipe="paper"))
    assert (paper.task.beta, paper.task.alpha, paper.training.steps, paper.training.n_step) == (1.0, 5.0, 1_500_000, 1)
    assert (paper.task.compare, paper.task.ending, paper.task.point_interval) == ("frames", "last", 1)
    assert not (paper.task.time_feature or paper.settings.critic_layer_norm or paper.settings.normalize)
    assert paper.training.noise_exponent == 0 and paper.training.action_repeat == 1
    assert paper.settings.hidden == (256, 256)
    shown = command("vision_pwil.train_door", "--recipe", "paper", "--help")
    assert shown.returncode == 0, shown.stderr
    assert "(default: 1500000)" in shown.stdout


@pytest.mark.parametrize("agent", [name for name in AGENTS if name != "sac"])
def test_the_door_takes_every_agent(agent, tmp_path):
    """With its defaults, for a few steps: D4PG and TD3 on pixels, the baselines on what was recorded."""
    tiny = ["--steps", 60, "--random-steps", 30, "--batch-size", 8, "--evaluation-episodes", 1, "--horizon", 300]
    hidden = ["--critic-hidden", 8, 8, "--actor-hidden", 8, 8] if agent == "d4pg" else []
    options = ["--agent", agent, "--run", tmp_path, "--no-audit", "--no-video", *tiny, *hidden]
    result = command("vision_pwil.train_door", *options)
    assert result.returncode == 0, result.stderr
    assert {"opened", "w1", "greedy_w1"} <= read_curve(tmp_path)[-1].keys()


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> tuple[Path, str]:
    """A very short run on pixels, with demonstrations of random play and an encoder of random weights."""
    folder = tmp_path_factory.mktemp("door")
    rng = np.random.default_rng(0)
    env = gym.make(ENV_ID, max_episode_steps=20)
    record(lambda observation, step: rng.uniform(-1, 1, 28), env, episodes=4, seed=0).save(folder / "random.demos")
    torch.manual_seed(0)
    encoder = Encoder()
    encoder.provenance = Provenance(render_fingerprint=SETTINGS.fingerprint)
    encoder.save(folder / "encoder.safetensors")
    result = command("vision_pwil.train_door", *arguments(folder))
    assert result.returncode == 0, result.stderr
    return folder, result.stdout


def arguments(folder: Path) -> list[object]:
    return [
        *("--demos", folder / "random.demos", "--encoder", folder / "encoder.safetensors", "--run", folder / "run"),
        *("--horizon", HORIZON, "--steps", 150, "--random-steps", 50, "--batch-size", 32, "--evaluation-interval", 70),
        *("--evaluation-episodes", 2, "--no-audit", "--ending", "last"),
    ]


def test_train_door(trained):
    folder, output = trained
    run = folder / "run"
    assert "opened in 0% of episodes" in output
    assert f"tensorboard --logdir {folder}\n" in output
    with (run / "curve.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(float(row["step"])) for row in rows] == [0, 72, 144, 168]
    assert {"return", "w1", "greedy_w1", "opened", "success"} <= rows[0].keys()
    assert json.loads((run / "summary.json").read_text())["finished"] is True
    assert json.loads((run / "config.json").read_text())["training"]["steps"] == 150
    video = imageio.imread(run / "policy.mp4", plugin="FFMPEG", index=None)
    assert video.shape[1:] == (480, 480, 3)
    assert video.std() > 10


def test_a_finished_run_is_not_done_again(trained):
    folder, _ = trained
    before = (folder / "run" / "curve.csv").read_text()
    again = command("vision_pwil.train_door", *arguments(folder), "--no-video")
    assert again.returncode == 0, again.stderr
    assert (folder / "run" / "curve.csv").read_text() == before


def test_evaluate(trained):
    run = trained[0] / "run"
    result = command("vision_pwil evaluate", run, "--episodes", 2, "--no-video")
    assert result.returncode == 0, result.stderr
    assert "greedy_w1" in result.stdout
    with (run / "curve.csv").open() as file:
        last = list(csv.DictReader(file))[-1]
    mean = json.loads((run / "evaluation.json").read_text())["mean"]
    for name in ("return", "w1", "greedy_w1"):  # the same episodes as the run's own last evaluation
        assert mean[name] == pytest.approx(float(last[name]), rel=1e-6)


def test_evaluate_the_best(trained):
    """The policy of the curve's highest return; in other episodes than the run's own two, which chose it."""
    run = trained[0] / "run"
    result = command("vision_pwil evaluate", run, "--best", "--episodes", 2, "--no-video")
    assert result.returncode == 0, result.stderr
    assert [line.split()[1] for line in result.stdout.splitlines()[2:6]] == ["2", "3", "mean", "deviation"]
    best = max(read_curve(run), key=lambda row: row["return"])
    outcome = json.loads((run / "evaluation-best.json").read_text())
    assert outcome["step"] == best["step"] == json.loads((run / "summary.json").read_text())["best"]["step"]
    playback = Playback(run, "best.safetensors")
    played = {index: playback.stage.measure(playback.play(index)) for index in range(4)}
    for name in ("return", "w1", "greedy_w1"):
        assert np.mean([played[index][name] for index in (0, 1)]) == pytest.approx(best[name], rel=1e-6)
        assert np.mean([played[index][name] for index in (2, 3)]) == pytest.approx(outcome["mean"][name])


def test_a_saved_policy_acts_far_from_its_run(trained, tmp_path):
    run = trained[0] / "run"
    copy = tmp_path / "elsewhere.safetensors"
    copy.write_bytes((run / "policy.safetensors").read_bytes())
    state = np.random.default_rng(0).normal(size=39)
    choose, same = load_policy(run), load_policy(copy)
    for step in range(HORIZON):
        np.testing.assert_array_equal(choose(state, step), same(state, step))
    assert choose(state, 0).shape == (28,)
    assert not np.array_equal(choose(state, 0), choose(state, 20))  # it sees the time


def test_bad_input_is_one_sentence(trained, tmp_path, capsys):
    def complaint(action, *arguments: object) -> str:
        with pytest.raises(SystemExit) as stopped:
            action([str(argument) for argument in arguments])
        assert stopped.value.code == 2
        return " ".join(capsys.readouterr().err.replace("│", " ").split())

    def train(*changes: object) -> str:
        given = (*arguments(trained[0]), "--run", tmp_path / "run", *changes)
        return complaint(lambda args: training.with_preset(args, "train_door", door.PRESET, ENV_ID), *given)

    other = Encoder()
    other.provenance = Provenance(render_fingerprint="another")
    other.save(tmp_path / "other.safetensors")
    assert "fingerprint another" in train("--encoder", tmp_path / "other.safetensors")
    assert "none.demos" in train("--demos", tmp_path / "none.demos")
    assert "--update-interval must be a number above 0" in train("--update-interval", 0)
    assert "--device cdua is not a device" in train("--device", "cdua")
    with Run(tmp_path / "busy", {}):
        assert "Another process is using" in train("--run", tmp_path / "busy")
    assert "with task.horizon = 24, not 25" in train("--run", trained[0] / "run", "--horizon", 25)
    assert "not the directory of a training run" in complaint(evaluate.main, tmp_path)
    assert "not the directory of a training run" in complaint(evaluate.main, tmp_path, "--best")
    assert "curve.csv" in complaint(plot.main, tmp_path)


def test_plot(trained, tmp_path):
    run = trained[0] / "run"
    result = command("vision_pwil plot", run, run, "--out", tmp_path / "figure.png")
    assert result.returncode == 0, result.stderr
    assert imageio.imread(tmp_path / "figure.png").std() > 5


def test_curves_are_averaged_at_common_steps():
    one = [{"step": 0.0, "w1": 1.0}, {"step": 110.0, "w1": 2.1}, {"step": 205.0, "w1": 4.0}]
    two = [{"step": 0.0, "w1": 3.0}, {"step": 100.0, "w1": 5.0}, {"step": 300.0, "w1": 9.0}]
    steps, values = plot.aligned([one, two], "w1")
    assert steps.tolist() == [0, 100, 110, 205]
    np.testing.assert_allclose(values, [[1.0, 2.0, 2.1, 4.0], [3.0, 5.0, 5.2, 7.1]])
