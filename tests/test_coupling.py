"""The coupling against Algorithm 1 in rational arithmetic, exact optimal transport, and examples worked by hand."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vision_pwil.rewards.coupling import GreedyCoupling
from vision_pwil.rewards.wasserstein import exact_w1
from vision_pwil.system.errors import InputError


def algorithm_1(points, atoms, horizon, weights=None):
    """The paper's Algorithm 1, line by line, with masses as fractions and squared distances as whole numbers."""
    weights = weights if weights is not None else [1] * len(atoms)
    demonstrations = {j: Fraction(int(w), int(sum(weights))) for j, w in enumerate(weights)}
    costs, plan = [], np.zeros((len(points), len(atoms)), dtype=object)
    for i, point in enumerate(points):
        mass, cost = Fraction(1, horizon), 0.0
        while mass > 0:
            square = {
                j: sum((int(a) - int(b)) ** 2 for a, b in zip(point, atoms[j], strict=True)) for j in demonstrations
            }
            j = min(square, key=lambda j: (square[j], j))
            moved = min(mass, demonstrations[j])
            cost += float(moved) * float(square[j]) ** 0.5
            plan[i, j] = moved
            mass -= moved
            demonstrations[j] -= moved
            if demonstrations[j] == 0:
                demonstrations.pop(j)
        costs.append(cost)
    return np.array(costs), plan


def plan_of(coupling, points):
    """Units moved from each step to each atom, read off the room that remains."""
    coupling.reset()
    rows = []
    for point in points:
        before = coupling.remaining
        coupling.step(point)
        rows.append(before - coupling.remaining)
    return np.array(rows)


@st.composite
def whole_problems(draw, most=12):
    """Small problems on a grid of whole numbers, where ties abound."""
    d, horizon, count = draw(st.integers(1, 3)), draw(st.integers(1, most)), draw(st.integers(1, most))
    grid = st.integers(-4, 4)
    points = draw(arrays(np.int64, (draw(st.integers(1, horizon)), d), elements=grid))
    atoms = draw(arrays(np.int64, (count, d), elements=grid))
    weights = draw(st.none() | arrays(np.int64, count, elements=st.integers(1, 5)))
    return points, atoms, horizon, weights


@st.composite
def problems(draw):
    """Problems in floating point, of all scales and offsets, with episodes of full length."""
    d, horizon, count = draw(st.integers(1, 9)), draw(st.integers(1, 90)), draw(st.integers(1, 90))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scale, offset = 10.0 ** draw(st.integers(-12, 12)), draw(st.sampled_from([0.0, 1.0, 1e6, -1e9]))
    weights = draw(st.none() | st.just(rng.integers(1, 6, count)))
    points, atoms = rng.normal(size=(horizon, d)), rng.normal(size=(count, d)) * rng.integers(1, 4)
    return (points + offset) * scale, (atoms + offset) * scale, horizon, weights


@given(whole_problems())
def test_equals_algorithm_1_in_rational_arithmetic(problem):
    points, atoms, horizon, weights = problem
    coupling = GreedyCoupling(atoms, horizon, weights)
    costs, plan = algorithm_1(points, atoms, horizon, weights)
    units = coupling.units * horizon
    assert (plan_of(coupling, points) == np.vectorize(lambda m: int(m * units))(plan)).all()
    np.testing.assert_allclose(coupling.episode(points), costs, rtol=1e-12, atol=1e-14)


@given(problems())
def test_marginals_hold_exactly(problem):
    points, atoms, horizon, weights = problem
    coupling = GreedyCoupling(atoms, horizon, weights)
    plan = plan_of(coupling, points)
    assert (plan.sum(axis=1) == coupling.units).all()
    assert (plan.sum(axis=0) == coupling.weights * horizon).all()
    assert (plan >= 0).all()
    assert (coupling.remaining == 0).all()


@given(problems(), st.integers(1, 90))
def test_online_and_whole_episode_agree_to_the_last_bit(problem, steps):
    points, atoms, horizon, weights = problem
    points = points[:steps]
    coupling = GreedyCoupling(atoms, horizon, weights)
    online = np.array([coupling.step(point) for point in points])
    absorbed = coupling.absorb()
    assert len(online) + len(absorbed) == horizon
    assert (coupling.episode(points) == online).all()
    assert (coupling.episode(points, absorbing=True) == np.concatenate([online, absorbed])).all()


@given(problems(), st.integers(1, 90))
def test_absorbing_is_stepping_on_at_the_last_point(problem, steps):
    points, atoms, horizon, weights = problem
    points = points[:steps]
    repeated = np.concatenate([points, np.repeat(points[-1:], horizon - len(points), axis=0)])
    coupling = GreedyCoupling(atoms, horizon, weights)
    assert (coupling.episode(points, absorbing=True) == coupling.episode(repeated)).all()
    elsewhere = points[0] + 1
    moved = np.concatenate([points, np.repeat(elsewhere[None], horizon - len(points), axis=0)])
    assert (coupling.episode(points, absorbing=True, absorbing_point=elsewhere) == coupling.episode(moved)).all()


@given(problems())
def test_chooses_the_nearest_atoms_with_room(problem):
    """Eq. 4 directly: every step's cost is the least that a sort of the true distances can give."""
    points, atoms, horizon, weights = problem
    coupling = GreedyCoupling(atoms, horizon, weights)
    for point in points:
        room, need, least = coupling.remaining, coupling.units, 0.0
        distances = np.sqrt(((atoms - point) ** 2).sum(axis=1))
        for j in np.argsort(distances, kind="stable"):
            moved = min(room[j], need)
            least += moved * distances[j]
            need -= moved
        assert coupling.step(point) == pytest.approx(least / (coupling.units * horizon), rel=1e-9, abs=1e-300)


@given(problems())
def test_greedy_cost_bounds_the_optimal_cost_from_above(problem):
    points, atoms, horizon, weights = problem
    greedy = GreedyCoupling(atoms, horizon, weights).episode(points).sum()
    size = np.abs(points - atoms.mean(axis=0)).max() + np.abs(atoms - atoms.mean(axis=0)).max()
    assert greedy >= exact_w1(points, atoms, None, weights) - 1e-9 * size


@given(problems())
def test_greedy_is_optimal_with_one_step_or_one_atom(problem):
    """With a single pile of dirt or a single hole there is only one coupling."""
    points, atoms, _, weights = problem
    one_step = GreedyCoupling(atoms, 1, weights).episode(points[:1]).sum()
    assert one_step == pytest.approx(exact_w1(points[:1], atoms, None, weights), rel=1e-9)
    one_atom = GreedyCoupling(atoms[:1], len(points)).episode(points).sum()
    assert one_atom == pytest.approx(exact_w1(points, atoms[:1]), rel=1e-9)


@given(problems())
def test_replaying_the_demonstration_costs_nothing(problem):
    _, atoms, _, _ = problem
    assert (GreedyCoupling(atoms, len(atoms)).episode(atoms) == 0).all()


@given(st.integers(1, 60), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_as_many_steps_as_atoms_is_look_up_and_pop(count, d, seed):
    rng = np.random.default_rng(seed)
    points, atoms = rng.normal(size=(count, d)), rng.normal(size=(count, d))
    left, expected = list(range(count)), []
    for point in points:
        nearest = min(left, key=lambda j: float(((point - atoms[j]) ** 2).sum()))
        expected.append(np.sqrt(((point - atoms[nearest]) ** 2).sum()) / count)
        left.remove(nearest)
    np.testing.assert_allclose(GreedyCoupling(atoms, count).episode(points), expected, rtol=1e-12)


@given(problems(), st.integers(0, 2**32 - 1))
def test_the_order_of_atoms_does_not_matter(problem, seed):
    """Random floating point has no ties between distinct atoms."""
    points, atoms, horizon, weights = problem
    order = np.random.default_rng(seed).permutation(len(atoms))
    shuffled = GreedyCoupling(atoms[order], horizon, None if weights is None else weights[order])
    np.testing.assert_allclose(
        shuffled.episode(points), GreedyCoupling(atoms, horizon, weights).episode(points), rtol=1e-12, atol=0
    )


@given(whole_problems())
def test_a_weight_is_that_many_copies(problem):
    points, atoms, horizon, weights = problem
    weights = weights if weights is not None else np.ones(len(atoms), dtype=int)
    copies = GreedyCoupling(np.repeat(atoms, weights, axis=0), horizon)
    np.testing.assert_allclose(
        GreedyCoupling(atoms, horizon, weights).episode(points), copies.episode(points), rtol=1e-12, atol=1e-14
    )


@given(problems())
def test_support_takes_the_nearest_atom_for_ever(problem):
    """PWIL-support (ablation study): c = min_j d / T."""
    points, atoms, horizon, weights = problem
    nearest = np.sqrt(((points[:, None] - atoms) ** 2).sum(axis=2)).min(axis=1)
    costs = GreedyCoupling(atoms, horizon, weights, support=True).episode(points)
    np.testing.assert_allclose(costs, nearest / horizon, rtol=1e-9, atol=1e-300)


def test_figure_1_greedy_costs_7_and_optimal_5():
    """An arrangement as in Figure 1: the second step takes the second atom, which the third step needed."""
    expert, agent = np.array([[0.0], [4.0], [7.0]]), np.array([[1.0], [5.0], [2.0]])
    assert GreedyCoupling(expert, 3).episode(agent).sum() * 3 == pytest.approx(7)
    assert exact_w1(agent, expert) * 3 == pytest.approx(5)


def test_rundown_by_hand_with_two_steps_and_four_atoms():
    """T=2, D=4 as in the appendix: each step carries 1/2 and fills two holes of 1/4.

    From 1: atoms 0 and 2 are nearest (distances 1 and 1): c = 1/4 + 1/4. From 2: 3 and 6 are left (1 and 4).
    """
    coupling = GreedyCoupling([[0.0], [2.0], [3.0], [6.0]], 2)
    assert coupling.step([1.0]) == 0.25 * 1 + 0.25 * 1
    assert coupling.remaining.tolist() == [0, 0, 2, 2]
    assert coupling.step([2.0]) == 0.25 * 1 + 0.25 * 4
    assert coupling.remaining.tolist() == [0, 0, 0, 0]


def test_a_step_can_split_an_atom():
    """T=3, D=2: holes of 1/2, steps of 1/3; the second step fills the first hole and begins the second."""
    coupling = GreedyCoupling([[0.0], [10.0]], 3)
    assert coupling.step([1.0]) == pytest.approx(1 / 3)
    assert coupling.step([2.0]) == pytest.approx(2 * (1 / 2 - 1 / 3) + 8 * (1 / 3 - 1 / 6))
    assert coupling.step([10.0]) == 0


@pytest.mark.parametrize("size", [1e149, 1e100, 1e20, 1e-20, 1e-200])
def test_extreme_numbers_do_not_lose_mass(size):
    rng = np.random.default_rng(0)
    points, atoms = rng.normal(size=(20, 3)) * size, rng.normal(size=(70, 3)) * size
    coupling = GreedyCoupling(atoms, 20)
    coupling.episode(points)
    assert (coupling.remaining == 0).all()


def test_reset_gives_the_mass_back():
    rng = np.random.default_rng(0)
    points, coupling = rng.normal(size=(5, 2)), GreedyCoupling(rng.normal(size=(9, 2)), 5)
    first = [coupling.step(p) for p in points]
    coupling.reset()
    assert [coupling.step(p) for p in points] == first


@pytest.mark.parametrize(
    ("attempt", "sentence"),
    [
        (lambda c: c.episode(np.zeros((4, 2))), "has 4 steps .* horizon of 3"),
        (lambda c: [c.step(np.zeros(2)) for _ in range(4)], "has 4 steps .* horizon of 3"),
        (lambda c: c.step([0.0, np.nan]), "step 0 is not finite"),
        (lambda c: c.episode([[0, 0], [0, np.inf]]), "step 1 is not finite"),
        (lambda c: c.step([0.0]), "have 2 dimensions"),
        (lambda c: c.episode(np.zeros((2, 3))), "have 2 dimensions"),
        (lambda c: c.episode(np.zeros((0, 2))), "no step"),
        (lambda c: c.absorb(), "No step was taken"),
        (lambda c: c.episode(np.zeros((2, 2)), absorbing=True, absorbing_point=[0.0]), "have 2 dimensions"),
        (lambda c: c.episode(np.zeros((2, 2)), absorbing=True, absorbing_point=[0.0, np.nan]), "not finite"),
        (lambda c: GreedyCoupling(np.zeros((0, 2)), 3), "empty"),
        (lambda c: GreedyCoupling([[np.nan]], 3), "not finite.*, first in atom 0"),
        (lambda c: GreedyCoupling([[1.0], [1e151]], 3), "beyond 1e150 where distances overflow, first in atom 1"),
        (lambda c: GreedyCoupling([[-1e308]], 3), "beyond 1e150"),
        (lambda c: c.step([0.0, 1e200]), "step 0 is .* too large"),
        (lambda c: c.episode([[0, 0], [-1e308, 0]]), "step 1 is .* too large"),
        (lambda c: c.episode(np.zeros((2, 2)), absorbing=True, absorbing_point=[0.0, 1e200]), "too large"),
        (lambda c: GreedyCoupling([[0.0]], 0), "horizon must be"),
        (lambda c: GreedyCoupling([[0.0]], 2.5), "horizon must be"),
        (lambda c: GreedyCoupling([[0.0]], np.nan), "horizon must be"),
        (lambda c: GreedyCoupling([[0.0]], np.inf), "horizon must be"),
        (lambda c: GreedyCoupling([[0.0]], "3"), "horizon must be"),
        (lambda c: GreedyCoupling([[0.0]], 3, [0]), "positive whole numbers"),
        (lambda c: GreedyCoupling([[0.0]], 3, [1.5]), "positive whole numbers"),
        (lambda c: GreedyCoupling([[0.0]], 3, [2**61]), "too large"),
        (lambda c: GreedyCoupling([[0.0], [1.0]], 1, [2**61, 2**61]), "too large"),
        (lambda c: GreedyCoupling([[0.0], [1.0]], 1, [2**62 - 1, 2**62 - 1]), "too large"),
        (lambda c: GreedyCoupling([[0.0]] * 8, 1, [2**61] * 8), "too large"),  # the sum is 0 in 64 bits
        (lambda c: GreedyCoupling([[0.0], [1.0]], 1, [2**62, 2**62]), "below 2\\*\\*62"),
        (lambda c: GreedyCoupling([[0.0]], 1, np.array([2**63 + 5], np.uint64)), "positive whole numbers"),
        (lambda c: GreedyCoupling([[0.0]], 1, [1e300]), "positive whole numbers"),
        (lambda c: GreedyCoupling([[0.0]], 1, [np.nan]), "positive whole numbers"),
        (lambda c: GreedyCoupling([[0.0]], 1, [2**80]), "positive whole numbers"),
        (lambda c: GreedyCoupling([[0.0]], 1, ["2"]), "positive whole numbers"),
        (lambda c: GreedyCoupling([[0.0]], 1, [-1]), "positive whole numbers"),
        (lambda c: GreedyCoupling([[0.0]], 1, [[1]]), "positive whole numbers"),
    ],
)
def test_bad_input_gets_one_sentence(attempt, sentence):
    with pytest.raises(InputError, match=sentence):
        attempt(GreedyCoupling(np.eye(2), 3))


@pytest.mark.parametrize("weights", [[2**40, 2**41], [2**60 - 1, 1], [3.0, 1.0]])
def test_large_weights_are_counted_exactly(weights):
    coupling = GreedyCoupling([[0.0], [1.0]], 2, weights)
    costs = coupling.episode([[0.0], [0.0]])
    expected, _ = algorithm_1([[0], [0]], [[0], [1]], 2, weights)
    np.testing.assert_allclose(costs, expected, rtol=1e-15)
    assert coupling.remaining.tolist() == [0, 0]


def test_nobody_changes_the_atoms_behind_the_coupling():
    atoms = np.zeros((2, 1))
    coupling = GreedyCoupling(atoms, 2)
    atoms[:] = np.nan
    assert coupling.step([1.0]) == 0.5


def test_a_failed_step_leaves_the_episode_as_it_was():
    coupling = GreedyCoupling(np.eye(2), 3)
    coupling.step([0.0, 0.0])
    before = coupling.remaining
    with pytest.raises(InputError):
        coupling.step([np.nan, 0.0])
    assert (coupling.remaining == before).all()
    assert coupling.elapsed == 1
