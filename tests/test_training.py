"""The training loop on a small task: it learns, repeats itself bit for bit, and survives being killed."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tests.toy import AGENT, ToyTask, settings, trainer
from vision_pwil.agents.protocol import Policy
from vision_pwil.envs.noise import colored
from vision_pwil.sac import act
from vision_pwil.system import checkpoint
from vision_pwil.system.board import Board
from vision_pwil.system.errors import InputError
from vision_pwil.system.run import Run, read_curve
from vision_pwil.training import worker as worker_module
from vision_pwil.training.evaluations import Evaluations
from vision_pwil.training.rollout import Collect
from vision_pwil.training.snapshot import read_snapshot, write_snapshot
from vision_pwil.training.trainer import Diverged
from vision_pwil.training.worker import Worker

STEPS = 1500


def start(path: Path, steps: int = STEPS) -> subprocess.Popen:
    command = [sys.executable, "-m", "tests.toy", str(path), str(steps)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen) -> str:
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return output


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A run that was never interrupted."""
    path = tmp_path_factory.mktemp("whole")
    assert finish(start(path)) == "finished\n"
    return path


def assert_same(one: Path, two: Path) -> None:
    for name in ("policy", "best", "checkpoint"):
        (tensors, values), (others, other_values) = (checkpoint.load(p / f"{name}.safetensors") for p in (one, two))
        assert tensors.keys() == others.keys()
        for key in tensors:
            np.testing.assert_array_equal(tensors[key], others[key], err_msg=key)
        assert values == other_values
    assert (one / "curve.csv").read_text() == (two / "curve.csv").read_text()


def test_it_learns(whole):
    curve = read_curve(whole)
    assert curve[0]["step"] == 0
    assert curve[-1]["step"] >= STEPS
    assert len(curve) == 1 + (STEPS - 1) // 300 + 1
    assert curve[-1]["return"] > curve[0]["return"] + 3
    assert curve[-1]["opened"] == 1


def constant(policy: Policy, observation: np.ndarray, noise: np.ndarray | None = None) -> np.ndarray:
    return policy["action"]


def test_the_policy_with_the_highest_return_is_kept(tmp_path):
    """The second of four, whose action is the best; the latest is another. A run taken up again remembers."""

    def evaluated(run: Run, actions: dict[int, float]) -> None:
        board = Board(run.events, 0)
        about = {"agent": "toy", "action_repeat": 1}
        common = {"task": ToyTask(), "act": constant, "about": about, "like": {"action": np.zeros(1, np.float32)}}
        evaluations = Evaluations(run, board, **common, episodes=2, step=100)
        for step, action in actions.items():
            evaluations.owe(step, {"action": np.array([action], np.float32)})
        evaluations.finish(lambda: False)
        evaluations.close()
        board.close()

    with Run(tmp_path, {}) as run:
        for actions in ({0: 0.3, 10: 0.9, 20: 0.1}, {30: 0.5}):
            evaluated(run, actions)
            assert read_snapshot(run.best)[1]["step"] == 10
            assert read_snapshot(run.policy)[1]["step"] == max(actions)
        returns = [row["return"] for row in run.read_curve()]
        assert len(returns) == 4 and returns.index(max(returns)) == 1
        assert read_snapshot(run.best)[0]["action"] == np.float32(0.9)


def test_tensorboard_files_read_back(whole):
    events = EventAccumulator(str(whole))
    events.Reload()
    tags = events.Tags()
    assert {"eval/return", "train/return", "losses/critic_loss", "losses/temperature", "perf/steps_per_second"} <= set(
        tags["scalars"]
    )
    assert {"eval/rollout", "eval/reward"} <= set(tags["images"])
    curve = read_curve(whole)
    assert [(e.step, pytest.approx(e.value)) for e in events.Scalars("eval/return")] == [
        (row["step"], row["return"]) for row in curve
    ]
    moving = events.Images("eval/rollout")[0].encoded_image_string
    assert moving[:6] == b"GIF89a"
    assert sorted(path.name for path in (whole / "videos").iterdir())[0] == "000000000.gif"


def test_a_foreign_policy_among_those_owed_is_refused(tmp_path):
    with Run(tmp_path, {}) as run:
        write_snapshot(run.pending / "000000000010.safetensors", {"action": np.zeros((2, 0), np.float64)}, {})
        like = {"action": np.zeros(1, np.float32)}
        common = {"task": ToyTask(), "act": constant, "about": {"action_repeat": 1}, "like": like}
        evaluations = Evaluations(run, Board(run.events, 0), **common, episodes=2, step=100)
        with pytest.raises(InputError, match=r"000000000010\.safetensors: its 'action' is not what it has to be"):
            evaluations.turn()
        evaluations.close()


def test_killed_at_random_moments_it_ends_in_the_same_weights(whole, tmp_path):
    rng, kills = np.random.default_rng(), 0
    for beginnings in range(1, 4):
        process = start(tmp_path)
        while len(list(tmp_path.glob("events*"))) < beginnings and process.poll() is None:
            time.sleep(0.02)
        try:
            process.communicate(timeout=float(rng.uniform(0.0, 2.5)))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            kills += 1
    assert kills
    assert finish(start(tmp_path)) == "finished\n"
    assert_same(whole, tmp_path)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_and_stops(whole, tmp_path, number):
    process = start(tmp_path)
    deadline = time.monotonic() + 60
    while not (tmp_path / "checkpoint.safetensors").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(number)
    assert finish(process) == "stopped\n"
    stopped_at = checkpoint.load(tmp_path / "checkpoint.safetensors")[1]["step"]
    assert 0 < stopped_at < STEPS
    assert finish(start(tmp_path)) == "finished\n"
    assert_same(whole, tmp_path)


def test_more_steps_continue_as_one_long_run(whole, tmp_path):
    finish(start(tmp_path, STEPS - 700))
    finish(start(tmp_path, STEPS))
    (tensors, _), (others, _) = (checkpoint.load(path / "checkpoint.safetensors") for path in (whole, tmp_path))
    for key in tensors:
        np.testing.assert_array_equal(tensors[key], others[key], err_msg=key)


def test_a_second_process_is_refused(tmp_path):
    with Run(tmp_path, {"a": 1}), pytest.raises(InputError, match="Another process is using"):
        Run(tmp_path, {"a": 1})
    with Run(tmp_path, {"a": 1}):  # free again
        pass


def test_other_settings_are_refused(tmp_path):
    with Run(tmp_path, {"agent": {"rate": 1}, "steps": 5}):
        pass
    with pytest.raises(InputError, match=r"agent\.rate = 1, not 2"):
        Run(tmp_path, {"agent": {"rate": 2}, "steps": 5})
    with Run(tmp_path, {"agent": {"rate": 1}, "steps": 9}, free=("steps",)):
        pass


def test_other_demonstrations_are_named(tmp_path):
    with Run(tmp_path, {"checksums": {"demonstrations": "a" * 64}}):
        pass
    with pytest.raises(InputError, match="a run made from other demonstrations"):
        Run(tmp_path, {"checksums": {"demonstrations": "b" * 64}})


def test_divergence_stops_with_a_sentence_and_keeps_the_checkpoint(tmp_path):
    with Run(tmp_path, {}) as run:
        assert trainer(run, settings(400), AGENT, ToyTask()).train()
        before = run.checkpoint.read_bytes()
        wild = replace(AGENT, critic_learning_rate=1e6)
        with pytest.raises(Diverged, match="diverged at step"):
            trainer(run, settings(2000, checkpoint_seconds=1e9), wild, ToyTask()).train()
        assert run.checkpoint.read_bytes() == before


def test_an_error_in_the_worker_is_told(tmp_path):
    with Run(tmp_path, {}) as run, pytest.raises(RuntimeError, match="the toy broke"):
        trainer(run, settings(400), AGENT, ToyTask(broken_after=3)).train()


def test_a_dead_worker_is_replaced_and_plays_the_same_episode(whole):
    policy, about = read_snapshot(whole / "policy.safetensors")
    request = Collect(policy, (0, 0, 7), 1.0, about["action_repeat"])
    worker = Worker(ToyTask(), act)
    try:
        worker.send(request)
        undisturbed = worker.receive()
        worker.send(request)
        worker._process.kill()
        again = worker.receive()
        np.testing.assert_array_equal(again.observations, undisturbed.observations)
        np.testing.assert_array_equal(again.rewards, undisturbed.rewards)
    finally:
        worker.close()


def test_a_stopped_worker_is_replaced_and_plays_the_same_episode(whole, monkeypatch):
    monkeypatch.setattr(worker_module, "STOPPED", 0.5)
    policy, about = read_snapshot(whole / "policy.safetensors")
    request = Collect(policy, (0, 0, 7), 1.0, about["action_repeat"])
    worker = Worker(ToyTask(), act)
    try:
        worker.send(request)
        undisturbed = worker.receive()
        stopped = worker._process
        os.kill(stopped.pid, signal.SIGSTOP)
        worker.send(request)
        again = worker.receive()
        assert worker._process is not stopped and not stopped.is_alive()
        np.testing.assert_array_equal(again.observations, undisturbed.observations)
        np.testing.assert_array_equal(again.rewards, undisturbed.rewards)
    finally:
        worker.close()


def test_a_worker_that_cannot_live_is_told_of():
    worker = Worker(Deadly(), act)
    try:
        worker.send(Collect(None, (0, 0, 0)))
        with pytest.raises(ChildProcessError, match="died twice"):  # an OSError, of which commands make a sentence
            worker.receive()
    finally:
        worker.close()


class Deadly:
    def stage(self):
        os._exit(1)


def test_a_worker_that_dies_as_it_starts_is_not_waited_for():
    """While it imports, say, when a signal ends it: larger than a pipe is what it leaves unread."""

    def too_late(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, too_late)
    signal.alarm(120)
    worker = None
    try:
        worker = Worker([Stillborn(), bytes(10**7)], act)
        worker.send(Collect(None, (0, 0, 0)))
        with pytest.raises(ChildProcessError, match="died twice"):
            worker.receive()
    finally:
        signal.alarm(0)
        if worker is not None:
            worker.close()


class Stillborn:
    def __reduce__(self):
        return os._exit, (1,)


def test_noise_is_standard_normal_and_pink_noise_is_correlated():
    rng = np.random.default_rng(0)
    for exponent in (0.0, 1.0):
        noise = colored(300, 2000, exponent, rng)
        np.testing.assert_allclose(noise.var(axis=1), 1.0, atol=0.15)
    pink, white = (colored(300, 2000, exponent, rng) for exponent in (1.0, 0.0))
    assert np.mean(pink[:-1] * pink[1:]) > 0.5
    assert abs(np.mean(white[:-1] * white[1:])) < 0.05
    power = (np.abs(np.fft.rfft(pink, axis=0)) ** 2).mean(axis=1)
    slope = np.polyfit(np.log(np.arange(2, 140)), np.log(power[2:140]), 1)[0]
    assert slope == pytest.approx(-1.0, abs=0.05)
