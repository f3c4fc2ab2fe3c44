"""Actions that move targets: where these begin, what they do, that zero holds still, and the units at the border."""

import subprocess
import sys

import gymnasium as gym
import mujoco
import numpy as np
import pytest

from vision_pwil.envs.control import environment_seed
from vision_pwil.envs.flat import FlatEnv
from vision_pwil.envs.holding import holding
from vision_pwil.envs.targets import Targets
from vision_pwil.system.errors import InputError
from vision_pwil.tasks.config import TaskConfig
from vision_pwil.tasks.playback import evaluate
from vision_pwil.tasks.policy import load_environment, load_policy
from vision_pwil.tasks.task import Task
from vision_pwil.training.evaluations import EVALUATION

DOOR, RATE = "vision_pwil/AdroitDoor-v0", 0.04


def test_targets_move_by_the_rate_and_stay_in_range():
    now, action = np.array([0.0, 0.99, -0.5]), np.array([0.5, 1.0, -7.0])
    np.testing.assert_allclose(Targets(action_rate=0.1).moved(now, action), [0.05, 1.0, -0.6])
    np.testing.assert_allclose(Targets(action_smoothing=0.1).moved(now, action), [0.05, 0.991, -0.55])
    some = Targets(action_smoothing=0.1, action_targets=(2,))
    np.testing.assert_allclose(some.moved(now, action), [0.5, 1.0, -0.55])
    assert action.tolist() == [0.5, 1.0, -7.0]


@pytest.mark.parametrize("env_id", [DOOR, "AdroitHandHammer-v1", "AdroitHandRelocate-v1"])
def test_the_action_that_holds_is_one_at_which_no_actuator_pushes(env_id):
    """MuJoCo's own forces, at the controls that such an action sets, in a pose in the middle of every joint's range."""
    env = FlatEnv(env_id)
    hold, plain = holding(env.env), env.env.unwrapped
    env.reset(3)
    model, data = plain.model, plain.data
    joints = model.actuator_trnid[:, 0]
    data.qpos[model.jnt_qposadr[joints]] = model.jnt_range[joints].mean(axis=1)
    mujoco.mj_forward(model, data)
    action = hold()
    low, high = model.actuator_ctrlrange.T  # Adroit's actions are linear in the range of the controls
    data.ctrl[:] = (low + high) / 2 + action * (high - low) / 2
    mujoco.mj_forward(model, data)
    assert np.abs(data.qfrc_actuator[model.jnt_dofadr[joints]]).max() < 1e-9
    assert (np.abs(action) <= 1.0 + 1e-9).all()


def test_zero_holds_the_hand_still_where_absolute_actions_of_zero_do_not():
    def travel(rate: float) -> float:
        env = FlatEnv(DOOR, targets=Targets(action_rate=rate))
        first = env.reset(0)
        for _ in range(50):
            state, *_ = env.step(np.zeros(env.action_size))
        return float(np.abs(state - first)[:27].max())

    assert travel(RATE) < 0.1 < 0.7 < travel(0.0)


def test_the_environment_is_given_the_targets_and_the_policy_sees_them():
    env, bare = FlatEnv(DOOR, targets=Targets(action_rate=RATE)), gym.make(DOOR)
    assert env.observation_size == 39 + 28 and env.parts["targets"] == slice(39, 67)
    state = env.reset(5)
    bare.reset(seed=5)
    targets = state[39:]
    rng = np.random.default_rng(0)
    for _ in range(20):
        action = rng.uniform(-1, 1, 28)
        state, *_ = env.step(action)
        targets = np.clip(targets + RATE * action, -1, 1)
        observation, *_ = bare.step(targets)
        np.testing.assert_array_equal(state, np.concatenate([observation, targets]))


@pytest.mark.parametrize("env_id", ["Hopper-v5", "Pendulum-v1"])
def test_actions_that_are_no_targets_are_refused(env_id):
    with pytest.raises(InputError, match=f"actions of {env_id} are not the targets .* --action-rate"):
        FlatEnv(env_id, targets=Targets(action_rate=RATE))


def test_the_reward_compares_what_the_environment_was_given():
    """Pairs of its own state and of the action that reached it, whatever the policy's actions mean."""
    env, bare = FlatEnv(DOOR, targets=Targets(action_smoothing=0.5, action_targets=(3,))), FlatEnv(DOOR)
    states, before, actions = [env.reset(4)], [bare.reset(4)], np.random.default_rng(1).uniform(-1, 1, (5, 28))
    for action in actions:
        states.append(env.step(action)[0])
        given = np.where(np.arange(28) == 3, (states[-2][39 + 3] + action[3]) / 2, action)
        before.append(bare.step(given)[0])
        np.testing.assert_allclose(states[-1][39:], given)
    pairs = env.pairs(np.array(states), actions)
    np.testing.assert_allclose(pairs, bare.pairs(np.array(before), np.array(states)[1:, 39:]))
    np.testing.assert_array_equal(bare.pairs(np.array(before), actions)[:, :39], np.array(before)[:-1])


def test_settings_that_mean_nothing_are_refused():
    with pytest.raises(InputError, match="give one of them"):
        Targets(action_rate=0.1, action_smoothing=0.1)
    with pytest.raises(InputError, match="--action-targets says for which"):
        Targets(action_targets=(0,))
    with pytest.raises(InputError, match="from 0 to 27, not 28"):
        FlatEnv(DOOR, targets=Targets(action_smoothing=0.1, action_targets=(0, 28)))


def test_a_run_of_the_command_plays_in_the_environments_own_units(tmp_path):
    """Trained by the real command; played by hand in the bare door, it earns what `evaluate` says."""
    command = [sys.executable, "-m", "vision_pwil.train_door", "--run", str(tmp_path), "--action-rate", str(RATE)]
    small = ["--steps", "900", "--random-steps", "300", "--evaluation-episodes", "1", "--hidden", "16", "16"]
    subprocess.run([*command, *small, "--no-audit", "--no-video"], check=True, capture_output=True)
    played = evaluate(tmp_path, 1)
    bare = gym.make(DOOR, reward="dense")
    policy = load_policy(tmp_path, hold=holding(bare))
    observation, _ = bare.reset(seed=environment_seed((0, EVALUATION, 0)))
    total = 0.0
    for step in range(300):
        observation, reward, terminated, *_ = bare.step(policy(observation, step))
        total += float(reward)
        if terminated:
            break
    assert total == pytest.approx(played.mean["task_return"], rel=1e-4)
    assert load_environment(tmp_path).meaning == Targets(action_rate=RATE)


def test_a_policy_that_sees_pictures_knows_its_targets_too():
    own = (0, 5)
    config = TaskConfig(
        compare="frames", observe="embedding", proprioception=own, targets=Targets(action_smoothing=0.3)
    )
    observation = Task(DOOR, "pwil", config).observation(FlatEnv(DOOR, targets=config.targets))
    assert observation.proprioception == (*own, *range(39, 67))
