"""The audit of a reward on states and actions, against Algorithm 1 written out and POT's own distance."""

import json
import subprocess
import sys
from dataclasses import replace

import gymnasium as gym
import numpy as np
import ot
import pytest

from benchmarks.transcription import transcription
from vision_pwil.demonstrations import ASSETS, choose, read, subsample
from vision_pwil.tasks import presets
from vision_pwil.tasks.auditing import audit_task
from vision_pwil.tasks.settings import Choice
from vision_pwil.verdict.behaviour import HELD_OUT, OPEN_LOOP

SEED, EPISODES = 1, 2


def pairs(episodes):
    return np.concatenate([np.hstack([episode.states, episode.actions]) for episode in episodes]).astype(np.float64)


def deviation(atoms, least=0.0):
    """What a dimension is divided by: 1 where it never changes."""
    std = atoms.std(axis=0)
    return np.where(std > 1e-6, np.maximum(std, least), 1.0)


def imitation_return(points, atoms, horizon):
    """Eq. 7 with the paper's constants."""
    costs = transcription(points, atoms, horizon)
    return (5 * np.exp(-5 * horizon / np.sqrt(atoms.shape[1]) * costs)).sum()


@pytest.mark.parametrize(("env", "shown", "least"), [("Hopper-v5", 1, 0.0), ("Reacher-v5", 4, 0.1)])
def test_what_is_held_out_and_what_is_replayed_earn_what_algorithm_1_says(env, shown, least):
    demonstrations = read(ASSETS / f"{env}.demos")
    usual = presets.defaults(Choice(env, "d4pg"))
    config = replace(usual, num_demos=shown, task=replace(usual.task, min_std=least))
    report = audit_task(config, demonstrations, None, episodes=EPISODES, seed=SEED)
    groups = report.groups()

    known = choose(demonstrations, shown, SEED)
    atoms, horizon = pairs(subsample(known, SEED, usual.subsample).episodes), gym.spec(env).max_episode_steps
    rewarded, reported = deviation(atoms, least), deviation(atoms)  # W1 is of the paper's distance, whatever is paid
    others = [episode for episode in demonstrations.episodes if all(episode is not each for each in known.episodes)]
    assert len(groups[HELD_OUT]) == len(others) == len(demonstrations) - shown
    for score, episode in zip(groups[HELD_OUT], others, strict=True):
        points = pairs([episode])
        expected = imitation_return(points / rewarded, atoms / rewarded, horizon)
        assert score.imitation_return == pytest.approx(expected, rel=1e-6)
        distances = ot.dist(points / reported, atoms / reported, metric="euclidean")
        assert score.w1 == pytest.approx(ot.emd2(ot.unif(len(points)), ot.unif(len(atoms)), distances), rel=1e-6)

    assert len(groups[OPEN_LOOP]) == EPISODES
    stage = gym.make(env)
    for index, score in enumerate(groups[OPEN_LOOP]):
        state, _ = stage.reset(seed=SEED + index)
        played = []
        for action in known.episodes[0].actions:
            played.append(np.append(state, action))
            state, _, terminated, _, _ = stage.step(action)
            if terminated:
                break
        expected = imitation_return(np.array(played) / rewarded, atoms / rewarded, horizon)
        assert score.imitation_return == pytest.approx(expected, rel=1e-3)  # actions pass through float32


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "vision_pwil", "audit", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, timeout=300)


def test_the_command_takes_the_demonstrations_that_ship(tmp_path):
    done = command("--env", "Reacher-v5", "--episodes", 1, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert HELD_OUT in done.stdout and OPEN_LOOP in done.stdout and "This reward" in done.stdout
    scores = json.loads((tmp_path / "audit.json").read_text())["scores"]
    assert sum(score["expert"] for score in scores) == 10  # one of 11 is shown
    assert (tmp_path / "audit.png").stat().st_size > 1_000


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--env", "Walker2d-v5"], "are of Hopper-v5, not of Walker2d-v5"),
        (["--env", "Hopper-v5", "--min-std", -1], "--min-std"),
    ],
)
def test_mistakes_get_a_sentence(arguments, sentence, tmp_path):
    done = command(*arguments, "--demos", ASSETS / "Hopper-v5.demos", "--out", tmp_path / "out")
    assert done.returncode == 2 and sentence in done.stderr, done.stderr
    assert "Traceback" not in done.stderr and not (tmp_path / "out").exists()
