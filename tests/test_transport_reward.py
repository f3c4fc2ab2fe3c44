"""Rewards of optimal transport against POT's own figures."""

import json
import subprocess
import sys

import numpy as np
import ot
import pytest
from scipy.spatial.distance import cdist

from vision_pwil.rewards.table import REWARDS, find
from vision_pwil.rewards.transport import TransportReward
from vision_pwil.system.errors import InputError
from vision_pwil.system.run import read_curve


def cloud(seed: int, rows: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, 3))


def test_the_costs_of_a_whole_episode_sum_to_the_distance():
    points, atoms, weights = cloud(0, 12), cloud(1, 20), np.random.default_rng(2).integers(1, 5, 20)
    reward = TransportReward.for_embeddings(atoms, 12, weights=weights)
    expected = ot.emd2(np.full(12, 1 / 12), weights / weights.sum(), cdist(points, atoms))
    assert reward.episode(points).costs.sum() == pytest.approx(expected)


def test_sinkhorn_is_pots():
    points, atoms = cloud(0, 12), cloud(1, 20)
    distances = cdist(points, atoms)
    uniform = np.full(12, 1 / 12), np.full(20, 1 / 20)
    expected = ot.sinkhorn2(*uniform, distances, 0.05 * distances.mean(), stopThr=1e-12, numItermax=100_000)
    reward = TransportReward.for_embeddings(atoms, 12, regularization=0.05)
    assert reward.episode(points).costs.sum() == pytest.approx(float(expected), rel=1e-4)
    exact = TransportReward.for_embeddings(atoms, 12).episode(points).costs.sum()
    assert exact < reward.episode(points).costs.sum()


def test_each_step_is_paid_for_what_its_own_mass_moves():
    """Two points, two atoms, one pairing that costs least: the steps move 1 and 3, half the mass each."""
    reward = TransportReward.for_embeddings([[0.0], [10.0]], 2, alpha=5.0, beta=1.0)
    costs, rewards = reward.episode([[13.0], [1.0]])
    np.testing.assert_allclose(costs, [3 / 2, 1 / 2])
    np.testing.assert_allclose(rewards, 5 * np.exp(-2 * costs))


@pytest.mark.parametrize("shared", [None, np.array([0.5, 0.5, 0.5])])
def test_absorbing_steps_carry_the_rest_of_the_mass(shared):
    points, atoms = cloud(0, 5), cloud(1, 20)
    reward = TransportReward.for_embeddings(atoms, 12)
    costs = reward.episode(points, absorbing=True, absorbing_point=shared).costs
    end = points[-1] if shared is None else shared
    visited = np.vstack([points, np.tile(end, (7, 1))])
    expected = ot.emd2(np.full(12, 1 / 12), np.full(20, 1 / 20), cdist(visited, atoms))
    assert len(costs) == 12 and costs.sum() == pytest.approx(expected)
    assert len(set(costs[5:])) == 1


def test_an_early_end_that_is_not_absorbed_is_transported_as_it_is():
    points, atoms = cloud(0, 5), cloud(1, 20)
    costs = TransportReward.for_embeddings(atoms, 12).episode(points).costs
    expected = ot.emd2(np.full(5, 1 / 5), np.full(20, 1 / 20), cdist(points, atoms))
    assert costs.sum() == pytest.approx(5 / 12 * expected)


def test_bad_input_gets_one_sentence():
    reward = TransportReward.for_embeddings(cloud(1, 20), 12)
    with pytest.raises(InputError, match="1 to 12 points of 3 numbers"):
        reward.episode(cloud(0, 13))
    with pytest.raises(InputError, match="not finite"):
        reward.episode(np.full((2, 3), np.nan))
    with pytest.raises(InputError, match="0 or more"):
        TransportReward.for_embeddings(cloud(1, 20), 12, regularization=-1.0)
    with pytest.raises(InputError, match="There is no reward 'gold'"):
        find("gold")


@pytest.mark.parametrize("name", REWARDS)
def test_every_reward_pays_the_demonstration_itself_best(name):
    atoms = cloud(0, 12)
    reward = find(name)(atoms, 12, metric=np.asarray, scale=12.0, weights=None, alpha=5.0, beta=1.0)
    own, other = reward.episode(atoms).rewards.sum(), reward.episode(atoms + 1.0).rewards.sum()
    assert own > other
    assert reward.horizon == 12 and reward.dimension == 3


@pytest.mark.parametrize("name", ["transport", "sinkhorn"])
def test_it_is_trained_with_and_audited_like_any_other(name, tmp_path):
    chosen = ["--env", "Reacher-v5", "--reward", name]
    short = ["--agent", "sac", "--steps", "40", "--random-steps", "40", "--evaluation-episodes", "1"]
    pairs = ["--compare", "pairs", "--ending", "none", "--episodes", "1", "--num-demos", "9"]
    for words in (["train", *short, "--run", tmp_path / "run"], ["audit", *pairs, "--out", tmp_path / "audit"]):
        subprocess.run([sys.executable, "-m", "vision_pwil", *words, *chosen], check=True, timeout=600)
    for row in read_curve(tmp_path / "run"):
        assert 0 < row["return"] < 5 * row["steps"] and 0 < row["w1"] <= row["greedy_w1"]
    scores = json.loads((tmp_path / "audit" / "audit.json").read_text())["scores"]
    shown, others = ([score["imitation_return"] for score in scores if score["expert"] == expert] for expert in (1, 0))
    assert np.mean(shown) > np.mean(others) > 0
