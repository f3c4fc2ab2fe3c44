import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from tests.shared import LOCOMOTION, needs_shared
from vision_pwil.rewards.pwil import Rewarder
from vision_pwil.rewards.wrapper import PixelReward, PWILReward
from vision_pwil.system.errors import InputError


def hopper_atoms(with_actions=True):
    """One demonstration of Hopper, one transition in 20."""
    with np.load(LOCOMOTION / "Hopper-v5.npz", allow_pickle=False) as data:
        length = data["episode_lengths"][0]
        parts = [data["observations"][:length:20], data["actions"][:length:20]]
    return np.concatenate(parts[: 1 + with_actions], axis=1)


@needs_shared
@pytest.mark.parametrize("with_actions", [True, False])
def test_passes_gymnasiums_check(with_actions):
    rewarder = Rewarder.for_states(hopper_atoms(with_actions), 1000)
    check_env(PWILReward(gym.make("Hopper-v5"), rewarder), skip_render_check=True)


@needs_shared
def test_rewards_the_pair_of_state_and_action():
    rewarder, reference = (Rewarder.for_states(hopper_atoms(), 1000) for _ in range(2))
    env, twin = PWILReward(gym.make("Hopper-v5"), rewarder), gym.make("Hopper-v5")
    observation, _ = env.reset(seed=3)
    twin.reset(seed=3)
    rng = np.random.default_rng(0)
    for _ in range(5):
        action = rng.uniform(-1, 1, 3)
        expected = reference.step(np.concatenate([observation, action]))
        observation, reward, *_, info = env.step(action)
        assert reward == expected
        assert info["task_reward"] == twin.step(action)[1]


class Chain(gym.Env):
    """States 0, 1, 2, ...; the episode terminates in state 2."""

    observation_space = gym.spaces.Box(-10, 10, (1,))
    action_space = gym.spaces.Box(-1, 1, (1,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.state += 1
        return np.full(1, self.state, np.float32), 0.0, self.state == 2, False, {}


def test_absorbing_termination_earns_the_rest_of_the_episode():
    """Atoms 0, 1, 1, 1 with T=4: stopping after 0 and 1 leaves two steps at 1, each worth alpha."""
    rewarder = Rewarder.for_states([[0.0], [1.0], [1.0], [1.0]], 4)
    env = PWILReward(Chain(), rewarder, absorbing_discount=0.5)
    env.reset()
    assert env.step(np.zeros(1))[1] == 5.0
    _, reward, terminated, _, _ = env.step(np.zeros(1))
    assert terminated
    assert reward == pytest.approx(5 + 0.5 * 5 + 0.25 * 5)
    env = PWILReward(Chain(), rewarder)
    env.reset()
    assert [env.step(np.zeros(1))[1] for _ in range(2)] == [5.0, 5.0]


class Bright(Chain):
    """Draws a picture whose brightness is its state."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def render(self):
        return np.full((4, 4, 3), 50 * self.state, np.uint8)


def brightness(frames):
    return frames.reshape(len(frames), -1).mean(axis=1, keepdims=True) / 50


def test_pixels_are_rewarded_by_the_picture_after_each_step():
    """Atoms 1, 2, 2, 2: the pictures after both steps are those of a demonstration, and so is what remains."""
    rewarder = Rewarder.for_embeddings([[1.0], [2.0], [2.0], [2.0]], 4)
    env = PixelReward(Bright("rgb_array"), rewarder, brightness, absorbing_discount=0.5)
    env.reset()
    assert env.step(np.zeros(1))[1] == 5.0
    _, reward, terminated, _, info = env.step(np.zeros(1))
    assert terminated and reward == pytest.approx(5 + 0.5 * 5 + 0.25 * 5) and info["task_reward"] == 0.0
    dark = PixelReward(Bright(), rewarder, brightness, draw=lambda: np.zeros((4, 4, 3), np.uint8))
    dark.reset()
    assert dark.step(np.zeros(1))[1] == pytest.approx(5 * np.exp(-1.0))
    with pytest.raises(InputError, match="render_mode"):
        PixelReward(Bright(), rewarder, brightness)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: PWILReward(gym.make("CartPole-v1"), Rewarder.for_states(np.eye(4), 500)), "Box action space"),
        (lambda: PWILReward(gym.make("Hopper-v5"), Rewarder.for_states(np.eye(14), 500)), "horizon of 1000"),
        (lambda: PWILReward(gym.make("Hopper-v5"), Rewarder.for_states(np.eye(9), 1000)), "another environment"),
        (lambda: PWILReward(Chain(), Rewarder.for_states(np.eye(2), 4)).step(np.zeros(1)), "reset"),
    ],
)
def test_bad_input_gets_one_sentence(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()


@needs_shared
def test_stable_baselines3_trains_on_it_unchanged():
    sb3 = pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed (extra `peers`)")
    env = PWILReward(gym.make("Hopper-v5"), Rewarder.for_states(hopper_atoms(), 1000))
    agent = sb3.SAC("MlpPolicy", env, learning_starts=100, batch_size=64, seed=0, device="cpu")
    before = [p.detach().clone() for p in agent.actor.parameters()]
    agent.learn(400)
    assert any((a != b).any() for a, b in zip(before, agent.actor.parameters(), strict=True))
    stored = agent.replay_buffer.rewards[:400]
    assert ((stored > 0) & (stored <= 5)).all()  # the imitation reward of eq. 7, never Hopper's own
