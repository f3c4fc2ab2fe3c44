"""Transitions by hand, the absorbing chain, and the replay's ring and segments against a plain list."""

import time

import numpy as np
import pytest

from vision_pwil.system.errors import InputError
from vision_pwil.training.replay import Replay, Transitions, n_step_transitions


def episode(length: int, rewards, **options) -> Transitions:
    observations = np.arange(length + 1, dtype=np.float64)[:, None]
    actions = np.arange(length, dtype=np.float64)[:, None]
    return n_step_transitions(observations, actions, np.asarray(rewards), **options)


def test_one_step_transitions():
    rows = episode(3, [1.0, 2.0, 3.0], terminal=False, gamma=0.5)
    assert rows.reward.tolist() == [1, 2, 3]
    assert rows.discount.tolist() == [0.5, 0.5, 0.5]
    assert rows.next_observation[:, 0].tolist() == [1, 2, 3]
    assert episode(3, [1.0, 2.0, 3.0], terminal=True, gamma=0.5).discount.tolist() == [0.5, 0.5, 0]


def test_n_step_transitions_by_hand():
    rows = episode(4, [1.0, 2.0, 4.0, 8.0], terminal=True, gamma=0.5, n=3)
    assert rows.reward.tolist() == [1 + 1 + 1, 2 + 2 + 2, 4 + 4, 8]
    assert rows.discount.tolist() == [0.125, 0, 0, 0]
    assert rows.next_observation[:, 0].tolist() == [3, 4, 4, 4]
    cut = episode(4, [1.0, 2.0, 4.0, 8.0], terminal=False, gamma=0.5, n=3)
    assert cut.discount.tolist() == [0.125, 0.125, 0.25, 0.5]


@pytest.mark.parametrize("n", [1, 2, 7, 50])
def test_every_return_is_that_of_the_whole_episode(n):
    """Rewards and discounts, followed from transition to transition, give the discounted sum, absorbing steps too."""
    rng, gamma, length, horizon = np.random.default_rng(n), 0.9, 11, 20
    rewards = rng.uniform(0, 5, horizon)
    rows = episode(length, rewards, terminal=True, gamma=gamma, n=n)
    for start in range(length):
        value, weight, at = 0.0, 1.0, start
        while weight:
            value += weight * rows.reward[at]
            weight, at = weight * rows.discount[at], int(rows.next_observation[at, 0])
        expected = sum(gamma**k * reward for k, reward in enumerate(rewards[start:]))
        assert value == pytest.approx(expected, rel=1e-5)


def chain_values(gamma: float, horizon: int = 6) -> np.ndarray:
    """A corridor with a door: state 0, hover or walk to 1, hover or open. Values by tabular learning from transitions.

    Hovering pays 1 a step, walking 0.5, and an open door 2 a step for as long as the episode would have lasted, paid
    as absorbing rewards. States are (place, time); action 0 hovers, 1 moves on.
    """
    values = np.zeros((2, horizon + 1, 2))
    paths = [[int(bit) for bit in f"{code:0{horizon}b}"] for code in range(2**horizon)]
    for _ in range(2 * horizon):  # enough sweeps to carry the last reward to the first step
        for path in paths:
            place, states, actions, rewards, opened = 0, [(0, 0)], [], [], False
            for step, action in enumerate(path):
                opened = place == 1 and action == 1
                rewards.append(2.0 if opened else 0.5 if action else 1.0)
                actions.append(action)
                place = min(1, place + action)
                states.append((place, step + 1))
                if opened:
                    break
            rewards += [2.0] * (horizon - len(actions)) if opened else []
            rows = n_step_transitions(
                np.array(states), np.array(actions)[:, None], np.array(rewards), terminal=True, gamma=gamma
            )
            for state, action, reward, discount, after in zip(*rows[:5], strict=True):
                future = values[int(after[0]), int(after[1])].max()
                values[int(state[0]), int(state[1]), int(action[0])] = reward + discount * future
    return values


@pytest.mark.parametrize("gamma", [0.9, 0.99])
def test_opening_sooner_is_worth_more_than_hovering(gamma):
    horizon = 6
    values = chain_values(gamma, horizon)
    discounts = gamma ** np.arange(horizon)
    best = np.array([0.5, *[2.0] * (horizon - 1)])
    assert values[0, 0, 1] == pytest.approx(best @ discounts, rel=1e-5)  # walk, then open at once
    assert (values[1, 1:horizon, 1] > values[1, 1:horizon, 0]).all()  # at the door, at any time: open now
    assert (values[0, : horizon - 2, 1] > values[0, : horizon - 2, 0]).all()  # on the way: go, unless it is too late
    opened = [2.0 * (gamma ** np.arange(horizon - step)).sum() for step in range(1, horizon)]
    np.testing.assert_allclose(values[1, 1:horizon, 1], opened, rtol=1e-5)


def numbered(start: int, end: int) -> Transitions:
    number = np.arange(start, end, dtype=np.float32)
    return Transitions(
        np.stack([number, -number], 1), number[:, None], number, number, np.stack([number, number], 1), number
    )


def test_the_ring_keeps_the_newest_and_samples_only_them():
    replay = Replay(10, 2, 1, seed=0)
    kept: list[int] = []
    start = 0
    for length in (3, 4, 10, 1, 25, 6):
        replay.add(numbered(start, start + length))
        kept = (kept + list(range(start, start + length)))[-10:]
        start += length
        batch = replay.sample(500)
        assert set(batch.reward.int().tolist()) == set(kept)
        assert (batch.observation[:, 0] == batch.reward).all()
        assert (batch.observation[:, 1] == -batch.next_observation[:, 1]).all()
    assert len(replay) == 10
    assert replay.count == 49


def test_segments_restore_the_ring_exactly(tmp_path):
    rng = np.random.default_rng(1)
    replay, start = Replay(50, 2, 1, seed=5), 0
    for _ in range(40):
        length = int(rng.integers(1, 23))
        replay.add(numbered(start, start + length))
        start += length
        if rng.random() < 0.6:
            replay.save(tmp_path)
            copy = Replay(50, 2, 1, seed=5)
            copy.load(tmp_path, replay.count)
            copy.rng.bit_generator.state = replay.rng.bit_generator.state
            for one, two in zip(replay._rows, copy._rows, strict=True):
                np.testing.assert_array_equal(one[: len(replay)], two[: len(replay)])
            assert all((a == b).all() for a, b in zip(copy.sample(9), replay.sample(9), strict=True))
    assert len(list(tmp_path.iterdir())) < 20  # old segments are removed


def test_a_segment_without_its_checkpoint_is_forgotten(tmp_path):
    replay = Replay(12, 2, 1, seed=0)
    replay.add(numbered(0, 10))
    replay.save(tmp_path)
    replay.add(numbered(10, 30))
    replay.save(tmp_path)  # killed before the checkpoint that would have counted 30
    again = Replay(12, 2, 1, seed=0)
    again.load(tmp_path, 10)
    assert sorted(again._rows.reward[:10].tolist()) == list(range(10))
    again.add(numbered(10, 15))
    again.save(tmp_path)
    once_more = Replay(12, 2, 1, seed=0)
    once_more.load(tmp_path, 15)
    assert sorted(once_more._rows.reward.tolist()) == list(range(3, 15))


def test_a_missing_segment_is_told(tmp_path):
    replay = Replay(100, 2, 1, seed=0)
    for start in (0, 10, 20):
        replay.add(numbered(start, start + 10))
        replay.save(tmp_path)
    sorted(tmp_path.iterdir())[1].unlink()
    with pytest.raises(InputError, match="ends at transition 10, its checkpoint says 30"):
        Replay(100, 2, 1, seed=0).load(tmp_path, 30)


def test_a_damaged_segment_is_told(tmp_path):
    """Each flipped bit of the first float of each field, in the file as it lies on disk."""
    replay = Replay(100, 2, 1, seed=0)
    replay.add(numbered(5, 15))
    replay.save(tmp_path)
    (path,) = tmp_path.iterdir()
    content, (header,) = path.read_bytes(), np.frombuffer(path.read_bytes()[:8], np.uint64)
    for byte in range(8 + int(header), len(content), 7):
        path.write_bytes(content[:byte] + bytes([content[byte] ^ 1]) + content[byte + 1 :])
        with pytest.raises(InputError, match=r"000000000000-000000000010\.safetensors: it is damaged"):
            Replay(100, 2, 1, seed=0).load(tmp_path, 10)
    path.write_bytes(content)
    Replay(100, 2, 1, seed=0).load(tmp_path, 10)


def test_a_segment_of_another_replay_is_refused(tmp_path):
    replay = Replay(100, 3, 1, seed=0)
    replay.add(Transitions(*(np.zeros((10, *rows.shape[1:]), np.float32) for rows in replay._rows)))
    replay.save(tmp_path)
    with pytest.raises(InputError, match="not a segment of this replay"):
        Replay(100, 2, 1, seed=0).load(tmp_path, 10)
    (path,) = tmp_path.iterdir()
    path.rename(tmp_path / "000000000000-000000000011.safetensors")
    with pytest.raises(InputError, match="not a segment of this replay"):
        Replay(100, 3, 1, seed=0).load(tmp_path, 11)


def test_a_replay_that_cannot_fit_is_refused():
    with pytest.raises(InputError, match=r"--replay-capacity 1,000,000,000,000 takes .* GiB .* give at most"):
        Replay(10**12, 300, 17, seed=0)


def test_saving_a_million_transitions_again_takes_under_a_second(tmp_path):
    replay = Replay(1_000_000, 40, 28, seed=0)
    replay.count = replay._saved = 1_000_000  # as after a save of them
    replay.add(Transitions(*(np.zeros((20_000, *rows.shape[1:]), np.float32) for rows in replay._rows)))
    started = time.perf_counter()
    replay.save(tmp_path)
    assert time.perf_counter() - started < 1.0


def test_held_actions_give_the_transitions_of_their_decisions():
    """Action held for 2 steps, 7 steps, returns over 2 decisions: by hand."""
    rows = episode(7, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0], terminal=True, gamma=0.5, n=4, every=2)
    assert rows.observation[:, 0].tolist() == rows.action[:, 0].tolist() == [0, 2, 4, 6]
    assert rows.reward.tolist() == [1 + 1 + 1 + 1, 4 + 4 + 4 + 4, 16 + 16 + 16, 64]
    assert rows.discount.tolist() == [0.0625, 0.0625, 0, 0]
    assert rows.next_observation[:, 0].tolist() == [4, 6, 7, 7]


def test_minibatches_sampled_at_once_are_those_sampled_in_turn():
    one, many = Replay(50, 1, 1, seed=3), Replay(50, 1, 1, seed=3)
    for replay in (one, many):
        replay.add(episode(40, np.arange(40.0), terminal=True, gamma=0.9))
    for batch in many.sample(5 * 8).split(8):
        for found, expected in zip(batch, one.sample(8), strict=True):
            assert found.tolist() == expected.tolist()
    assert one.rng.bit_generator.state == many.rng.bit_generator.state
