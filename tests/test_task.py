"""Imitation tasks in Gymnasium environments: spaces, points and rewards of Algorithm 1, endings, prefill."""

import re

import gymnasium as gym
import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from benchmarks.transcription import transcription
from vision_pwil.demonstrations import Demonstrations, Episode
from vision_pwil.envs.flat import Bounds, FlatEnv
from vision_pwil.rewards.pwil import Rewarder
from vision_pwil.rewards.wasserstein import exact_w1
from vision_pwil.system.errors import InputError
from vision_pwil.tasks.atoms import Atoms, points_of, weighted
from vision_pwil.tasks.config import OWN_REWARD, TaskConfig
from vision_pwil.tasks.imitation import check_seeding
from vision_pwil.tasks.stage import spread
from vision_pwil.tasks.task import Task
from vision_pwil.training.prefill import prefill
from vision_pwil.training.replay import n_step_transitions


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


class Broken(Grid):
    """A value of no use at a step: in the observation, at 0 the first one, or as the reward."""

    def __init__(self, value, at, reward=False):
        self.value, self.at, self.reward = value, at, reward

    def reset(self, *, seed=None, options=None):
        observation, info = super().reset()
        return self.spoilt(observation), info

    def step(self, action):
        observation, reward, *rest = super().step(action)
        if self.reward:
            return observation, self.value if self.steps == self.at else reward, *rest
        return self.spoilt(observation), reward, *rest

    def spoilt(self, observation):
        if self.steps == self.at and not self.reward:
            observation[1, 0] = self.value
        return observation


class Unseeded(Grid):
    def reset(self, *, seed=None, options=None):
        observation, info = super().reset()
        return observation + np.random.default_rng().uniform(0, 0.1), info


gym.register("test/Broken-v0", entry_point=Broken, max_episode_steps=8)
gym.register("test/Unseeded-v0", entry_point=Unseeded, max_episode_steps=8)


@pytest.mark.parametrize(
    ("value", "at", "reward", "words"),
    [
        (np.nan, 3, False, "nan as number 2 of its observation at step 3, which is not finite"),
        (-np.inf, 0, False, "-inf as number 2 of its observation at step 0, which is not finite"),
        (1e39, 2, False, "1e+39 as number 2 of its observation at step 2, which overflows beyond 1.8e+19"),
        (np.inf, 1, True, "inf as its reward at step 1, which is not finite"),
        (1e300, 4, True, "1e+300 as its reward at step 4, which overflows beyond 1.8e+19"),
    ],
)
def test_numbers_that_would_poison_a_run_are_refused_before_they_are_stored(value, at, reward, words):
    env = FlatEnv("test/Broken-v0", value=value, at=at, reward=reward)
    with pytest.raises(InputError, match=re.escape(f"test/Broken-v0 gave {words}; nothing of that episode is kept.")):
        for _ in [env.reset(0), *range(5)]:
            env.step(np.zeros(2))


def test_an_environment_that_ignores_its_seed_is_noticed(capsys):
    check_seeding("test/Grid-v0", FlatEnv("test/Grid-v0"))
    assert not capsys.readouterr().err
    check_seeding("test/Unseeded-v0", FlatEnv("test/Unseeded-v0"))
    assert "test/Unseeded-v0 starts otherwise from the same seed" in capsys.readouterr().err


def constant(value: float):
    return lambda observation, step: np.full(2, value, np.float32)


def demonstrations(env_id: str | None = "test/Grid-v0", states: int = 4, actions: int | None = 2) -> Demonstrations:
    rng = np.random.default_rng(0)
    part = None if actions is None else rng.normal(size=(6, actions))
    return Demonstrations((Episode(rng.normal(size=(6, states)), part),), env_id)


ABLATIONS = {
    "none": {},
    "state": {"compare": "states"},
    "l2": {"standardized": False},
    "support": {"reward": "support"},
}


def make_task(env: str = "test/Grid-v0", reward: str = "pwil", absorbing_bit: bool = False, **settings) -> Task:
    config = TaskConfig(**settings)
    points = points_of(demonstrations(), "pairs")
    return Task(env, reward, config, weighted(points, [False], 8, "none"), absorbing_bit=absorbing_bit)


def expert() -> tuple[np.ndarray, np.ndarray]:
    episode = demonstrations().episodes[0]
    return episode.states, episode.actions


def test_bounds_are_those_of_the_environment_and_back():
    bounds = FlatEnv("test/Grid-v0").bounds
    actions = np.array([[-1.0, -1.0], [1.0, 0.5], [0.0, 0.0]])
    expected = np.array([[0.0, -4.0], [1.0, 2.0], [0.5, 0.0]])
    np.testing.assert_allclose(bounds.to_env(actions), expected)
    np.testing.assert_allclose(bounds.to_policy(expected), actions)
    assert bounds.to_policy(np.array([9.0, -9.0])).tolist() == [1.0, -1.0]


def test_spaces_are_flattened_and_scaled():
    trajectory = Task("test/Grid-v0", OWN_REWARD, TaskConfig()).stage().rollout(constant(1.0), seed=0)
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
    trajectory = Task("test/Endless-v0", OWN_REWARD, TaskConfig(horizon=3)).stage().rollout(constant(0.0), seed=0)
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


@pytest.mark.parametrize("ablation", ABLATIONS)
def test_rewards_are_those_of_algorithm_1(ablation):
    """Points are (s_t, a_t) with the state before the action; T is the limit, although the episode ends at 5 of 8."""
    trajectory = make_task(**ABLATIONS[ablation]).stage().rollout(constant(0.5), seed=0)
    states = np.repeat(0.1 * np.arange(1, 6)[:, None], 4, axis=1)
    points = np.concatenate([states, np.tile([0.75, 2.0], (5, 1))], axis=1)
    atoms = np.concatenate(expert(), axis=1)
    if ablation == "state":
        points, atoms = states, expert()[0]
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


def test_the_minimum_standard_deviation_bounds_that_of_the_reward():
    trajectory = make_task(min_std=0.7).stage().rollout(constant(0.5), seed=0)
    atoms = np.concatenate(expert(), axis=1)
    deviation = np.maximum(atoms.std(0), 0.7)
    assert (atoms.std(0) < 0.7).any() and (atoms.std(0) > 0.7).any()
    states = np.repeat(0.1 * np.arange(1, 6)[:, None], 4, axis=1)
    points = np.concatenate([states, np.tile([0.75, 2.0], (5, 1))], axis=1)
    costs = transcription(points / deviation, atoms / deviation, 8)
    np.testing.assert_allclose(trajectory.rewards, 5 * np.exp(-5 * 8 / np.sqrt(6) * costs), rtol=1e-6)


@pytest.mark.parametrize("ablation", ["none", "state"])
def test_the_reward_compares_the_dimensions_named_and_the_action(ablation):
    trajectory = make_task(dimensions=(2, 0), **ABLATIONS[ablation]).stage().rollout(constant(0.5), seed=0)
    points = np.column_stack([0.1 * np.arange(1, 6)] * 2 + [np.full(5, 0.75), np.full(5, 2.0)])
    states, actions = expert()
    atoms = np.column_stack([states[:, 2], states[:, 0], actions])
    if ablation == "state":
        points, atoms = points[:, :2], atoms[:, :2]
    costs = transcription(points / atoms.std(0), atoms / atoms.std(0), 8)
    expected = 5 * np.exp(-5 * 8 / np.sqrt(points.shape[1]) * costs)
    np.testing.assert_allclose(trajectory.rewards, expected, rtol=1e-6)


@pytest.mark.parametrize(
    "different", [*ABLATIONS.values(), {"min_std": 0.7}, {"dimensions": (1,)}, {"reward": "transport"}]
)
def test_evaluation_compares_pairs_whatever_the_reward(different):
    found, expected = (
        stage.measure(stage.rollout(constant(0.5), 0, evaluating=True))
        for stage in (make_task(**different).stage(), make_task().stage())
    )
    assert found["w1"] == expected["w1"]
    assert found["greedy_w1"] == expected["greedy_w1"]
    assert found["w1"] <= found["greedy_w1"] <= 3 * found["w1"]  # also for an episode that ended early


def test_an_expert_without_actions_is_compared_by_states():
    atoms = weighted(points_of(demonstrations(actions=None), "states"), [False], 8, "none")
    stage = Task("test/Grid-v0", "pwil", TaskConfig(compare="states"), atoms).stage()
    measured = stage.measure(stage.rollout(constant(0.5), 0, evaluating=True))
    assert 0 < measured["w1"] <= measured["greedy_w1"]
    with pytest.raises(InputError, match="has no actions"):
        points_of(demonstrations(actions=None), "pairs")


def test_the_absorbing_bit_is_shown_to_the_policy_and_left_out_of_the_points():
    """DAC: an early end enters the absorbing state for ever, by one more transition than the environment played."""
    seen = []

    def choose(observation, step):
        seen.append(observation)
        return np.zeros(2, np.float32)

    plain = make_task().stage().rollout(constant(0.0), 0)
    trajectory = make_task(absorbing_bit=True).stage().rollout(choose, 0)
    assert np.array(seen).shape == (5, 5) and not np.array(seen)[:, -1].any()
    assert trajectory.steps == 5 and not trajectory.terminal
    np.testing.assert_array_equal(trajectory.rewards, [*plain.rewards, 0.0])
    rows = n_step_transitions(
        trajectory.observations, trajectory.actions, trajectory.rewards, terminal=trajectory.terminal, gamma=0.9
    )
    absorbing = [0, 0, 0, 0, 1]
    assert rows.observation[-1].tolist() == rows.next_observation[-1].tolist() == absorbing
    assert rows.next_observation[-2].tolist() == absorbing and rows.observation[-2, -1] == 0
    assert rows.action[-1].tolist() == [0, 0]
    np.testing.assert_allclose(rows.discount, 0.9)  # bootstrapping never stops
    cut = make_task("test/Endless-v0", horizon=3, absorbing_bit=True).stage().rollout(choose, 0)
    assert cut.steps == len(cut.actions) == 3 and not cut.observations[:, -1].any()


def test_demonstrations_are_padded_to_the_horizon_where_they_finish():
    episodes = [np.array([[1.0], [2.0], [3.0]]), np.array([[11.0], [12.0]]), np.array([[5.0]])]
    points, weights, *_ = weighted(episodes, [True, False, True], 10, "last")
    assert points.ravel().tolist() == [1, 2, 3, 11, 12, 5]
    assert weights.tolist() == [1, 1, 1 + 7, 1, 1, 1 + 9]
    points, weights, _, end = weighted(episodes, [True, False, True], 10, "shared")
    assert end.tolist() == [4]
    assert points.ravel().tolist() == [1, 2, 3, 11, 12, 5, 4]  # half-way between 3 and 5
    assert weights.tolist() == [1, 1, 1, 1, 1, 1, 7 + 9]
    assert weighted(episodes, [True, False, True], 2, "none").weights.tolist() == [1] * 6
    with pytest.raises(InputError, match="more than the horizon of 2"):
        weighted(episodes, [True, False, True], 2, "last")
    with pytest.raises(InputError, match="no absorbing state to share"):
        weighted(episodes, [False] * 3, 10, "shared")


@pytest.mark.parametrize("ending", ["last", "shared"])
def test_where_time_counts_the_absorbing_mass_is_spread_over_the_times_after_each_end(ending):
    episodes = [np.array([[1.0], [2.0]]), np.array([[7.0]]), np.array([[5.0], [6.0], [9.0]])]
    points, weights, times, end = weighted(episodes, [True, False, True], 4, ending, timed=True)
    rows = sorted(zip(points.ravel(), weights, times, strict=True))
    lived = [(1.0, 1, 0.25), (2.0, 1, 0.5), (7.0, 1, 0.25), (5.0, 1, 0.25), (6.0, 1, 0.5), (9.0, 1, 0.75)]
    if ending == "last":
        after = [(2.0, 1, 0.75), (2.0, 1, 1.0), (9.0, 1, 1.0)]
    else:
        after = [(5.5, 1, 0.75), (5.5, 2, 1.0)]
        assert end.tolist() == [5.5]
    assert rows == sorted([*lived, *after])


def test_pace_is_one_more_coordinate():
    """By hand: the points with their times, Algorithm 1 on both; W1 is told without the time and with it."""
    paths = [np.random.default_rng(k).normal(size=(n, 4)) for k, n in enumerate((4, 6))]
    config = TaskConfig(compare="states", ending="last", beta=1.0, pace=3.0, standardized=False)
    atoms = weighted(paths, [True, True], 8, "last", timed=True)
    stage = Task("test/Grid-v0", "pwil", config, atoms).stage()
    played = stage.rollout(constant(0.0), 0)
    states = np.repeat(0.1 * np.arange(1, 6)[:, None], 4, axis=1)
    visited = np.vstack([states, np.tile(states[-1], (3, 1))])
    by_hand = np.column_stack([visited, 3.0 * np.arange(1, 9) / 8])
    shown = [np.vstack([path, np.tile(path[-1], (8 - len(path), 1))]) for path in paths]
    reference = np.vstack([np.column_stack([path, 3.0 * np.arange(1, 9) / 8]) for path in shown])
    costs = transcription(by_hand, reference, 8)
    np.testing.assert_allclose(played.rewards, 5 * np.exp(-8 / 2 * costs), rtol=1e-6)
    measured = stage.measure(stage.rollout(constant(0.0), 0, evaluating=True))
    scale = np.concatenate(shown).std(0)
    assert measured["w1"] == pytest.approx(exact_w1(visited / scale, np.concatenate(shown) / scale), rel=1e-6)
    # With it: an assignment, since each of the 8 steps weighs as much as 2 of the 16 that were shown.
    weights = np.append(scale, 1.0)
    distances = cdist(np.repeat(by_hand, 2, axis=0) / weights, reference / weights)
    assert measured["paced_w1"] == pytest.approx(distances[linear_sum_assignment(distances)].mean(), rel=1e-6)
    assert measured["paced_w1"] > measured["w1"]


def absorbing_task(ending: str, **settings) -> Task:
    """Grid ends at its fifth step of eight, and says so: the task is done."""
    points = np.random.default_rng(0).normal(size=(9, 4))
    atoms = Atoms(points, np.ones(9, np.int64), end=points[-1] if ending == "shared" else None)
    return Task("test/Grid-v0", "pwil", TaskConfig(compare="states", ending=ending, beta=1.0, **settings), atoms)


@pytest.mark.parametrize("ending", ["last", "shared"])
def test_finishing_pays_the_absorbing_steps_where_they_lie(ending):
    task = absorbing_task(ending)
    stage = task.stage()
    played = stage.rollout(constant(0.0), 0)
    assert len(played.actions) == 5 and len(played.rewards) == 8 and played.terminal
    rewarder = Rewarder.for_states(task.atoms.points, 8, beta=1.0)
    states = np.repeat(0.1 * np.arange(1, 6)[:, None], 4, axis=1)
    after = states[-1] if ending == "last" else task.atoms.end
    visited = [*states, after, after, after]
    np.testing.assert_allclose(played.rewards, [rewarder.step(point) for point in visited], rtol=1e-9)
    rows = n_step_transitions(played.observations, played.actions, played.rewards, terminal=True, gamma=0.9)
    assert rows.reward[-1] == pytest.approx(0.9 ** np.arange(4) @ played.rewards[4:], rel=1e-6)
    assert rows.discount[-1] == 0
    measured = stage.measure(stage.rollout(constant(0.0), 0, evaluating=True))
    features = rewarder.metric(np.array(visited))
    assert measured["w1"] == pytest.approx(exact_w1(features, rewarder.metric(task.atoms.points)), rel=1e-9)
    assert measured["greedy_w1"] >= measured["w1"]


def test_a_success_key_that_never_appears_gets_a_sentence():
    with pytest.raises(InputError, match="never says 'solved'"):
        absorbing_task("last", success="solved").stage().rollout(constant(0.0), 0)


def test_the_time_is_shown_where_it_is_asked_for():
    played = absorbing_task("last", time_feature=True).stage().rollout(constant(0.0), 0)
    np.testing.assert_allclose(played.observations[:, -1], np.arange(6) / 8, atol=1e-7)


def test_a_point_a_decision_carries_the_mass_of_its_steps():
    interval = 3  # of the five steps played, the third and the last are seen; of eight, three points
    sparse = absorbing_task("last", point_interval=interval).stage()
    played = sparse.rollout(constant(0.0), 0)
    rewarder = Rewarder.for_states(absorbing_task("last").atoms.points, horizon=3, beta=1.0)
    states = np.repeat(0.1 * np.arange(1, 6)[:, None], 4, axis=1)
    paid = [rewarder.step(states[2]), rewarder.step(states[4]), *rewarder.absorb()]
    assert np.flatnonzero(played.rewards).tolist() == [2, 4, 7]
    np.testing.assert_allclose(played.rewards[[2, 4, 7]], interval * np.array(paid), rtol=1e-6)
    # An evaluation sees every step, whatever the training sees.
    evaluated = (
        task.stage().rollout(constant(0.0), 0, evaluating=True) for task in (sparse.task, absorbing_task("last"))
    )
    np.testing.assert_array_equal(*(each.rewards for each in evaluated))


def test_rewards_of_an_absorbed_episode_keep_their_interval():
    paid = np.array([1.0, 2.0, 3.0, 4.0])  # steps 2 and 4 seen, then two more of the absorbing state
    np.testing.assert_array_equal(spread(paid, np.array([2, 4]), 3), [0, 0, 3, 0, 6, 0, 0, 9, 0, 0, 12])


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
    "task",
    [
        make_task(standardized=False, beta=2.0, horizon=7, absorbing_bit=True),
        make_task(reward="support", compare="states", horizon=7, absorbing_bit=True),
        make_task(min_std=0.7, horizon=7, absorbing_bit=True),
        make_task(dimensions=(1, 3), horizon=7, absorbing_bit=True),
        Task("test/Grid-v0", OWN_REWARD, TaskConfig(horizon=7), absorbing_bit=True),
    ],
)
def test_a_task_can_be_kept_in_a_file(task, tmp_path):
    task.save(tmp_path)
    again = Task.load(tmp_path)
    assert (again.env, again.reward, again.config, again.absorbing_bit) == (task.env, task.reward, task.config, True)
    one, two = (each.stage() for each in (task, again))
    played, same = (stage.rollout(constant(0.3), seed=0) for stage in (one, two))
    np.testing.assert_array_equal(played.rewards, same.rewards)
    assert one.measure(played) == two.measure(same)


def test_a_task_in_a_file_imports_nothing(tmp_path, monkeypatch):
    """A gifted run directory that names a module beside it."""
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Task("evil:Nice-v0", OWN_REWARD, TaskConfig()).save(tmp_path)
    with pytest.raises(InputError, match="--import MODULE"):
        Task.load(tmp_path)
