from itertools import permutations

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from vision_pwil.rewards.wasserstein import exact_w1, greedy_w1
from vision_pwil.system.errors import InputError


def test_one_dimension_is_scipys():
    rng = np.random.default_rng(0)
    x, y, p, q = rng.normal(size=20), rng.normal(size=30), rng.uniform(size=20), rng.uniform(size=30)
    assert exact_w1(x[:, None], y[:, None], p, q) == pytest.approx(wasserstein_distance(x, y, p, q))


def test_equal_clouds_are_the_best_assignment():
    x, y = np.random.default_rng(0).normal(size=(2, 5, 3))
    best = min(sum(np.linalg.norm(x[i] - y[j]) for i, j in enumerate(order)) for order in permutations(range(5)))
    assert exact_w1(x, y) == pytest.approx(best / 5)


def test_greedy_bound_is_the_sum_of_costs():
    assert greedy_w1([0.25, 0.5]) == 0.75


def test_bad_clouds_get_one_sentence():
    with pytest.raises(InputError, match="agent's points"):
        exact_w1(np.zeros((0, 2)), np.zeros((1, 2)))
    with pytest.raises(InputError, match="demonstrations' points"):
        exact_w1(np.zeros((1, 2)), [[np.nan, 0]])
    with pytest.raises(InputError, match="Weights"):
        exact_w1(np.zeros((1, 2)), np.zeros((2, 2)), None, [0, 0])
