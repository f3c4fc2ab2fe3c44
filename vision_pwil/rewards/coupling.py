"""The greedy coupling of the paper (eq. 4, Algorithm 1) and its costs (eq. 6), with exact integer masses.

Atoms may weigh differently (absorbing states do). With integer weights n_j and N = sum n_j, an episode of T steps is
coupled in units of 1/(N T): every step carries N units and atom j holds n_j T of them, so that both marginals sum to
N T and hold exactly; no epsilon is needed and none is used.

How it is fast. A step needs only its nearest atoms, about D/T of them. A float32 matrix product gives a rigorous lower
bound of every squared distance. Atoms are visited by their bounds, the smallest first, and measured in float64, always
by the same function; a heap keeps the nearest that hold just enough mass, until no bound beats its worst. So costs do
not depend on how the bounds were computed: one step at a time and a whole episode agree to the last bit.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import ThreadpoolController

from vision_pwil.rewards import kernels
from vision_pwil.system.errors import InputError

_STEPS = 128  # steps of an episode bounded by one matrix product
_BLAS = ThreadpoolController().select(user_api="blas")

Floats = NDArray[np.float64]


class GreedyCoupling:
    """Couples an agent's steps, as they come, to the demonstrations' atoms (paper, Algorithm 1).

    Distances are Euclidean; a `Metric` maps other spaces to one where they are.

    Args:
        atoms: demonstrations' points, (D, d).
        horizon: number of steps T of an episode; each carries the mass 1/T.
        weights: positive integer weight of each atom, all 1 by default. Atom j holds the mass n_j / sum(n).
        support: PWIL-support of the paper's ablation: holes of infinite capacity, so that nothing is ever used up.
    """

    def __init__(self, atoms: ArrayLike, horizon: int, weights: ArrayLike | None = None, *, support: bool = False):
        self.atoms = np.array(atoms, dtype=np.float64, order="C")  # a copy: nobody changes what was checked
        if self.atoms.ndim != 2 or self.atoms.size == 0:
            raise InputError(
                f"The demonstrations are empty or not a table: expected atoms of shape (D, d), got {self.atoms.shape}."
            )
        if not (fine := _measurable(self.atoms)).all():
            raise InputError(
                "The demonstrations hold a value that is not finite, or beyond 1e150 where distances overflow, "
                f"first in atom {int(np.argmin(fine))}: remove or mend it."
            )
        if not hasattr(horizon, "__index__") or horizon < 1:
            raise InputError(f"The horizon must be a positive whole number of steps, got {horizon!r}.")
        self.horizon = int(horizon)
        self.weights = _whole_weights(weights, len(self.atoms))
        self.units = sum(self.weights.tolist())  # N: units that a step carries; Python's integers do not wrap
        if self.units * self.horizon >= 2**62:
            raise InputError(
                f"The weights sum to {self.units}, too large to count exactly with a horizon of {horizon}."
            )
        self._consume = not support
        self._capacity = self.weights * self.horizon if self._consume else np.full(len(self.atoms), self.units)

        dimension = self.atoms.shape[1]
        self._centre = self.atoms.mean(axis=0)  # bounds are tighter around the atoms' centre; distances do not use it
        shifted = self.atoms - self._centre
        with np.errstate(over="ignore"):  # infinite norms are caught by `kernels.LARGEST`
            norms = (shifted**2).sum(axis=1)
        self._atom_norm = float(np.sqrt(norms.max()))
        # float32 dot products of length d err by at most about d 2^-24 (|x|^2 + |y|^2) / 2; four times that is safe.
        self._slack = 4 * (dimension + 8) * 2.0**-24
        columns = np.column_stack([shifted, (1 - self._slack) * norms])
        self._columns = (columns if self._atom_norm < kernels.LARGEST else np.zeros_like(columns)).astype(np.float32)
        self._row = np.empty(dimension + 1, dtype=np.float32)
        self._masked = np.empty(len(self.atoms), dtype=np.float32)
        self._minima = np.empty(-(-len(self.atoms) // kernels.BLOCK), dtype=np.float32)
        self._bounds = np.empty((min(_STEPS, self.horizon), len(self.atoms)), dtype=np.float32)
        self._squares = np.empty(len(self.atoms))
        self._heap = np.empty(len(self.atoms), dtype=np.int64)
        self.reset()

    def reset(self) -> None:
        """Begin an episode: every atom has its whole capacity again."""
        self._room = self._capacity.copy()
        self._full = np.zeros(len(self.atoms), dtype=np.float32)  # infinite where an atom has no room left
        # What the kernels read and write of an episode, in the order in which they take it; the last four are scratch.
        self._ledger = (
            self.atoms,
            self._room,
            self._full,
            self.units,
            self._consume,
            *(self._masked, self._minima, self._squares, self._heap),
        )
        self.elapsed = 0
        self._last: Floats | None = None

    @property
    def remaining(self) -> NDArray[np.int64]:
        """Units of mass that each atom can still take, of `weights * horizon`."""
        return self._room.copy()

    def step(self, point: ArrayLike) -> float:
        """Cost c_i of the next step (eq. 6)."""
        if self.elapsed >= self.horizon:
            raise self._too_long(self.elapsed + 1)
        point = np.ascontiguousarray(point, dtype=np.float64)
        if point.shape != self._centre.shape:
            raise self._wrong_dimension(point.shape)
        cost = kernels.couple_step(
            point,
            self._centre,
            self._row,
            self._columns,
            self._bounds[0],
            self._atom_norm,
            self._slack,
            *self._ledger,
        )
        if cost < 0:
            raise self._not_measurable(self.elapsed)
        self.elapsed += 1
        self._last = point
        return cost / (self.units * self.horizon)

    def absorb(self, point: ArrayLike | None = None) -> Floats:
        """Costs of all the steps that remain after early termination, spent at `point`, or else at the last one."""
        if self._last is None:
            raise InputError("No step was taken: there is no last point at which the remaining steps could be spent.")
        where = self._last if point is None else np.asarray(point, dtype=np.float64)
        if where.shape != self._centre.shape:
            raise self._wrong_dimension(where.shape)
        if not _measurable(where):
            raise InputError("The point of the absorbing steps is not finite or too large: check the demonstrations.")
        return self._block(where[None], self.horizon - self.elapsed)

    def episode(
        self, points: ArrayLike, *, absorbing: bool = False, absorbing_point: ArrayLike | None = None
    ) -> Floats:
        """Costs of a whole episode from its beginning: of each point, and to the horizon if its end is `absorbing`.

        The absorbing steps are spent at `absorbing_point`, or else at the last point.
        """
        points = np.ascontiguousarray(points, dtype=np.float64)
        if points.ndim != 2 or points.shape[1:] != self._centre.shape:
            raise self._wrong_dimension(points.shape[1:] if points.ndim == 2 else points.shape)
        if len(points) == 0:
            raise InputError("The episode has no step: give at least one point.")
        if len(points) > self.horizon:
            raise self._too_long(len(points))
        if not (fine := _measurable(points)).all():
            raise self._not_measurable(int(np.argmin(fine)))
        self.reset()
        costs = [self._block(points[i : i + _STEPS]) for i in range(0, len(points), _STEPS)]
        if absorbing:
            costs.append(self.absorb(absorbing_point))
        return np.concatenate(costs)

    def _block(self, points: Floats, steps: int | None = None) -> Floats:
        rows, point_bounds = np.empty((len(points), len(self._row)), dtype=np.float32), np.empty(len(points))
        kernels.bound_points(points, self._centre, rows, self._atom_norm, self._slack, point_bounds)
        with _BLAS.limit(limits=1):  # a second thread gains little here, and stalls when its core is busy
            bounds = np.matmul(rows, self._columns.T, out=self._bounds[: len(rows)])
        costs = np.empty(len(points) if steps is None else steps)
        kernels.couple_steps(
            points,
            bounds,
            point_bounds,
            *self._ledger,
            costs,
        )
        self.elapsed += len(costs)
        self._last = points[-1]
        return costs / (self.units * self.horizon)

    def _too_long(self, steps: int) -> InputError:
        return InputError(
            f"The episode has {steps} steps but the coupling was built for a horizon of {self.horizon}: "
            "raise the horizon or reset at the end of each episode."
        )

    def _not_measurable(self, step: int) -> InputError:
        return InputError(
            f"The agent's point at step {step} is not finite or too large: check the environment and policy."
        )

    def _wrong_dimension(self, shape: tuple[int, ...]) -> InputError:
        return InputError(
            f"A point has shape {shape} but the demonstrations' atoms have {len(self._centre)} dimensions."
        )


def _measurable(points: Floats) -> NDArray[np.bool_]:
    """Whether distances to each point can be computed: its numbers are finite, and their squares do not overflow."""
    return np.asarray((np.abs(points) <= kernels.WIDEST).all(axis=-1))


def _whole_weights(weights: ArrayLike | None, count: int) -> NDArray[np.int64]:
    if weights is None:
        return np.ones(count, dtype=np.int64)
    given = np.asarray(weights)
    # Compared before they are converted: a number that int64 does not hold would become another one.
    whole = given.dtype.kind in "iuf" and given.shape == (count,) and bool(((given >= 1) & (given < 2**62)).all())
    if not whole or (given != np.floor(given)).any():
        raise InputError(f"Atom weights must be {count} positive whole numbers below 2**62, one per atom.")
    return given.astype(np.int64)
