"""Kendall's tau of the alignment between videos, by which the paper selects the encoder."""

from collections.abc import Sequence

import numpy as np


def distances(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """L2 distance of every frame of u to every frame of v."""
    u, v = u.astype(np.float64), v.astype(np.float64)
    squares = (u**2).sum(1)[:, None] + (v**2).sum(1)[None, :] - 2 * u @ v.T
    return np.sqrt(np.maximum(squares, 0))


def nearest(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Index in v of the L2-nearest frame of every frame of u (the first of equals)."""
    return np.argmin(distances(u, v), axis=1)


def typical_distance(held_out: Sequence[np.ndarray], training: Sequence[np.ndarray]) -> float:
    """Median distance from a held-out frame to the nearest training frame: the natural unit of an embedding."""
    atoms = np.concatenate(training)
    return float(np.median(np.concatenate([distances(video, atoms).min(axis=1) for video in held_out])))


def pair_tau(u: np.ndarray, v: np.ndarray) -> float:
    """Kendall's tau between the order of u's frames and of their nearest neighbours in v; 0 for a constant match."""
    from scipy.stats import kendalltau  # imports slowly

    tau = kendalltau(np.arange(len(u)), nearest(u, v)).statistic
    return 0.0 if np.isnan(tau) else float(tau)


def tau_matrix(embeddings: Sequence[np.ndarray]) -> np.ndarray:
    """Tau of every ordered pair of videos, (V,V); the diagonal, which is no pair, is NaN."""
    count = len(embeddings)
    taus = np.full((count, count), np.nan)
    for i in range(count):
        for j in range(count):
            if i != j:
                taus[i, j] = pair_tau(embeddings[i], embeddings[j])
    return taus


def kendall_tau(embeddings: Sequence[np.ndarray]) -> float:
    """Mean tau over all ordered pairs of different videos; needs two videos or more."""
    return float(np.nanmean(tau_matrix(embeddings)))
