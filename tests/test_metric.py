import numpy as np
import pytest
from scipy.spatial.distance import seuclidean

from vision_pwil.rewards.metric import Euclidean, StandardizedEuclidean
from vision_pwil.system.errors import InputError


def test_standardized_euclidean_is_scipys():
    rng = np.random.default_rng(0)
    atoms = rng.normal(size=(30, 4)) * [1, 10, 0.1, 3]
    metric = StandardizedEuclidean.of(atoms)
    x, y = rng.normal(size=(2, 4))
    assert np.linalg.norm(metric(x) - metric(y)) == pytest.approx(seuclidean(x, y, atoms.var(axis=0)))


def test_a_dimension_that_never_changes_counts_in_its_own_unit():
    nearly = [0.1, 0.1 + 1e-9, 0.1, 0.1 + 1e-9, 0.1]  # rounding, not movement
    atoms = np.column_stack([np.arange(5.0), np.full(5, 7.0), nearly])
    metric = StandardizedEuclidean.of(atoms)
    difference = metric([0.0, 9.0, 3.0]) - metric([0.0, 7.0, 2.0])
    assert difference.tolist() == [0, 2, 1]


def test_no_dimension_is_divided_by_less_than_the_minimum():
    atoms = np.column_stack([[0.0, 4.0], [0.0, 0.002], [7.0, 7.0]])  # deviations of 2, 0.001 and 0
    difference = StandardizedEuclidean.of(atoms, min_std=0.1)([1.0, 0.1, 7.5]) - [0.0, 0.0, 7.0]
    assert difference.tolist() == [0.5, 1.0, 0.5]


def test_euclidean_leaves_points_alone():
    assert Euclidean()([1, 2]).tolist() == [1.0, 2.0]


def test_wrong_dimension_gets_one_sentence():
    with pytest.raises(InputError, match="have 3 dimensions"):
        StandardizedEuclidean.of(np.zeros((2, 3)))(np.zeros(4))
    with pytest.raises(InputError, match="empty"):
        StandardizedEuclidean.of(np.zeros((0, 3)))


@pytest.mark.parametrize("large", [1e308, 1e200, np.inf])
def test_a_spread_that_overflows_is_refused(large):
    with pytest.raises(InputError, match="in dimension 1"):
        StandardizedEuclidean.of([[0.0, large], [1.0, -large]])
