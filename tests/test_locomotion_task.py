"""Gymnasium environments as tasks: spaces, points and rewards of Algorithm 1, ends of episodes, prefill."""

import gymnasium as gym
import numpy as np
import pytest

from benchmarks.rewarder import transcription
from vision_pwil.demonstrations import Demonstrations, Episode
from vision_pwil.envs.flat import Bounds, FlatEnv
from vision_pwil.system.errors import InputError
from vision_pwil.tasks.locomotion_task import Expert, LocomotionTaskFactory
from vision_pwil.training.prefill import prefill


class Grid(gym.Env):
    """Observations and actions that are tables; the reward is the action's sum; ends when told to."""

    observation_space = gym.spaces.Box(-1.0, 1.0, (2, 2))
    action_space = gym.spaces.Box(np.array([[0.0], [-4.0]]), np.array([[1.0], [4.0]]), (2, 1), dtype=np.float64)
    stop = 5

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return np.full((2, 2), 0.1), {}

    def step(self, action):
        assert action.shape == (2, 1)
        self.steps += 1
        ended = self.steps == self.stop
        return np.full((2, 2), 0.1 * self.steps + 0.1), float(action.sum()), ended, False, {}


class Discrete(Grid):
    action_space = gym.spaces.Discrete(2)


class Unbounded(Grid):
    action_space = gym.spaces.Box(-np.inf, np.inf, (2, 1))


for name, kind in {"Grid": Grid, "Discrete": Discrete, "Unbounded": Unbounded}.items():
    gym.register(f"test/{name}-v0", entry_point=kind, max_episode_steps=8)
gym.register("test/Endless-v0", entry_point=Grid)


def constant(value: float):
    return lambda observation, step: np.full(2, value, np.float32)


def demonstrations(env_id: str | None = "test/Grid-v0", states: int = 4, actions: int | None = 2) -> Demonstrations:
    rng = np.random.default_rng(0)
    part = None if actions is None else rng.normal(size=(6, actions))
    return Demonstrations((Episode(rng.normal(size=(6, states)), part),), env_id)


def make_expert(**settings) -> Expert:
    episode = demonstrations().episodes[0]
    return Expert(episode.states, episode.actions, **settings)


def test_bounds_are_those_of_the_environment_and_back():
    bounds = FlatEnv("test/Grid-v0").bounds
    actions = np.array([[-1.0, -1.0], [1.0, 0.5], [0.0, 0.0]])
    expected = np.array([[0.0, -4.0], [1.0, 2.0], [0.5, 0.0]])
    np.testing.assert_allclose(bounds.to_env(actions), expected)
    np.testing.assert_allclose(bounds.to_policy(expected), actions)
    assert bounds.to_policy(np.array([9.0, -9.0])).tolist() == [1.0, -1.0]


def test_spaces_are_flattened_and_scaled():
    trajectory = LocomotionTaskFactory("test/Grid-v0").build().rollout(constant(1.0), seed=0)
    assert trajectory.observations.shape == (6, 4)
    np.testing.assert_allclose(trajectory.rewards, 5.0)  # the task's own: 1 + 4 a step
    assert trajectory.terminal and trajectory.statistics == {"return": 25.0, "steps": 5}


@pytest.mark.parametrize(
    ("env_id", "sentence"),
    [
        ("Hoppper-v5", 'no Gymnasium environment "Hoppper-v5"'),
        ("nowhere_to_be_found:Env-v0", "no Gymnasium environment"),
        ("not an id", "no Gymnasium environment"),
        ("test/Discrete-v0", "the action space Discrete.*Wrap it"),
        ("test/Unbounded-v0", "without bounds"),
        ("test/Endless-v0", "--horizon"),
    ],
)
def test_unusable_environments_get_a_sentence(env_id, sentence):
    with pytest.raises(InputError, match=sentence):
        FlatEnv(env_id)


def test_a_horizon_can_be_given():
    assert FlatEnv("test/Endless-v0", horizon=3).horizon == 3
    trajectory = LocomotionTaskFactory("test/Endless-v0", horizon=3).build().rollout(constant(0.0), seed=0)
    assert len(trajectory.actions) == 3 and not trajectory.terminal  # cut, not ended: the value is bootstrapped


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (demonstrations("test/Other-v0"), "of test/Other-v0, not of test/Grid-v0"),
        (demonstrations(states=5), "states have 5 dimensions, those of test/Grid-v0 have 4"),
        (demonstrations(None, actions=3), "actions have 3 dimensions"),
        (demonstrations(actions=None), "has no actions"),
    ],
)
def test_demonstrations_of_something_else_get_a_sentence(given, sentence):
    with pytest.raises(InputError, match=sentence):
        FlatEnv("test/Grid-v0").require(given, actions=True)


def test_demonstrations_without_actions_do_for_states():
    FlatEnv("test/Grid-v0").require(demonstrations(actions=None), actions=False)


@pytest.mark.parametrize("ablation", ["none", "state", "l2", "support"])
def test_rewards_are_those_of_algorithm_1(ablation):
    """Points are (s_t, a_t) with the state before the action; T is the limit, although the episode ends at 5 of 8."""
    expert = make_expert(ablation=ablation)
    trajectory = LocomotionTaskFactory("test/Grid-v0", expert=expert).build().rollout(constant(0.5), seed=0)
    states = np.repeat(0.1 * np.arange(1, 6)[:, None], 4, axis=1)
    points = np.concatenate([states, np.tile([0.75, 2.0], (5, 1))], axis=1)
    atoms = np.concatenate([expert.states, expert.actions], axis=1)
    if ablation == "state":
        points, atoms = states, expert.states
    if ablation != "l2":
        points, atoms = points / atoms.std(0), atoms / atoms.std(0)
    if ablation == "support":
        costs = np.linalg.norm(points[:, None] - atoms, axis=2).min(1) / 8
    else:
        costs = transcription(points, atoms, 8)
    expected = 5 * np.exp(-5 * 8 / np.sqrt(points.shape[1]) * costs)
    np.testing.assert_allclose(trajectory.rewards, expected, rtol=1e-6)
    assert trajectory.terminal  # an early end is not absorbing: no reward and no value follow
    assert trajectory.statistics["return"] == pytest.approx(expected.sum())
    assert trajectory.statistics["task_return"] == pytest.approx(5 * 2.75)


def test_the_least_deviation_bounds_that_of_the_reward():
    expert = make_expert(min_deviation=0.7)
    trajectory = LocomotionTaskFactory("test/Grid-v0", expert=expert).build().rollout(constant(0.5), seed=0)
    atoms = np.concatenate([expert.states, expert.actions], axis=1)
    deviation = np.maximum(atoms.std(0), 0.7)
    assert (atoms.std(0) < 0.7).any() and (atoms.std(0) > 0.7).any()
    states = np.repeat(0.1 * np.arange(1, 6)[:, None], 4, axis=1)
    points = np.concatenate([states, np.tile([0.75, 2.0], (5, 1))], axis=1)
    costs = transcription(points / deviation, atoms / deviation, 8)
    np.testing.assert_allclose(trajectory.rewards, 5 * np.exp(-5 * 8 / np.sqrt(6) * costs), rtol=1e-6)


@pytest.mark.parametrize("ablation", ["none", "state"])
def test_the_reward_compares_the_dimensions_named_and_the_action(ablation):
    expert = make_expert(ablation=ablation, dimensions=(2, 0))
    trajectory = LocomotionTaskFactory("test/Grid-v0", expert=expert).build().rollout(constant(0.5), seed=0)
    points = np.column_stack([0.1 * np.arange(1, 6)] * 2 + [np.full(5, 0.75), np.full(5, 2.0)])
    atoms = np.column_stack([expert.states[:, 2], expert.states[:, 0], expert.actions])
    if ablation == "state":
        points, atoms = points[:, :2], atoms[:, :2]
    costs = transcription(points / atoms.std(0), atoms / atoms.std(0), 8)
    expected = 5 * np.exp(-5 * 8 / np.sqrt(points.shape[1]) * costs)
    np.testing.assert_allclose(trajectory.rewards, expected, rtol=1e-6)


@pytest.mark.parametrize(
    "different",
    [
        *({"ablation": name} for name in ("none", "state", "l2", "nofill", "support")),
        {"min_deviation": 0.7},
        {"dimensions": (1,)},
    ],
)
def test_evaluation_compares_pairs_whatever_the_reward(different):
    task = LocomotionTaskFactory("test/Grid-v0", expert=make_expert(**different)).build()
    reference = LocomotionTaskFactory("test/Grid-v0", expert=make_expert()).build()
    found, expected = (t.measure(t.rollout(constant(0.5), 0, evaluating=True)) for t in (task, reference))
    assert found["w1"] == expected["w1"]
    assert found["greedy_w1"] == expected["greedy_w1"]
    assert found["w1"] <= found["greedy_w1"] <= 3 * found["w1"]  # also for an episode that ended early


def test_an_expert_without_actions_is_compared_by_states():
    expert = Expert(make_expert().states, None, "state")
    task = LocomotionTaskFactory("test/Grid-v0", expert=expert).build()
    measured = task.measure(task.rollout(constant(0.5), 0, evaluating=True))
    assert 0 < measured["w1"] <= measured["greedy_w1"]


def test_the_absorbing_bit_is_shown_to_the_policy_and_left_out_of_the_points():
    seen = []

    def choose(observation, step):
        seen.append(observation)
        return np.zeros(2, np.float32)

    plain = LocomotionTaskFactory("test/Grid-v0", expert=make_expert()).build().rollout(constant(0.0), 0)
    task = LocomotionTaskFactory("test/Grid-v0", expert=make_expert(), absorbing_bit=True).build()
    trajectory = task.rollout(choose, 0)
    assert np.array(seen).shape == (5, 5) and not np.array(seen)[:, -1].any()
    assert trajectory.steps == 5 and not trajectory.terminal
    assert trajectory.observations[-1].tolist() == [0, 0, 0, 0, 1]
    np.testing.assert_array_equal(trajectory.rewards, [*plain.rewards, 0.0])
    cut = LocomotionTaskFactory("test/Endless-v0", 3, make_expert(), absorbing_bit=True).build().rollout(choose, 0)
    assert cut.steps == len(cut.actions) == 3 and not cut.observations[:, -1].any()


def test_prefill_by_hand():
    states = np.arange(8.0).reshape(4, 2)
    actions = np.array([[0.0], [2.0], [1.0], [5.0]])
    given = Demonstrations((Episode(states, actions), Episode(states[:2] + 10, actions[:2])))
    bounds = Bounds(np.array([0.0]), np.array([2.0]))
    rows = prefill(given, bounds, 10, n=2, alpha=5.0, gamma=0.9)
    # The first demonstration has three transitions, the second one; the last action of each is not used.
    first = np.array([states[0], states[1], states[2], states[0] + 10])
    np.testing.assert_allclose(rows.observation, np.concatenate([first, first, first[:2]]))
    np.testing.assert_allclose(rows.action[:5, 0], [-1.0, 1.0, 0.0, -1.0, -1.0])
    np.testing.assert_allclose(rows.reward[:4], [5 + 0.9 * 5, 5 + 0.9 * 5, 5, 5])
    np.testing.assert_allclose(rows.discount[:4], [0.81, 0.81, 0.9, 0.9])
    np.testing.assert_allclose(rows.next_observation[:4], [states[2], states[3], states[3], states[1] + 10])


def test_prefill_needs_two_steps():
    single = Demonstrations((Episode(np.zeros((1, 2)), np.zeros((1, 1))),))
    with pytest.raises(InputError, match="--subsample"):
        prefill(single, Bounds(np.zeros(1), np.ones(1)), 10, n=1, alpha=5.0, gamma=0.9)


@pytest.mark.parametrize(
    "expert",
    [
        make_expert(ablation="l2", beta=2.0),
        make_expert(ablation="state"),
        make_expert(min_deviation=0.7),
        make_expert(dimensions=(1, 3)),
        None,
    ],
)
def test_a_task_can_be_kept_in_a_file(expert, tmp_path):
    factory = LocomotionTaskFactory("test/Grid-v0", 7, expert, absorbing_bit=True)
    factory.save(tmp_path / "task.safetensors")
    again = LocomotionTaskFactory.load(tmp_path / "task.safetensors")
    assert (again.env_id, again.horizon, again.absorbing_bit) == ("test/Grid-v0", 7, True)
    one, two = (each.build() for each in (factory, again))
    played, same = (task.rollout(constant(0.3), seed=0) for task in (one, two))
    np.testing.assert_array_equal(played.rewards, same.rewards)
    assert one.measure(played) == two.measure(same)
