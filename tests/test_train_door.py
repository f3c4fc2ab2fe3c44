"""The door under PWIL's reward, and the commands that train, evaluate and plot, run as a user runs them."""

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

from vision_pwil import train_door
from vision_pwil.commands import evaluate, plot
from vision_pwil.demonstrations import Demonstrations, Episode
from vision_pwil.door_env import ENV_ID, SETTINGS
from vision_pwil.encoder import Encoder, Provenance
from vision_pwil.envs.record import record
from vision_pwil.rewards.reward import Rewarder
from vision_pwil.rewards.wasserstein import exact_w1
from vision_pwil.system import cli
from vision_pwil.system.errors import InputError
from vision_pwil.system.run import Run, read_curve
from vision_pwil.tasks.door_task import Atoms, DoorTaskFactory, spread, state_atoms
from vision_pwil.training.replay import n_step_transitions

HORIZON = 24


def command(module: str, *arguments: object) -> subprocess.CompletedProcess:
    line = [sys.executable, "-m", f"vision_pwil.{module}", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, timeout=300)


def make_state(angle: float, mark: float) -> np.ndarray:
    state = np.full(39, float(mark))
    state[28] = angle
    return state


def factory(**changes) -> DoorTaskFactory:
    atoms = Atoms(np.random.default_rng(0).normal(size=(50, 39)), np.ones(50, np.int64))
    return replace(DoorTaskFactory(atoms, "state", None, HORIZON, 1.0, 5.0, 1.0, True), **changes)


def still(observation, step):
    return np.zeros(28, np.float32)


def test_a_demonstration_ends_absorbing_where_the_door_is_open():
    opening = np.stack([make_state(angle, mark) for mark, angle in enumerate([0.0, 0.2, 0.9, 1.1, 1.3])])
    closed = np.stack([make_state(0.0, mark) for mark in range(10, 14)])
    actions = np.zeros((5, 28))
    demonstrations = Demonstrations(
        (Episode(opening, actions, None, None, False), Episode(closed, actions[:4], None, None, False))
    )
    points, weights = state_atoms(demonstrations, horizon=10)
    # States after each step: the first state is before any. The third step opens the door and lasts to the horizon.
    assert points[:, 0].tolist() == [1, 2, 3, 11, 12, 13]
    assert weights.tolist() == [1, 1, 1 + 7, 1, 1, 1]
    with pytest.raises(InputError, match="more than the horizon of 2"):
        state_atoms(demonstrations, horizon=2)

    again = Demonstrations((*demonstrations.episodes, Episode(opening[:4] + 4, actions[:4], None, None, False)))
    points, weights = state_atoms(again, horizon=10, absorbing="shared")
    # The second opening one is open at its first step (5): the shared state lies half-way between 3 and 5.
    assert points[:, 0].tolist() == [1, 2, 3, 11, 12, 13, 5, 4]
    assert weights.tolist() == [1, 1, 1, 1, 1, 1, 1, 7 + 9]
    with pytest.raises(InputError, match="no absorbing state to share"):
        state_atoms(Demonstrations(demonstrations.episodes[1:]), horizon=10, absorbing="shared")


def test_rewards_are_the_rewarders_on_the_states_after_each_step():
    task = factory().build()
    played = task.rollout(still, seed=3)
    assert played.observations.shape == (HORIZON + 1, 40)
    np.testing.assert_allclose(played.observations[:, -1], np.arange(HORIZON + 1) / HORIZON, atol=1e-7)
    env = gym.make(ENV_ID)
    state, _ = env.reset(seed=3)
    rewarder = Rewarder.for_states(factory().atoms.points, HORIZON, beta=1.0)
    for step in range(HORIZON):
        np.testing.assert_allclose(played.observations[step, :39], state, atol=1e-6)
        state, *_ = env.step(np.zeros(28))
        assert played.rewards[step] == pytest.approx(rewarder.step(state), rel=1e-9)
    assert played.terminal
    measured = task.measure(played)
    assert measured["greedy_w1"] >= measured["w1"]
    features = rewarder.metric(played.observations[1:, :39].astype(np.float64))
    assert measured["w1"] == pytest.approx(exact_w1(features, rewarder.metric(factory().atoms.points)), rel=1e-5)
    assert measured["opened"] == measured["success"] == 0


def test_opening_ends_the_episode_and_pays_the_absorbing_steps():
    task = factory(open_angle=-1.0).build()  # a door that is open at the first step
    played = task.rollout(still, seed=0)
    assert len(played.actions) == 1
    assert len(played.rewards) == HORIZON
    rows = n_step_transitions(played.observations, played.actions, played.rewards, terminal=True, gamma=0.9)
    assert rows.reward[0] == pytest.approx(0.9 ** np.arange(HORIZON) @ played.rewards, rel=1e-6)
    assert rows.discount[0] == 0
    evaluated = task.rollout(still, seed=0, evaluating=True)  # acts on, to see how far the door goes
    np.testing.assert_array_equal(evaluated.rewards, played.rewards)
    assert task.measure(evaluated)["opened"] == 1


def test_the_shared_absorbing_state_pays_what_it_costs_to_be_there():
    last, shared = (factory(open_angle=-1.0, absorbing=absorbing).build() for absorbing in ("last", "shared"))
    played = shared.rollout(still, seed=0)
    rewarder = Rewarder.for_states(factory().atoms.points, HORIZON, beta=1.0)
    state, absorbing = played.record["points"][0], factory().atoms.points[-1]
    by_hand = [rewarder.step(point) for point in [state, *[absorbing] * (HORIZON - 1)]]
    np.testing.assert_allclose(played.rewards, by_hand, rtol=1e-9)
    assert played.rewards[0] == last.rollout(still, seed=0).rewards[0]
    measured = shared.measure(played)
    features = rewarder.metric(np.stack([state, *[absorbing] * (HORIZON - 1)]))
    assert measured["w1"] == pytest.approx(exact_w1(features, rewarder.metric(factory().atoms.points)), rel=1e-9)
    assert measured["greedy_w1"] >= measured["w1"]


def test_a_point_a_decision_carries_the_mass_of_its_steps():
    interval = 5  # does not divide the horizon of 24: four points of five steps, and one for the rest
    sparse = factory(point_interval=interval).build()
    played = sparse.rollout(still, seed=3)
    seen = [4, 9, 14, 19, 23]
    rewarder = Rewarder.for_states(factory().atoms.points, horizon=5, beta=1.0)
    states = sparse.rollout(still, seed=3, evaluating=True).observations[1:, :39].astype(np.float64)
    assert np.flatnonzero(played.rewards).tolist() == seen
    for place in seen:
        assert played.rewards[place] == pytest.approx(interval * rewarder.step(states[place]), rel=1e-4)
    # An evaluation sees every step, whatever the training sees.
    evaluated = (each.rollout(still, seed=3, evaluating=True) for each in (sparse, factory().build()))
    np.testing.assert_array_equal(*(each.rewards for each in evaluated))


def test_rewards_of_an_absorbed_episode_keep_their_interval():
    paid = np.array([1.0, 2.0, 3.0, 4.0])  # steps 2 and 4 seen, then two more of the absorbing state
    np.testing.assert_array_equal(spread(paid, np.array([2, 4]), 3), [0, 0, 3, 0, 6, 0, 0, 9, 0, 0, 12])


def test_a_task_can_be_kept_in_a_file(tmp_path):
    factory().save(tmp_path / "task.safetensors")
    again = DoorTaskFactory.load(tmp_path / "task.safetensors", None)
    one, two = (each.build().rollout(still, seed=1) for each in (factory(), again))
    np.testing.assert_array_equal(one.rewards, two.rewards)


def test_recipes():
    paper = train_door.RECIPES["paper"]
    assert (paper.beta, paper.alpha, paper.training.steps, paper.training.n_step) == (1.0, 5.0, 1_500_000, 1)
    assert not (paper.time_feature or paper.agent.critic_layer_norm or paper.agent.normalize)
    assert paper.training.noise_exponent == 0 and paper.training.action_repeat == 1 and paper.agent.hidden == (256, 256)
    shown = command("train_door", "--recipe", "paper", "--help")
    assert shown.returncode == 0, shown.stderr
    assert "--time-feature" in shown.stdout


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> tuple[Path, str]:
    """A very short run on pixels, with demonstrations of random play and an encoder of random weights."""
    folder = tmp_path_factory.mktemp("door")
    rng = np.random.default_rng(0)
    env = gym.make(ENV_ID, horizon=20)
    record(lambda observation, step: rng.uniform(-1, 1, 28), env, episodes=4, seed=0).save(folder / "random.demos")
    torch.manual_seed(0)
    encoder = Encoder()
    encoder.provenance = Provenance(render_fingerprint=SETTINGS.fingerprint)
    encoder.save(folder / "encoder.safetensors")
    result = command("train_door", *arguments(folder))
    assert result.returncode == 0, result.stderr
    return folder, result.stdout


def arguments(folder: Path) -> list[object]:
    return [
        *("--demos", folder / "random.demos", "--encoder", folder / "encoder.safetensors", "--run", folder / "run"),
        *("--horizon", HORIZON, "--steps", 150, "--random-steps", 50, "--batch-size", 32, "--evaluation-interval", 70),
        *("--evaluation-episodes", 2, "--no-audit", "--absorbing", "last"),
    ]


def test_train_door(trained):
    folder, output = trained
    run = folder / "run"
    assert "the door opened in 0% of 2 episodes" in output
    assert f"tensorboard --logdir {run}" in output
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
    again = command("train_door", *arguments(folder), "--no-video")
    assert again.returncode == 0, again.stderr
    assert (folder / "run" / "curve.csv").read_text() == before


def test_evaluate(trained):
    run = trained[0] / "run"
    result = command("evaluate", run, "--episodes", 2, "--no-video")
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
    result = command("evaluate", run, "--best", "--episodes", 2, "--no-video")
    assert result.returncode == 0, result.stderr
    assert [line.split()[1] for line in result.stdout.splitlines()[2:6]] == ["2", "3", "mean", "deviation"]
    best = max(read_curve(run), key=lambda row: row["return"])
    outcome = json.loads((run / "evaluation-best.json").read_text())
    assert outcome["step"] == best["step"] == json.loads((run / "summary.json").read_text())["best"]["step"]
    player = evaluate.Player(run, "best.safetensors")
    played = {index: player.task.measure(player.play(index)) for index in range(4)}
    for name in ("return", "w1", "greedy_w1"):
        assert np.mean([played[index][name] for index in (0, 1)]) == pytest.approx(best[name], rel=1e-6)
        assert np.mean([played[index][name] for index in (2, 3)]) == pytest.approx(outcome["mean"][name])


def test_a_saved_policy_acts_far_from_its_run(trained, tmp_path):
    run = trained[0] / "run"
    copy = tmp_path / "elsewhere.safetensors"
    copy.write_bytes((run / "policy.safetensors").read_bytes())
    state = np.random.default_rng(0).normal(size=39)
    choose, same = evaluate.load_policy(run), evaluate.load_policy(copy)
    for step in range(HORIZON):
        np.testing.assert_array_equal(choose(state, step), same(state, step))
    assert choose(state, 0).shape == (28,)
    assert not np.array_equal(choose(state, 0), choose(state, 20))  # it sees the time


def test_bad_input_is_one_sentence(trained, tmp_path, capsys):
    def complaint(action, *arguments: object) -> str:
        with pytest.raises(SystemExit) as stopped:
            cli.run(action, args=[str(argument) for argument in arguments])
        assert stopped.value.code == 2
        return " ".join(capsys.readouterr().err.replace("│", " ").split())

    def train(*changes: object) -> str:
        return complaint(train_door.configure([]), *arguments(trained[0]), "--run", tmp_path / "run", *changes)

    other = Encoder()
    other.provenance = Provenance(render_fingerprint="another")
    other.save(tmp_path / "other.safetensors")
    assert "fingerprint another" in train("--encoder", tmp_path / "other.safetensors")
    assert "none.demos" in train("--demos", tmp_path / "none.demos")
    assert "--update-interval must be positive" in train("--update-interval", 0)
    with Run(tmp_path / "busy", {}):
        assert "Another process is using" in train("--run", tmp_path / "busy")
    assert "with horizon = 24, not 25" in train("--run", trained[0] / "run", "--horizon", 25)
    assert "not the directory of a training run" in complaint(evaluate.main, tmp_path)
    assert "not the directory of a training run" in complaint(evaluate.main, tmp_path, "--best")
    assert "curve.csv" in complaint(plot.draw, tmp_path)


def test_plot(trained, tmp_path):
    run = trained[0] / "run"
    result = command("plot", run, run, "--out", tmp_path / "figure.png", "--interval", 50)
    assert result.returncode == 0, result.stderr
    assert imageio.imread(tmp_path / "figure.png").std() > 5


def test_curves_are_averaged_at_common_steps():
    one = [{"step": 0.0, "w1": 1.0}, {"step": 110.0, "w1": 2.1}, {"step": 205.0, "w1": 4.0}]
    two = [{"step": 0.0, "w1": 3.0}, {"step": 100.0, "w1": 5.0}, {"step": 300.0, "w1": 9.0}]
    steps, values = plot.aligned([one, two], "w1", 100)
    assert steps.tolist() == [0, 100, 200]
    np.testing.assert_allclose(values, [[1.0, 2.0, 3.9], [3.0, 5.0, 7.0]])
