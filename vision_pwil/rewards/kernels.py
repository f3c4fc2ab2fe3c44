"""Compiled kernels of the greedy coupling; `coupling.py` says what they compute and why it is exact.

Common arguments: `bounds[j]` is atom j's part of the lower bound of its squared distance; `room` the units each atom
can still take, with `full` infinite where none is left; `units` the mass to move; `masked`, `minima`, `squares` and
`heap` are scratch.
"""

import numpy as np
from numba import njit

BLOCK = 32  # atoms rejected together
WIDEST = 1e150  # no coordinate is larger: squared distances could overflow
LARGEST = 1e15  # beyond this norm float32 bounds could overflow, and every atom is measured instead


@njit(cache=True, nogil=True)
def _squared_distance(x, y):
    """Four running sums, so that additions need not wait for one another; their order is fixed."""
    a = b = c = d = 0.0
    whole = x.shape[0] - x.shape[0] % 4
    for k in range(0, whole, 4):
        a += (x[k] - y[k]) ** 2
        b += (x[k + 1] - y[k + 1]) ** 2
        c += (x[k + 2] - y[k + 2]) ** 2
        d += (x[k + 3] - y[k + 3]) ** 2
    for k in range(whole, x.shape[0]):
        a += (x[k] - y[k]) ** 2
    return (a + b) + (c + d)


@njit(cache=True, nogil=True)
def _farther(squares, atoms, i, j):
    """Order of the heap: by distance, ties by index, so that the outcome does not depend on the order of pushes."""
    return squares[i] > squares[j] or (squares[i] == squares[j] and atoms[i] > atoms[j])


@njit(cache=True, nogil=True)
def _swap(squares, atoms, i, j):
    squares[i], squares[j] = squares[j], squares[i]
    atoms[i], atoms[j] = atoms[j], atoms[i]


@njit(cache=True, nogil=True)
def _sift_up(squares, atoms, i):
    while i > 0:
        parent = (i - 1) // 2
        if not _farther(squares, atoms, i, parent):
            break
        _swap(squares, atoms, i, parent)
        i = parent


@njit(cache=True, nogil=True)
def _sift_down(squares, atoms, size):
    i = 0
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and _farther(squares, atoms, child + 1, child):
            child += 1
        if not _farther(squares, atoms, child, i):
            break
        _swap(squares, atoms, i, child)
        i = child


@njit(cache=True, nogil=True)
def _limit(worst, point_bound):
    """Largest atom's part of a bound that can still beat the worst distance chosen, rounded up to float32."""
    limit = worst - point_bound
    return np.float32(limit + abs(limit) * 2.0**-23)


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})  # no NaN comes here: the minimum becomes vector instructions
def _least(values):
    least = np.float32(np.inf)
    for value in values:
        least = value if value < least else least
    return least


@njit(cache=True, nogil=True)
def _couple(point, bounds, point_bound, atoms, room, full, units, consume, masked, minima, squares, heap):
    """Move `units` of mass at `point` to the nearest atoms that have room (eq. 4); return the sum of units x distance.

    `point_bound + bounds[j]` is a lower bound of the squared distance to atom j. Atoms are visited by their bounds, the
    smallest first, until no bound is below the farthest atom chosen. The heap has that one on top and always holds the
    least mass that suffices.
    """
    for j in range(room.shape[0]):
        masked[j] = bounds[j] + full[j]
    for block in range(minima.shape[0]):
        minima[block] = _least(masked[block * BLOCK : (block + 1) * BLOCK])
    size, mass, limit = 0, 0, np.float32(np.inf)
    while True:
        least = _least(minima)
        if least > limit or least == np.inf:
            break
        block = 0
        while minima[block] != least:
            block += 1
        j = block * BLOCK
        while masked[j] != least:
            j += 1
        masked[j] = np.inf
        minima[block] = _least(masked[block * BLOCK : (block + 1) * BLOCK])
        squares[size], heap[size] = _squared_distance(point, atoms[j]), j
        if mass >= units and _farther(squares, heap, size, 0):
            continue
        mass += room[j]
        _sift_up(squares, heap, size)
        size += 1
        while mass - room[heap[0]] >= units:
            mass -= room[heap[0]]
            size -= 1
            _swap(squares, heap, 0, size)
            _sift_down(squares, heap, size)
        if mass >= units:
            limit = _limit(squares[0], point_bound)
    for last in range(size - 1, 0, -1):  # what is left of a heap sort: nearest first
        _swap(squares, heap, 0, last)
        _sift_down(squares, heap, last)
    cost = 0.0
    for i in range(size):
        moved = min(room[heap[i]], units)
        cost += moved * np.sqrt(squares[i])
        units -= moved
        if consume:
            room[heap[i]] -= moved
            if room[heap[i]] == 0:
                full[heap[i]] = np.inf
    return cost


@njit(cache=True, nogil=True)
def _bound_point(point, centre, row, atom_norm, slack):
    """Write (-2 (x - centre), 1), the row to multiply `_bound_columns` with; return |x - centre|^2 less all slack.

    The sum of the two parts bounds |x - y|^2 from below. Where float32 could overflow the point's part is -inf.
    """
    square, raw = 0.0, 0.0
    for k in range(point.shape[0]):
        value = point[k] - centre[k]
        row[k] = -2 * value
        square += value * value
        raw += abs(point[k]) + abs(centre[k])
    row[point.shape[0]] = 1
    if not square < LARGEST**2 or not atom_norm < LARGEST:
        row[:] = 0
        return -np.inf
    # float64 rounding of the shift itself: matters only when the data lie far from the origin compared to their spread
    shift_error = 2.0**-50 * raw
    return (1 - slack) * square - shift_error * (np.sqrt(square) + atom_norm + shift_error) - 1e-36


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})  # the slack covers any order of summation
def _bound_atoms(columns, row, bounds):
    for j in range(columns.shape[0]):
        total = np.float32(0)
        for k in range(row.shape[0]):
            total += columns[j, k] * row[k]
        bounds[j] = total


@njit(cache=True, nogil=True)
def couple_step(
    point,
    centre,
    row,
    columns,
    bounds,
    atom_norm,
    slack,
    atoms,
    room,
    full,
    units,
    consume,
    masked,
    minima,
    squares,
    heap,
):
    """Couple one step; return its cost in units, or -1 where the point is not finite or too large."""
    for k in range(point.shape[0]):
        if not abs(point[k]) <= WIDEST:  # also true of NaN
            return -1.0
    point_bound = _bound_point(point, centre, row, atom_norm, slack)
    _bound_atoms(columns, row, bounds)
    return _couple(point, bounds, point_bound, atoms, room, full, units, consume, masked, minima, squares, heap)


@njit(cache=True, nogil=True)
def bound_points(points, centre, rows, atom_norm, slack, point_bounds):
    """Write each point's row and its part of the bounds, for a matrix product over all of them."""
    for i in range(points.shape[0]):
        point_bounds[i] = _bound_point(points[i], centre, rows[i], atom_norm, slack)


@njit(cache=True, nogil=True)
def couple_steps(points, bounds, point_bounds, atoms, room, full, units, consume, masked, minima, squares, heap, costs):
    """Couple consecutive steps whose bounds are known; steps past the last point are spent at the last point."""
    for i in range(costs.shape[0]):
        p = min(i, points.shape[0] - 1)
        costs[i] = _couple(
            points[p], bounds[p], point_bounds[p], atoms, room, full, units, consume, masked, minima, squares, heap
        )
