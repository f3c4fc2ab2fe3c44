import io
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from vision_pwil.door_env import ENV_ID, DoorEnv
from vision_pwil.system.errors import InputError

# isort: split
from gymnasium_robotics.envs.adroit_hand.adroit_door import AdroitHandDoorEnv

HINGE = 28


def swinging(angle: float, speed: float) -> dict[str, np.ndarray]:
    """A recorded state with the door on its way."""
    qpos, qvel = np.zeros(30), np.zeros(30)
    qpos[HINGE], qvel[HINGE] = angle, speed
    return {"qpos": qpos, "qvel": qvel, "door_body_pos": np.array([-0.25, 0.3, 0.3])}


def actions(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1.2, 1.2, (count, 28))


def play(env: DoorEnv, moves: np.ndarray) -> list[np.ndarray]:
    return [env.step(move)[0] for move in moves]


def test_gymnasium_accepts_the_environment() -> None:
    env = gym.make(ENV_ID, render_mode="rgb_array")
    assert env.observation_space.shape == (39,) and env.action_space.shape == (28,)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Its observations are unbounded and its frames come from a renderer of its own: both are as they should be.
        warnings.filterwarnings("ignore", message=".*(infinity|render_modes|not within the observation space).*")
        check_env(env.unwrapped)
    env.reset(seed=0)
    assert env.render().shape == (84, 84, 3)
    env.close()


def test_dynamics_and_doors_are_those_of_gymnasium_robotics() -> None:
    theirs, ours = AdroitHandDoorEnv(), DoorEnv(reward="dense")
    for seed in (0, 1):
        expected, _ = theirs.reset(seed=seed)
        observation, _ = ours.reset(seed=seed)
        np.testing.assert_array_equal(observation, expected)
        for action in actions(100, seed):
            expected, their_reward, *_ = theirs.step(action)
            observation, reward, _, _, info = ours.step(action)
            np.testing.assert_array_equal(observation, expected)
            # The one term with the wrong sign is 0.1 times the distance from palm to handle, observation[35:38].
            mended = their_reward - 0.2 * np.linalg.norm(observation[35:38])
            assert reward == info["dense_reward"] == pytest.approx(mended, abs=1e-12)


def test_the_imitation_path_sees_no_reward() -> None:
    env = DoorEnv()
    env.reset(seed=0)
    assert [env.step(action)[1] for action in actions(3)] == [0.0, 0.0, 0.0]


def test_a_seed_decides_everything() -> None:
    first, second, other = DoorEnv(), DoorEnv(), DoorEnv()
    first.reset(seed=5)
    second.reset(seed=5)
    other.reset(seed=6)
    one = play(first, actions(40))
    np.testing.assert_array_equal(one, play(second, actions(40)))
    assert not np.array_equal(one, play(other, actions(40)))
    np.testing.assert_array_equal(first.reset()[0], second.reset()[0])


def test_an_episode_resumes_in_another_environment_bit_for_bit() -> None:
    env = DoorEnv(horizon=120, reward="dense")
    env.reset(seed=3)
    play(env, actions(60))
    saved = env.get_state()
    file = io.BytesIO()
    np.savez(file, **saved)  # the state survives a file
    file.seek(0)
    expected = [env.step(action) for action in actions(60, seed=1)]
    expected_next = env.reset()[0]

    other = DoorEnv(horizon=120, reward="dense")
    other.reset(seed=99)
    play(other, actions(7))
    observation = other.set_state(dict(np.load(file)))
    np.testing.assert_array_equal(observation, saved["observation"])
    for action, (observation, *rest) in zip(actions(60, seed=1), expected, strict=True):
        again, *others = other.step(action)
        np.testing.assert_array_equal(again, observation)
        assert others == rest
    assert expected[-1][3], "the elapsed steps are part of the state: both end at the horizon"
    np.testing.assert_array_equal(other.reset()[0], expected_next)  # and so is the random generator


def test_saving_does_not_disturb_and_copies() -> None:
    watched, left_alone = DoorEnv(), DoorEnv()
    watched.reset(seed=0)
    left_alone.reset(seed=0)
    state = watched.get_state()
    before = {name: value.copy() for name, value in state.items()}
    for action in actions(20):
        watched.get_state()
        np.testing.assert_array_equal(watched.step(action)[0], left_alone.step(action)[0])
    for name, value in before.items():
        np.testing.assert_array_equal(state[name], value)


def test_an_episode_starts_from_a_recorded_state_whatever_came_before() -> None:
    env, fresh = DoorEnv(), DoorEnv()
    env.reset(seed=0)
    play(env, actions(30))
    state = swinging(0.3, 0.0)
    observation, info = env.reset(options={"state": state})
    assert info["door_angle"] == 0.3 and not info["opened"] and observation[28] == 0.3
    np.testing.assert_array_equal(observation, fresh.reset(options={"state": state})[0])
    np.testing.assert_array_equal(play(env, actions(30)), play(fresh, actions(30)))


def test_opening_the_door_ends_the_episode_in_an_absorbing_state() -> None:
    env = DoorEnv()
    env.reset(options={"state": swinging(0.9, 4.0)})
    for _ in range(30):
        _, _, terminated, truncated, info = env.step(np.zeros(28))
        assert terminated == info["opened"] == info["absorbing"] == (info["door_angle"] > 1.0)
        if terminated:
            break
    assert terminated and not truncated and not info["success"]


def test_the_angle_of_opening_is_a_setting_and_success_is_at_1_35() -> None:
    env = DoorEnv(open_angle=1.5)
    _, info = env.reset(options={"state": swinging(1.34, 0.0)})
    assert not info["success"]
    _, info = env.reset(options={"state": swinging(1.36, 0.0)})
    assert info["success"] and not info["opened"]
    _, _, terminated, _, info = env.step(np.zeros(28))
    assert not terminated and not info["absorbing"]


def test_the_horizon_truncates_and_is_not_absorbing() -> None:
    env = DoorEnv(horizon=5)
    env.reset(seed=0)
    ends = [env.step(np.zeros(28))[2:] for _ in range(5)]
    assert [(terminated, truncated) for terminated, truncated, _ in ends] == [(False, False)] * 4 + [(False, True)]
    assert not ends[-1][2]["absorbing"]
    env.reset()
    assert not env.step(np.zeros(28))[3], "a reset starts counting anew"


def test_opening_at_the_last_step_is_termination() -> None:
    env = DoorEnv(horizon=1)
    env.reset(options={"state": swinging(0.999, 4.0)})
    _, _, terminated, truncated, info = env.step(np.zeros(28))
    assert terminated and not truncated and info["absorbing"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"qpos": np.zeros(29)}, "'qpos'"),
        ({"qvel": np.full(30, np.nan)}, "'qvel'"),
        ({"door_body_pos": np.zeros((1, 3))}, "'door_body_pos'"),
        ({"qpos": ["a"] * 30}, "'qpos'"),
    ],
)
def test_a_bad_recorded_state_is_refused_in_a_sentence(change: dict[str, np.ndarray], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        DoorEnv().reset(options={"state": swinging(0, 0) | change})


def test_missing_parts_and_bad_settings_are_refused_in_a_sentence() -> None:
    env = DoorEnv()
    with pytest.raises(InputError, match="lacks 'qvel'"):
        env.reset(options={"state": {"qpos": np.zeros(30)}})
    with pytest.raises(InputError, match="lacks physics, observation, elapsed_steps, random"):
        env.set_state(swinging(0, 0))
    with pytest.raises(InputError, match="28 finite numbers"):
        env.step(np.zeros(24))
    with pytest.raises(InputError, match="28 finite numbers"):
        env.step(np.full(28, np.nan))
    with pytest.raises(InputError, match="horizon"):
        DoorEnv(horizon=0)
    with pytest.raises(InputError, match="reward"):
        DoorEnv(reward="sparse")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="rgb_array"):
        DoorEnv(render_mode="human")
