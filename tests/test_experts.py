"""What the expert's own episodes earn, by the real command, against a transcription of Algorithm 1."""

import json
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest

from benchmarks.rewarder import transcription
from vision_pwil.demonstrations import choose, read
from vision_pwil.train_locomotion import ASSETS


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.experts", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("least", [0.0, 0.1])
def test_the_episodes_not_shown_earn_what_algorithm_1_says(least, tmp_path):
    file = ASSETS / "Reacher-v5.demos"
    done = run(file, "--counts", 1, 4, "--seeds", 2, "--min-deviation", least, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "table.md").read_text().splitlines()) == 2 * 4 + 10  # counts, rewards, and what is around
    cases = json.loads((tmp_path / "summary.json").read_text())["cases"]
    found = next(case for case in cases if (case["demonstrations"], case["ablation"]) == (4, "none"))["seeds"][1]
    demonstrations = read(file)
    shown = choose(demonstrations, 4, seed=1).episodes
    pairs = [np.hstack([episode.states, episode.actions]) for episode in shown]
    deviation = np.concatenate(pairs).std(0, dtype=np.float64)
    others = [episode for episode in demonstrations.episodes if all(episode is not known for known in shown)]
    assert len(found) == len(others) == 7
    for (earned, w1), episode in zip(found, others, strict=True):
        points, atoms = np.hstack([episode.states, episode.actions]), np.concatenate(pairs)
        costs = transcription(points / np.maximum(deviation, least), atoms / np.maximum(deviation, least), 50)
        np.testing.assert_allclose(earned, (5 * np.exp(-5 * 50 / np.sqrt(12) * costs)).sum(), rtol=1e-6)
        assert w1 <= transcription(points / deviation, atoms / deviation, 50).sum() + 1e-9  # never with the least one


def test_blind_play_repeats_the_demonstration_whatever_it_sees(tmp_path):
    file = ASSETS / "Reacher-v5.demos"
    done = run(file, "--counts", 1, "--seeds", 1, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    case = json.loads((tmp_path / "summary.json").read_text())["cases"][0]
    (earned,) = case["blind"]
    shown = choose(read(file), 1, seed=0).episodes[0]
    atoms = np.hstack([shown.states, shown.actions])
    deviation = atoms.std(0, dtype=np.float64)
    deviation[deviation < 1e-6] = 1.0  # the target, which stays where it is
    env = gym.make("Reacher-v5")
    assert len(earned) == 10
    for seed, found in enumerate(earned):
        state, _ = env.reset(seed=seed)
        points = []
        for action in shown.actions:
            points.append(np.append(state, action))
            state = env.step(action)[0]
        costs = transcription(np.array(points) / deviation, atoms / deviation, 50)
        np.testing.assert_allclose(found, (5 * np.exp(-5 * 50 / np.sqrt(12) * costs)).sum(), rtol=1e-4)


def test_a_file_of_another_name_gets_a_sentence(tmp_path):
    other = tmp_path / "Walker2d-v5.demos"
    other.write_bytes((ASSETS / "Hopper-v5.demos").read_bytes())
    done = run(other, "--out", tmp_path / "out")
    assert done.returncode == 2 and "are of Hopper-v5, not of Walker2d-v5" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--counts", 11], "--counts 11 leaves none to score"),
        (["--min-deviation", -1], "The least deviation is -1.0, which cannot be negative"),
    ],
)
def test_mistakes_get_a_sentence(arguments, sentence, tmp_path):
    done = run(ASSETS / "Reacher-v5.demos", *arguments, "--out", tmp_path / "out")
    assert done.returncode == 2 and sentence in done.stderr
    assert not (tmp_path / "out").exists()
