"""Kendall's tau of alignments made by hand."""

import numpy as np
import pytest
from scipy.stats import kendalltau

from vision_pwil.tcc.alignment import kendall_tau, nearest, pair_tau, tau_matrix


def line(*values: float) -> np.ndarray:
    return np.array(values, np.float32)[:, None]


def test_perfect_reversed_and_constant_alignments() -> None:
    up = line(0, 1, 2, 3, 4)
    assert pair_tau(up, line(0.1, 1.1, 2.1, 3.1, 4.1)) == pytest.approx(1)
    assert pair_tau(up, up[::-1]) == pytest.approx(-1)
    assert pair_tau(up, line(9, 9, 9)) == 0  # every frame matches the first: no order at all, not NaN


def test_one_swap_of_four_costs_a_third() -> None:
    # Matches 0, 2, 1, 3: 5 pairs in order, 1 out of order, of 6: (5 - 1) / 6.
    assert pair_tau(line(0, 1, 2, 3), line(0, 2, 1, 3)) == pytest.approx(4 / 6)


def test_ties_follow_scipy_on_the_brute_force_matches() -> None:
    rng = np.random.default_rng(0)
    u, v = rng.normal(size=(30, 5)).astype(np.float32), rng.normal(size=(12, 5)).astype(np.float32)
    match = [min(range(12), key=lambda k: float(np.linalg.norm(u[i] - v[k]))) for i in range(30)]
    assert nearest(u, v).tolist() == match
    assert pair_tau(u, v) == pytest.approx(kendalltau(range(30), match).statistic)


def test_the_mean_is_over_ordered_pairs_of_different_videos() -> None:
    videos = [line(0, 1, 2), line(0, 1, 2, 3), line(2, 1, 0)]
    matrix = tau_matrix(videos)
    assert np.isnan(np.diag(matrix)).all()
    expected = [pair_tau(videos[i], videos[j]) for i in range(3) for j in range(3) if i != j]
    assert kendall_tau(videos) == pytest.approx(np.mean(expected))


def test_frames_far_from_the_origin_keep_their_neighbours() -> None:
    offset = 1e4 + np.arange(50, dtype=np.float32)[:, None]
    assert nearest(offset, offset).tolist() == list(range(50))
