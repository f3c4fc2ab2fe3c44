"""Every agent, ablation and baseline through the real command lines, each for a few steps."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace

import imageio.v3 as imageio
import numpy as np
import pytest

from vision_pwil.commands import train
from vision_pwil.demonstrations import ASSETS, Demonstrations, Episode
from vision_pwil.envs.flat import FlatEnv
from vision_pwil.system.errors import InputError
from vision_pwil.system.run import Row, read_curve
from vision_pwil.tasks import locomotion, presets
from vision_pwil.tasks.imitation import find_demonstrations, imitate
from vision_pwil.tasks.policy import load_policy
from vision_pwil.tasks.settings import Choice
from vision_pwil.training.settings import TrainingConfig

ENV = "InvertedPendulum-v5"
TINY = ["--steps", 40, "--random-steps", 20, "--batch-size", 8, "--evaluation-episodes", 1, "--evaluation-interval", 30]
SMALL = {"d4pg": ["--actor-hidden", 8, 8, "--critic-hidden", 8, 8]}


@pytest.fixture(scope="module")
def demos(tmp_path_factory):
    """An expert that stands nearly still; what it shows does not matter here."""
    rng = np.random.default_rng(0)
    episodes = tuple(Episode(rng.normal(0, 0.01, (60, 4)), rng.normal(0, 0.1, (60, 1))) for _ in range(2))
    path = tmp_path_factory.mktemp("demos") / "pendulum.demos"
    Demonstrations(episodes, ENV).save(path)
    return path


def run(module: str, *arguments: object) -> str:
    command = [sys.executable, "-m", *module.split(), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_curve(curve: list[Row]) -> None:
    assert curve[0]["step"] == 0 and 40 <= curve[-1]["step"] < 80
    for row in curve:
        assert row.keys() == {"step", "return", "task_return", "steps", "w1", "greedy_w1"}
        assert 0 < row["w1"] <= row["greedy_w1"] + 1e-9


@pytest.mark.parametrize(
    ("agent", "ablation"),
    [
        ("d4pg", "none"),
        ("d4pg", "nofill"),
        ("d4pg", "state"),
        ("td3", "l2"),
        ("sac", "support"),
    ],
)
def test_smoke(agent, ablation, demos, tmp_path):
    chosen = ["--env", ENV, "--agent", agent, "--ablation", ablation, "--demos", demos, "--run", tmp_path]
    printed = run("vision_pwil.train_locomotion", *chosen, *TINY, *SMALL.get(agent, []))
    assert str(tmp_path) in printed
    assert "40 steps are too few to learn much: about 1,000,000 are enough" in printed
    check_curve(read_curve(tmp_path))
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["prefill"] == (50_000 if (agent, ablation) == ("d4pg", "none") else 0)


def test_a_run_is_looked_at(demos, tmp_path):
    """DAC's, whose policy sees a bit more, and whose episodes end with a step that was not played."""
    run("vision_pwil.train_locomotion", "--env", ENV, "--agent", "dac", "--demos", demos, "--run", tmp_path, *TINY)
    printed = run("vision_pwil evaluate", tmp_path, "--episodes", 1)
    assert "task_return" in printed and "greedy_w1" in printed
    last, mean = read_curve(tmp_path)[-1], json.loads((tmp_path / "evaluation.json").read_text())["mean"]
    assert {"step": last["step"], **mean} == pytest.approx(last)  # the same episode as the run's own evaluation
    film = imageio.imread(tmp_path / "policy.mp4", plugin="FFMPEG", index=None)
    assert len(film) >= mean["steps"] and film.std() > 5
    printed = run("vision_pwil evaluate", tmp_path, "--best", "--episodes", 1)
    assert str(tmp_path / "evaluation-best.json") in printed
    assert len(imageio.imread(tmp_path / "best.mp4", plugin="FFMPEG", index=None)) > 1
    run("vision_pwil plot", tmp_path, "--out", tmp_path / "curves.png")
    assert imageio.imread(tmp_path / "curves.png").shape[1] > 1_000  # three panels beside one another


@pytest.mark.parametrize(("env", "largest"), [("Pendulum-v1", 2.0), ("Humanoid-v5", 0.4)])
def test_an_expert_is_trained_recorded_and_cloned(env, largest, tmp_path):
    """Its actions are in the environment's own units all the way, through the commands and from Python."""
    played = ["--env", env, "--horizon", 25]
    run("vision_pwil train", *played, "--reward", "task", "--run", tmp_path / "expert", *TINY)
    assert set(read_curve(tmp_path / "expert")[-1]) == {"step", "return", "steps"}
    run("vision_pwil demonstrations", "record", tmp_path / "expert", tmp_path / "own.demos", "--episodes", 2)
    own = Demonstrations.load(tmp_path / "own.demos")
    assert own.env_id == env and len(own) == 2
    strongest = np.abs(np.concatenate([episode.actions for episode in own.episodes])).max()
    assert 0.25 * largest < strongest <= largest * (1 + 1e-6)
    run("vision_pwil evaluate", tmp_path / "expert", "--episodes", 1, "--no-video")
    policy = load_policy(tmp_path / "expert")
    for step, (state, action) in enumerate(zip(own.episodes[0].states, own.episodes[0].actions, strict=True)):
        np.testing.assert_allclose(policy(state, step), action, atol=1e-5)
    clone = ["--agent", "bc", "--demos", tmp_path / "own.demos", "--run", tmp_path / "clone"]
    run("vision_pwil.train_locomotion", *played, *clone, *TINY)
    check_curve(read_curve(tmp_path / "clone"))
    run("vision_pwil evaluate", tmp_path / "clone", "--episodes", 1, "--no-video")


@pytest.mark.parametrize(("threads", "batch"), [(1, 8), (2, 256)])  # smaller batches are not shared by threads
def test_an_interrupted_run_ends_in_the_same_weights(threads, batch, demos, tmp_path):
    """The replay is prefilled, episodes fall, and the run is stopped between two of them."""

    def train(folder: str, steps: int) -> bytes:
        used = {"random_steps": 20, "batch_size": batch, "threads": threads}
        tiny = TrainingConfig(steps=steps, evaluation_episodes=1, checkpoint_seconds=0, **used)
        usual = locomotion.defaults(Choice(ENV, "td3"))
        imitate(replace(usual, demos=demos, run=tmp_path / folder, prefill=30, training=tiny))
        return (tmp_path / folder / "checkpoint.safetensors").read_bytes()

    part = train("parts", 45)
    whole = train("whole", 90)
    assert train("parts", 90) == whole != part


def test_an_interrupted_run_with_demonstrated_transitions_ends_in_the_same_weights(demos, tmp_path):
    def train(folder: str, steps: int) -> bytes:
        used = {"random_steps": 20, "batch_size": 8, "demonstrated": 0.5, "checkpoint_seconds": 0.0}
        tiny = TrainingConfig(steps=steps, evaluation_episodes=1, **used)
        usual = replace(locomotion.defaults(Choice(ENV, "sac")), num_demos=2, subsample=1)
        imitate(replace(usual, demos=demos, run=tmp_path / folder, training=tiny))
        return (tmp_path / folder / "checkpoint.safetensors").read_bytes()

    part = train("parts", 45)
    whole = train("whole", 90)
    assert train("parts", 90) == whole != part


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_cloning_stops_cleanly_also_where_ctrl_c_is_ignored(number, demos, tmp_path):
    """A shell's background ignores Ctrl-C; one that is sent on purpose is heard."""
    chosen = ["--env", ENV, "--agent", "bc", "--demos", demos, "--run", tmp_path, *TINY, "--steps", 10_000_000]
    command = [sys.executable, "-m", "vision_pwil.train_locomotion", *map(str, chosen)]
    ignoring = signal.signal(signal.SIGINT, signal.SIG_IGN)  # inherited by the process that is started
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, ignoring)
    while not (tmp_path / "curve.csv").exists():  # its first evaluation is done: it is at its updates
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "Stopped; the same command goes on." in errors and "Traceback" not in errors


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--env", "Hoppper-v5"], "no Gymnasium environment"),
        (["--env", "Walker2d-v5"], f"The demonstrations are of {ENV}, not of Walker2d-v5"),
        (["--num-demos", "3"], "3 demonstrations were asked for, and there are 2"),
        (["--ablation", "nofill", "--prefill", "10"], "--prefill"),
        (["--min-std", "-0.1"], "--min-std must be a number at least 0, not -0.1"),
        (["--ablation", "l2", "--min-std", "0.1"], "--min-std bounds what states are divided by"),
        (["--dimensions", "3", "11"], "--dimensions 3 11 does not name dimensions of a state, each once: give numbers"),
        (["--dimensions", "4", "4"], "--dimensions 4 4 does not name dimensions"),
        (["--agent", "dac", "--n-step", "5"], "--n-step"),
        (["--agent", "dac", "--demonstrated", "0.5", "--subsample", "1"], "--demonstrated"),
        (["--demonstrated", "0.5"], "--demonstrated takes whole demonstrations: leave --subsample at 1"),
        (["--demonstrated", "0.5", "--subsample", "1"], "beside the others: give two at the least"),
        (["--demonstrated", "1"], "leaves a batch of 256 without transitions of the demonstrations or of the agent"),
        (["--agent", "a3c"], "There is no agent 'a3c': choose one of sac, d4pg, td3, dac, bc"),
        (["--reward", "gold"], "There is no reward 'gold': choose one of pwil, support, transport, sinkhorn"),
    ],
)
def test_mistakes_get_a_sentence(arguments, sentence, demos, tmp_path, capsys):
    given = ["--env", ENV, "--demos", demos, "--run", tmp_path / "run", *arguments]
    with pytest.raises(SystemExit) as stop:
        train.with_preset([*map(str, given)], "train_locomotion", locomotion.PRESET, ENV)
    assert stop.value.code == 2
    assert sentence in " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("env_id", "good"), [("Hopper-v5", 3500.0), ("Reacher-v5", -6.0)])
def test_demonstrations_come_with_the_package(env_id, good):
    """Played again from their seeds, the recorded actions do the task."""
    env = FlatEnv(env_id)
    assert len(find_demonstrations(presets.defaults(Choice(env_id, "d4pg")), env)) == 11
    shipped = Demonstrations.load(ASSETS / f"{env_id}.demos")
    total = 0.0
    for seed, episode in enumerate(shipped.episodes):
        np.testing.assert_allclose(env.reset(seed), episode.states[0], atol=1e-6)
        for action in episode.actions:
            total += env.step(env.bounds.to_policy(action))[1]
    assert total / 11 > good


def test_environments_without_demonstrations_get_a_sentence():
    with pytest.raises(InputError, match="--demos"):
        imitate(locomotion.defaults(Choice(ENV, "d4pg")))


def test_defaults_are_the_papers():
    def defaults(env, agent="d4pg", ablation="none"):
        return presets.defaults(Choice(env, agent, ablation=ablation))

    d4pg = defaults("Humanoid-v5")
    assert (d4pg.training.steps, d4pg.training.n_step, d4pg.training.update_interval) == (2_500_000, 5, 4)
    assert (d4pg.training.batch_size, d4pg.training.gamma, d4pg.training.replay_capacity) == (256, 0.99, 1_000_000)
    assert (d4pg.training.evaluation_interval, d4pg.training.evaluation_episodes) == (10_000, 10)
    assert (d4pg.settings.sigma, defaults("Ant-v5").settings.sigma) == (0.5, 0.2)  # 0.2 in units of the environment
    assert (d4pg.prefill, d4pg.subsample, defaults("Reacher-v5").subsample) == (50_000, 20, 1)
    assert [defaults(f"{name}-v5", "td3").prefill for name in ("Reacher", "Hopper", "Walker2d")] == [1_000] * 3
    assert [defaults(f"{name}-v5", "td3").prefill for name in ("Humanoid", "Ant", "HalfCheetah")] == [0] * 3
    assert [defaults("Hopper-v5", agent).prefill for agent in ("sac", "bc", "dac")] == [0] * 3
    assert [defaults("Hopper-v5", "d4pg", ablation).prefill for ablation in ("state", "nofill")] == [0] * 2
    assert presets.defaults(Choice("Hopper-v5", "td3", reward="task")).settings.hidden == (256, 256)
