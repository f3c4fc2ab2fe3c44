"""Metrics between an agent's points and the demonstrations' (paper, sections "Implementation" and "Door Opening Task").

Every metric here is a map into a space where the distance is Euclidean, so a metric is one call: points in, features
out. Standardised Euclidean is PWIL's, plain Euclidean its ablation PWIL-L2; leaving the action out of the points gives
PWIL-state. Between embeddings of frames, plain Euclidean is the learned metric of the pixel experiment.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vision_pwil.system.errors import InputError

CONSTANT = 1e-6  # a dimension whose standard deviation is below this is constant, up to rounding


class Metric(Protocol):
    """A distance d(x, y) = |m(x) - m(y)|, given by its map m."""

    def __call__(self, points: Any) -> NDArray[np.floating]:
        """Map points, one (d,) or many (n, d), to the features whose Euclidean distance is the metric."""
        ...


@dataclass(frozen=True)
class Euclidean:
    """The plain L2 distance (ablation PWIL-L2)."""

    def __call__(self, points: ArrayLike) -> NDArray[np.float64]:
        """Points are their own features."""
        return np.asarray(points, dtype=np.float64)


@dataclass(frozen=True)
class StandardizedEuclidean:
    """L2 distance with each dimension divided by its standard deviation over the demonstrations.

    A dimension that never changes in the demonstrations (contact forces of Ant and Humanoid) has no standard deviation
    to divide by and counts in its own unit: leaving it would hide an agent that does change it.

    One that hardly changes is another matter: an expert that holds a joint against its stop, give or take 0.001 rad,
    is hundreds of standard deviations away from everything else. `min_std` bounds them from below (not in the paper).
    """

    std: NDArray[np.float64]

    @classmethod
    def of(cls, atoms: ArrayLike, min_std: float = 0.0) -> "StandardizedEuclidean":
        """Take the standard deviations of the demonstrations' points (n, d), or `min_std` where they are less."""
        atoms = np.asarray(atoms, dtype=np.float64)
        if atoms.ndim != 2 or atoms.size == 0:
            raise InputError(
                f"The demonstrations are empty or not a table: expected points of shape (n, d), got {atoms.shape}."
            )
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is not finite, and refused next
            std = atoms.std(axis=0)
        if not np.isfinite(std).all():
            raise InputError(
                "The demonstrations hold values that are not finite, or too large for a standard deviation, in"
                f" dimension {int(np.argmin(np.isfinite(std)))}: remove or mend them."
            )
        return cls(np.where(std > CONSTANT, np.maximum(std, min_std), 1.0))

    def __call__(self, points: ArrayLike) -> NDArray[np.float64]:
        """Divide each dimension by its standard deviation."""
        points = np.asarray(points, dtype=np.float64)
        if points.shape[-1:] != self.std.shape:
            raise InputError(
                f"A point has shape {points.shape} but the demonstrations have {len(self.std)} dimensions."
            )
        return points / self.std
