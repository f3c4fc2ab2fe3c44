"""Algorithm 1 as one would write it first, in plain numpy: what the package's coupling is measured against."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Transcription:
    """The greedy coupling of one episode: argmin, delete, repeat (distances once a step: they do not change within)."""

    def __init__(self, atoms: Floats, horizon: int) -> None:
        self.atoms, self.masses, self.horizon = atoms, np.full(len(atoms), 1 / len(atoms)), horizon

    def step(self, point: Floats) -> float:
        """Cost of a step."""
        mass, cost = 1 / self.horizon, 0.0
        distances = np.linalg.norm(self.atoms - point, axis=1)
        while mass > 1e-12 and len(self.masses):  # floating masses do not reach 0 exactly
            j = distances.argmin()
            if mass >= self.masses[j]:
                cost += self.masses[j] * distances[j]
                mass -= self.masses[j]
                self.atoms, self.masses = np.delete(self.atoms, j, axis=0), np.delete(self.masses, j)
                distances = np.delete(distances, j)
            else:
                cost += mass * distances[j]
                self.masses[j] -= mass
                mass = 0.0
        return float(cost)


def transcription(points: Floats, atoms: Floats, horizon: int) -> Floats:
    """Costs of an episode's points."""
    coupling = Transcription(atoms, horizon)
    return np.array([coupling.step(point) for point in points])
