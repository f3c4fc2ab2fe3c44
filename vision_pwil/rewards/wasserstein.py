"""How far an agent is from the demonstrations: the exact Wasserstein-1 distance and its greedy upper bound (eq. 5).

The paper reports both during learning (section "Results"). The exact distance is the transportation problem solved by
POT's network simplex, with the Euclidean distance between features as cost.
"""

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from vision_pwil.system.errors import InputError


def exact_w1(
    points: ArrayLike, atoms: ArrayLike, point_weights: ArrayLike | None = None, atom_weights: ArrayLike | None = None
) -> float:
    """W_1 between two weighted clouds of features (eq. 1 with p = 1); weights need not sum to one."""
    import ot  # imports slowly, and only evaluation needs it

    points, atoms = _cloud(points, "agent's"), _cloud(atoms, "demonstrations'")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # POT warns, and returns a wrong cost, when it does not converge
        cost = ot.emd2(
            _masses(point_weights, len(points)),
            _masses(atom_weights, len(atoms)),
            cdist(points, atoms),
            numItermax=100_000_000,
        )
    return float(cost)


def greedy_w1(costs: ArrayLike) -> float:
    """Upper bound of W_1 by the greedy coupling: the sum of an episode's costs (eq. 5)."""
    return float(np.sum(costs))


def _cloud(points: ArrayLike, whose: str) -> NDArray[np.float64]:
    cloud = np.asarray(points, dtype=np.float64)
    if cloud.ndim != 2 or len(cloud) == 0 or not np.isfinite(cloud).all():
        raise InputError(f"The {whose} points must be a table of finite numbers with at least one row.")
    return cloud


def _masses(weights: ArrayLike | None, count: int) -> NDArray[np.float64]:
    masses = np.ones(count) if weights is None else np.asarray(weights, dtype=np.float64)
    if masses.shape != (count,) or not (masses >= 0).all() or not 0 < masses.sum() < np.inf:
        raise InputError(f"Weights must be {count} non-negative numbers, one per point, not all zero.")
    return masses / masses.sum()
