"""Exported policies act in onnxruntime as they do here: every agent, what it sees, its units, and bad files."""

import json
import runpy
import subprocess
import sys
from dataclasses import asdict

import numpy as np
import pytest
import torch

from vision_pwil.agents import blueprint, table
from vision_pwil.encoder import EMBEDDING, Encoder
from vision_pwil.system.errors import InputError
from vision_pwil.tasks.observation import Observation
from vision_pwil.tasks.policy import load_policy
from vision_pwil.training.snapshot import write_snapshot

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from vision_pwil.commands.export import Export, write  # noqa: E402
from vision_pwil.tasks.export import export  # noqa: E402

HORIZON, REPEAT = 50, 3
LOW, HIGH, SHAPE = [-2.0, -1.0, 0.0, -0.4, -1.0, 3.0], [2.0, 1.0, 5.0, 0.4, 2.0, 3.5], [2, 3]
"""Six actions in a box of two by three, each with a range of its own."""
PARTS = ["goal", "robot/joints"]
STATE = 7


def saved(folder, agent, observe, /, state_size=STATE, **changes):
    """A policy file of an agent whose numbers are all drawn at random, so that each one counts."""
    rng = np.random.default_rng(0)
    size = observe.size(state_size)
    kind = table.find(agent)
    settings = kind.settings()
    expert = blueprint.Expert(rng.normal(2, 3, (40, state_size)), rng.uniform(-1, 1, (40, 6)), 1, 1)
    learner = kind.build(blueprint.Blueprint(settings, size, 6, 0, "cpu", expert))
    policy = {
        name: (1.5 * array + rng.normal(0, 0.05, array.shape)).astype(np.float32)
        for name, array in learner.policy().items()
    }
    if agent in ("sac", "d4pg"):
        policy |= {
            "mean": rng.normal(size=size).astype(np.float32),
            "inverse_std": np.geomspace(0.1, 6, size, dtype=np.float32),
        }
    if agent == "bc":
        policy |= {"clip": np.array([np.inf], np.float32)}
    action = {"low": LOW, "high": HIGH, "shape": SHAPE}
    about = {"agent": agent, "env": "Any-v0", "env_options": [], "parts": PARTS, "step": 9, "action_repeat": REPEAT}
    write_snapshot(
        folder / "policy.safetensors", policy, {**about, "observation": asdict(observe), "action": action, **changes}
    )
    return folder / "policy.safetensors"


def observations(count=12):
    """The environment's own, in parts: far out, so that clipping shows."""
    rng = np.random.default_rng(1)
    return [{"goal": rng.normal(0, 3, (1, 2)), "robot": {"joints": rng.normal(0, 3, 5)}} for _ in range(count)]


def flat(observation):
    return np.concatenate([observation["goal"].ravel(), observation["robot"]["joints"]])


@pytest.mark.parametrize("agent", table.AGENTS)
@pytest.mark.parametrize("time", [False, True])
def test_every_agent_acts_alike(agent, time, tmp_path):
    time = time and agent not in ("bc", "dac")  # they see the state alone
    observe = Observation(HORIZON, time, table.find(agent).absorbing_bit)
    file = saved(tmp_path, agent, observe)
    act = runpy.run_path(str(export(file, tmp_path / "out") / "example.py"))["act"]
    policy, spread = load_policy(file), []
    for step, observation in enumerate(observations()):
        wanted = policy(observation, step)
        np.testing.assert_allclose(act(flat(observation), step), wanted, rtol=0, atol=1e-5)
        spread.append(wanted)
    assert wanted.shape == (2, 3) and (np.ptp(spread, axis=0) > 1e-3).all()  # a hundred times what may differ


def test_many_observations_at_once(tmp_path):
    file = saved(tmp_path, "sac", Observation(HORIZON, time=True))
    session = onnxruntime.InferenceSession(export(file, tmp_path) / "policy.onnx")
    rows = np.array([flat(each) for each in observations()], np.float32)
    times = np.linspace(0, 1, len(rows), dtype=np.float32)[:, None]
    together = session.run(None, {"observation": rows, "time": times})[0]
    alone = [
        session.run(None, {"observation": row[None], "time": t[None]})[0][0] for row, t in zip(rows, times, strict=True)
    ]
    np.testing.assert_allclose(together, alone, atol=1e-6)
    assert together.shape == (len(rows), 2, 3)


def test_a_policy_that_sees_pictures(tmp_path):
    torch.manual_seed(0)
    encoder = Encoder(np.random.default_rng(2).uniform(0, 255, (40, 44, 3)), scale=30.0)
    encoder.save(tmp_path / "encoder.safetensors")
    observe = Observation(HORIZON, True, embedding=EMBEDDING, proprioception=(1, 6), interval=2)
    file = saved(tmp_path, "sac", observe)
    frames = np.random.default_rng(3).integers(0, 256, (12, 40, 44, 3), np.uint8)
    shown = iter(frames[::2])
    policy = load_policy(file, lambda: encoder.embed(next(shown)[None])[0])
    out = export(file, tmp_path / "out")
    act = runpy.run_path(str(out / "example.py"))["act"]
    for step, observation in enumerate(observations()):
        wanted = policy(observation, step)
        np.testing.assert_allclose(act(flat(observation)[[1, 6]], step, frames[step]), wanted, rtol=0, atol=1e-5)
    embedded = onnxruntime.InferenceSession(out / "encoder.onnx").run(None, {"frames": frames})[0]
    np.testing.assert_allclose(embedded, encoder.embed(frames), rtol=0, atol=1e-5)
    about = json.loads((out / "metadata.json").read_text())
    assert about["observation"]["dimensions"] == [1, 6] and about["frames"]["shape"] == [40, 44, 3]


@pytest.mark.parametrize(
    "targets",
    [{"action_rate": 0.1}, {"action_smoothing": 0.2, "action_targets": [0, 3, 5]}],
    ids=["relative", "some smoothed"],
)
def test_a_policy_whose_actions_move_targets(targets, tmp_path):
    action = {"low": LOW, "high": HIGH, "shape": SHAPE, "targets": targets}
    observe = Observation(HORIZON, time=True)
    file = saved(tmp_path, "sac", observe, state_size=STATE + 6, parts=[*PARTS, "targets"], action=action)
    with pytest.raises(InputError, match="give `hold`"):
        load_policy(file)
    start = np.array([[0.5, 0.0, 1.0], [0.1, 0.5, 3.25]])
    policy = load_policy(file, hold=lambda: start)
    act = runpy.run_path(str(export(file, tmp_path / "out") / "example.py"))["act"]
    before, moved = start, []
    for step, observation in enumerate(observations()):
        wanted = policy(observation, step)
        np.testing.assert_allclose(
            act(flat(observation), step, targets=None if step else start), wanted, rtol=0, atol=1e-5
        )
        moved.append(np.abs(wanted - before) / (np.array(HIGH) - LOW).reshape(SHAPE))
        before = wanted
    fastest = np.max(moved, axis=0).ravel()
    slow = [*targets.get("action_targets", range(6))]
    assert (fastest[slow] <= (0.05 if "action_rate" in targets else 0.2) + 1e-6).all() and (fastest > 1e-3).all()


def test_the_command_writes_an_example_that_needs_nothing_of_this_package(tmp_path, capsys):
    saved(tmp_path, "d4pg", Observation(HORIZON))
    write(Export(tmp_path))
    assert "policy.onnx" in capsys.readouterr().out
    out = tmp_path / "export"
    about = json.loads((out / "metadata.json").read_text())
    assert about["action"]["shape"] == SHAPE and about["observation"]["parts"] == PARTS and about["horizon"] == HORIZON
    code = """
import runpy, sys
runpy.run_path("example.py", run_name="__main__")
print({"torch", "vision_pwil"} & {*sys.modules})
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=out, capture_output=True, text=True)
    *actions, imported = done.stdout.splitlines()
    assert imported == "set()" and len(actions) == 5 * 2, done.stderr  # a row for each of the box's


def test_bad_files_are_one_sentence(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        export(tmp_path / "policy.safetensors", tmp_path / "out")
    file = saved(tmp_path, "sac", Observation(HORIZON), action={"low": LOW, "high": HIGH, "shape": [7]})
    with pytest.raises(InputError, match="bounds of its actions do not fit"):
        export(file, tmp_path / "out")
    file = saved(tmp_path, "sac", Observation(HORIZON), agent="lazy")
    with pytest.raises(InputError, match="no agent 'lazy': choose one of sac"):
        export(file, tmp_path / "out")
    rng = np.random.default_rng(0)
    about = {"agent": "td3", "env": "Any-v0", "env_options": [], "parts": PARTS, "step": 9, "action_repeat": REPEAT}
    about |= {"observation": asdict(Observation(HORIZON)), "action": {"low": LOW, "high": HIGH, "shape": SHAPE}}
    write_snapshot(
        file, {"weight0": rng.normal(size=(7, 6)).astype(np.float32), "bias0": np.zeros(5, np.float32)}, about
    )
    with pytest.raises(InputError, match="not a readable policy"):
        export(file, tmp_path / "out")
    assert not (tmp_path / "out").exists()
