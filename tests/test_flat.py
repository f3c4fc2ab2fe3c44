"""Any environment as vectors: observations of several parts, and spaces that cannot be."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import benchmarks.rendering  # noqa: F401  (registers gymnasium-robotics)
from vision_pwil.envs.flat import Bounds, FlatEnv
from vision_pwil.system.errors import InputError


class Fixed(gym.Env):
    """Always observes the same."""

    def __init__(self, space, observation=None, actions=None) -> None:
        self.observation_space, self.observation = space, observation
        self.action_space = actions or spaces.Box(-1.0, 1.0, (1,))

    def reset(self, *, seed=None, options=None):
        return self.observation, {}

    def step(self, action):
        return self.observation, 1.0, False, False, {"seen": action}


NESTED = spaces.Dict(
    robot=spaces.Dict(joints=spaces.Box(-1, 1, (2, 2)), speed=spaces.Box(-1, 1, ())),
    goals=spaces.Tuple([spaces.Box(-1, 1, (1,)), spaces.Box(-1, 1, (2,))]),
)
OBSERVATION = {
    "robot": {"joints": np.array([[1, 2], [3, 4.0]]), "speed": np.array(5.0)},
    "goals": (np.array([6.0]), np.array([7.0, 8.0])),
}
BOX = spaces.Box(-1, 1, (1,))
PICTURE = spaces.Box(0, 255, (64, 64, 3), np.uint8)
for name, arguments in {
    "Nested": (NESTED, OBSERVATION),
    "Discrete": (BOX, None, spaces.Discrete(3)),
    "Picture": (PICTURE,),
    "Camera": (spaces.Dict(joints=BOX, camera=PICTURE),),
    "Text": (spaces.Dict(joints=BOX, word=spaces.Text(4)),),
}.items():
    gym.register(f"test/{name}-v1", lambda arguments=arguments: Fixed(*arguments), max_episode_steps=5)


def test_nested_parts_are_laid_end_to_end_and_named() -> None:
    env = FlatEnv("test/Nested-v1")
    observation = env.reset(0)
    named = {name: observation[part].tolist() for name, part in env.parts.items()}
    assert named == {
        "goals/0": [6.0],
        "goals/1": [7.0, 8.0],
        "robot/joints": [1.0, 2.0, 3.0, 4.0],
        "robot/speed": [5.0],
    }
    assert env.observation_size == 8 and observation.shape == (8,)
    stepped, reward, _, _, info = env.step(np.array([0.3]))
    assert stepped.tolist() == observation.tolist() and reward == 1.0 and info["seen"] == pytest.approx([0.3])


@pytest.mark.parametrize("env_id", ["FetchReach-v4", "PointMaze_UMaze-v3"])
def test_goal_environments_are_flattened(env_id: str) -> None:
    env, theirs = FlatEnv(env_id), gym.make(env_id)
    observation, (expected, _) = env.reset(3), theirs.reset(seed=3)
    assert set(env.parts) == {"achieved_goal", "desired_goal", "observation"}
    for name, part in env.parts.items():
        np.testing.assert_array_equal(observation[part], expected[name])
    assert env.observation_size == sum(map(np.size, expected.values()))


def test_one_box_is_one_part() -> None:
    assert FlatEnv("Pendulum-v1").parts == {"": slice(0, 3)}


@pytest.mark.parametrize(
    ("env_id", "sentence"),
    [
        ("test/Discrete-v1", r"the action space Discrete\(3\).*Wrap it"),
        ("test/Picture-v1", r"pictures of shape \(64, 64, 3\) as the observation.*observes its state"),
        ("test/Camera-v1", "as camera of the observation"),
        ("test/Text-v1", "word of the observation in the space Text.*Wrap it"),
    ],
)
def test_other_spaces_get_a_sentence_that_says_what_to_do(env_id: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        FlatEnv(env_id)


def test_actions_of_the_whole_range_pass_through_exactly() -> None:
    actions = np.random.default_rng(0).uniform(-1, 1, (1000, 3)).astype(np.float32)
    bounds = Bounds(-np.ones(3, np.float32), np.ones(3, np.float32))
    np.testing.assert_array_equal(bounds.to_env(actions), actions)
