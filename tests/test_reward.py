import math

import numpy as np
import pytest

from vision_pwil.rewards.pwil import Rewarder
from vision_pwil.rewards.reward import fold_absorbing


def test_equation_7_by_hand():
    """Two atoms of one dimension with deviation 1: the first step costs 1/2 x 0.5, and r = 5 exp(-5 x 2 x 0.25)."""
    rewarder = Rewarder.for_states([[0.0], [2.0]], horizon=2)
    assert rewarder.step([0.5]) == pytest.approx(5 * math.exp(-5 * 2 / math.sqrt(1) * 0.25))


def test_scale_uses_the_dimension_really_compared():
    atoms = np.random.default_rng(0).normal(size=(9, 4))
    assert Rewarder.for_states(atoms, 8).scale == 8 / 2
    assert Rewarder.for_states(atoms[:, :3], 8).scale == pytest.approx(8 / math.sqrt(3))
    assert Rewarder.for_embeddings(atoms, 8).scale == 8


def test_pixel_reward_by_hand():
    """T=2, atoms 0 and 3: from 1 the cost is 1/2, and alpha exp(-beta T c) = 5 exp(-1 x 2 x 0.5)."""
    rewarder = Rewarder.for_embeddings([[0.0], [3.0]], horizon=2)
    assert rewarder.step([1.0]) == pytest.approx(5 * math.exp(-1))


def test_largest_reward_is_alpha_and_goes_to_the_demonstration_itself():
    atoms = np.random.default_rng(0).normal(size=(7, 3))
    assert Rewarder.for_states(atoms, 7, alpha=3.0).episode(atoms).rewards.tolist() == [3.0] * 7


def test_online_and_whole_episode_rewards_are_identical():
    rng = np.random.default_rng(0)
    rewarder = Rewarder.for_states(rng.normal(size=(40, 5)), 30, weights=rng.integers(1, 4, 40))
    points = rng.normal(size=(12, 5))
    online = [rewarder.step(point) for point in points]
    whole = rewarder.episode(points, absorbing=True).rewards
    rewarder.episode(points)
    assert whole.tolist() == online + rewarder.absorb().tolist()
    assert len(whole) == 30


def test_pwil_l2_does_not_standardize():
    atoms = [[0.0, 0.0], [2.0, 20.0]]
    rewarder = Rewarder.for_states(atoms, 2, standardized=False)
    assert rewarder.step([0.0, 1.0]) == pytest.approx(5 * math.exp(-5 * 2 / math.sqrt(2) * 0.5))


def test_support_never_runs_out():
    rewarder = Rewarder.for_states([[0.0], [2.0]], 4, support=True)
    assert [rewarder.step([0.0]) for _ in range(4)] == [5.0] * 4


def test_folding_keeps_the_return_from_every_step():
    rewards, discount = np.random.default_rng(0).uniform(size=9), 0.9
    folded = fold_absorbing(rewards, 4, discount)
    for t in range(4):
        whole = sum(discount ** (k - t) * rewards[k] for k in range(t, 9))
        assert sum(discount ** (k - t) * folded[k] for k in range(t, 4)) == pytest.approx(whole)
    assert fold_absorbing(rewards, 9, discount).tolist() == rewards.tolist()
