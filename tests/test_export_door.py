"""A run of the door, exported: in onnxruntime its policy plays as it does here; policies by their files."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch
from PIL import Image

from benchmarks import exported
from vision_pwil.demonstrations import read
from vision_pwil.door_env import ENV_ID, SETTINGS
from vision_pwil.encoder import Encoder, Provenance
from vision_pwil.envs.holding import holding
from vision_pwil.envs.record import record
from vision_pwil.system.errors import InputError
from vision_pwil.tasks.policy import load_policy

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from vision_pwil.commands import demonstrations
from vision_pwil.commands import export as command

HORIZON = 24


@pytest.fixture(scope="module", params=["state", "embedding"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A very short training with an encoder of random weights, whose policy sees the state, or pictures."""
    folder = tmp_path_factory.mktemp(request.param)
    rng = np.random.default_rng(0)
    env = gym.make(ENV_ID, max_episode_steps=20)
    record(lambda observation, step: rng.uniform(-1, 1, 28), env, episodes=4, seed=0).save(folder / "random.demos")
    torch.manual_seed(0)
    encoder = Encoder()
    encoder.provenance = Provenance(render_fingerprint=SETTINGS.fingerprint)
    encoder.save(folder / "encoder.safetensors")
    options = [
        *("--demos", folder / "random.demos", "--encoder", folder / "encoder.safetensors", "--run", folder / "run"),
        *("--observe", request.param, "--horizon", HORIZON, "--steps", 150, "--random-steps", 50, "--batch-size", 32),
        *("--action-smoothing", 0.3, "--action-targets", 0, 1, 2, 3, 4, 5),  # the arm's and the wrist's
        *("--evaluation-interval", 150, "--evaluation-episodes", 1, "--no-audit", "--no-video", "--ending", "last"),
    ]
    subprocess.run([sys.executable, "-m", "vision_pwil.train_door", *map(str, options)], check=True)
    return folder / "run"


def test_the_exported_policy_plays_the_door_as_the_package_does(run: Path) -> None:
    command.main([str(run)])
    about = json.loads((run / "export" / "metadata.json").read_text())
    act = runpy.run_path(str(run / "export" / "example.py"))["act"]
    env = gym.make(ENV_ID, render_mode="rgb_array")
    hold = holding(env)
    observation, _ = env.reset(seed=5)
    encoder, frame = Encoder.load(run / "encoder.safetensors"), np.zeros(())
    sees = "frames" in about
    assert sees == (about["files"] == ["policy.onnx", "encoder.onnx"]) == (run.parent.name.startswith("embedding"))
    assert (about["observation"]["dimensions"] is not None) == sees
    chooses = load_policy(run, (lambda: encoder.embed(frame[None])[0]) if sees else None, hold)
    assert about["moves_targets"]["action_targets"] == [*range(6)]
    played, start = [], hold()
    for step in range(HORIZON):
        frame = env.render() if sees else None
        wanted = chooses(observation, step)
        seen = observation[about["observation"]["dimensions"]] if sees else observation
        np.testing.assert_allclose(act(seen, step, frame, None if step else start), wanted, rtol=0, atol=1e-5)
        observation, *_ = env.step(wanted)
        played.append(wanted)
    assert np.ptp(played, axis=0).max() > 1e-3  # a hundred times what may differ


def test_the_policy_is_recorded_as_it_plays(run: Path, tmp_path: Path) -> None:
    if run.parent.name.startswith("embedding"):  # it would need frames, which the command does not draw
        return
    demonstrations.main(["record", str(run), str(tmp_path / "own.demos"), "--episodes", "1", "--seed", "5"])
    (episode,) = read(tmp_path / "own.demos").episodes
    env = gym.make(ENV_ID)
    policy = load_policy(run, hold=holding(env))
    env.reset(seed=5)
    for step, (state, action) in enumerate(zip(episode.states, episode.actions, strict=True)):
        np.testing.assert_allclose(policy(state, step), action, atol=1e-6)


def test_a_policy_is_exported_by_its_file(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Away from its run; that of a policy that sees pictures needs the encoder beside it."""
    monkeypatch.chdir(tmp_path)
    for name in ("policy.safetensors", "encoder.safetensors"):
        (tmp_path / name).write_bytes((run / name).read_bytes())
    command.main(["policy.safetensors"])
    command.main([str(run), "--out", "of-run"])
    same = [(tmp_path / folder / "policy.onnx").read_bytes() for folder in ("policy-export", "of-run")]
    assert same[0] == same[1]
    with pytest.raises(SystemExit):
        command.main(["yours"])
    assert "yours" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command.main(["policy.safetensors", "--best"])
    assert "--best chooses among the policies of a run" in capsys.readouterr().err


def test_an_exported_policy_is_played_and_recorded(run: Path, tmp_path: Path) -> None:
    if run.parent.name.startswith("embedding"):
        with pytest.raises(InputError, match="does not act at the door from its state"):
            exported.main(exported.Config(run, out=tmp_path))
        return
    exported.main(exported.Config(run, episodes=2, out=tmp_path))
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["steps"] == [HORIZON] * 2 and 0 < max(summary["apart"]) < 1e-5
    assert " 0 of 2 |" in (tmp_path / "table.md").read_text()
    assert Image.open(tmp_path / "stills.png").size == (1200, 200)
    assert (tmp_path / "policy.safetensors").read_bytes() == (run / "policy.safetensors").read_bytes()


KEPT = Path(__file__).resolve().parents[1] / "results" / "export"


def test_the_policy_that_was_exported_and_kept_opens_the_door() -> None:
    """In onnxruntime alone, as it is in the repository."""
    act = runpy.run_path(str(KEPT / "example.py"))["act"]
    summary = json.loads((KEPT / "summary.json").read_text())
    number = summary["opened"].index(True)
    env = gym.make(ENV_ID)
    hold = holding(env)
    observation, _ = env.reset(seed=summary["first_seed"] + number)
    targets = hold()
    for step in range(summary["steps"][number] + 30):  # another processor rounds otherwise
        observation, _, terminated, _, info = env.step(act(observation, step, targets=None if step else targets))
        if terminated:
            break
    assert info["opened"]
