"""Normalised observations against numpy's mean and deviation, for each agent that offers them."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from tests.batches import ACTION, OBSERVATION, assert_resumes, make_batch
from vision_pwil import sac
from vision_pwil.agents import d4pg
from vision_pwil.agents.normalizer import Normalizer, normalized


def make_d4pg(normalize: bool) -> d4pg.D4PG:
    config = d4pg.D4PGConfig(actor_hidden=(16, 8), critic_hidden=(16, 8), atoms=21, normalize=normalize)
    return d4pg.D4PG(OBSERVATION, ACTION, config, seed=3)


def make_sac(normalize: bool) -> sac.SAC:
    return sac.SAC(OBSERVATION, ACTION, sac.SACConfig(hidden=(16, 16), normalize=normalize), seed=3)


AGENTS = pytest.mark.parametrize(("make", "act"), [(make_d4pg, d4pg.act), (make_sac, sac.act)], ids=["d4pg", "sac"])


def episodes() -> list[np.ndarray]:
    """Observations of very unequal sizes; the last dimension never moves."""
    rng = np.random.default_rng(0)
    unit = np.array([1e3, 1.0, 1e-2, 5.0, 0.0])
    return [rng.normal(2.0, 1.0, (length, OBSERVATION)) * unit for length in (3, 50, 7)]


def test_statistics_are_those_of_all_episodes():
    normalizer = Normalizer(OBSERVATION, active=True)
    for episode in episodes():
        normalizer.observe(episode)
    mean, inverse = normalizer.scale()
    seen = np.concatenate(episodes())
    np.testing.assert_allclose(mean, seen.mean(0), rtol=1e-6)
    np.testing.assert_allclose(inverse, 1.0 / np.maximum(seen.std(0), 1e-3), rtol=1e-6)
    far = seen.mean(0) + np.array([3.0, 30.0, -30.0, 0.0, 0.0]) * seen.std(0)
    expected = [3.0, 10.0, -10.0, 0.0, 0.0]
    np.testing.assert_allclose(normalized(normalizer.policy(), far), expected, atol=1e-3)
    np.testing.assert_allclose(normalizer(torch.tensor(far, dtype=torch.float32)), expected, atol=1e-3)


@AGENTS
def test_updates_and_actions_are_those_on_observations_normalised_by_hand(make: Callable, act: Callable):
    agent, plain = make(True), make(False)
    for episode in episodes():
        agent.observe(episode)
        plain.observe(episode)
    seen = np.concatenate(episodes())
    mean, deviation = seen.mean(0), np.maximum(seen.std(0), 1e-3)

    def by_hand(observation: torch.Tensor) -> torch.Tensor:
        return torch.tensor(np.clip((observation.numpy() - mean) / deviation, -10.0, 10.0), dtype=torch.float32)

    for seed in range(3):
        batch = make_batch(seed)
        seen_by_hand = {name: by_hand(getattr(batch, name)) for name in ("observation", "next_observation")}
        found, expected = agent.update(batch), plain.update(batch._replace(**seen_by_hand))
        for name, value in expected.items():
            torch.testing.assert_close(found[name], value, rtol=1e-4, atol=1e-5)
    observation = seen[7] + 0.5 * deviation
    expected = act(plain.policy(), np.clip((observation - mean) / deviation, -10.0, 10.0))
    np.testing.assert_allclose(act(agent.policy(), observation), expected, atol=1e-4)


@AGENTS
def test_without_it_observations_stay_as_they_are(make: Callable, act: Callable):
    """Also beyond the range to which normalised ones are clipped."""
    agent = make(False)
    for episode in episodes():
        agent.observe(episode)
    assert not any(name.startswith("normalizer") for name in agent.state_dict())
    far = torch.full((2, OBSERVATION), 30.0)
    assert torch.equal(agent.normalizer(far), far)
    observation = np.array([12.0, -3.0, 0.5, 1.0, 2.0])
    assert not np.array_equal(act(agent.policy(), observation), act(agent.policy(), observation.clip(-10.0, 10.0)))


@AGENTS
def test_it_resumes_with_its_statistics(make: Callable, act: Callable):
    agent = make(True)
    agent.observe(episodes()[1])
    assert_resumes(agent, make(True))
