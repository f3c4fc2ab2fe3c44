"""Behavioural cloning against torch.nn and a policy that it can learn exactly."""

import numpy as np
import torch

from tests.batches import ACTION, OBSERVATION, make_batch, perceptron
from vision_pwil.agents.bc import BC, BCConfig, act


def test_the_network_is_the_papers():
    agent = BC(np.random.default_rng(0).normal(size=(9, OBSERVATION)), ACTION, BCConfig(), seed=0)
    assert [agent.actor[f"weight{i}"].shape[1] for i in range(3)] == [128, 64, ACTION]


def test_an_update_descends_the_squared_error_of_normalised_observations():
    rng = np.random.default_rng(0)
    states = rng.normal(3.0, 2.0, size=(9, OBSERVATION))
    states[:, 1] = 7.0  # never changes: left in its own unit
    agent, batch = BC(states, ACTION, BCConfig(), seed=0), make_batch()
    network = perceptron(BC(states, ACTION, BCConfig(), seed=0).actor.tensors)
    deviation = states.std(0)
    deviation[1] = 1.0
    inputs = ((batch.observation.double() - torch.tensor(states.mean(0))) / torch.tensor(deviation)).float()
    loss = torch.nn.functional.mse_loss(network(inputs).tanh(), batch.action)
    optimizer = torch.optim.Adam(network.parameters(), 1e-4)
    loss.backward()
    optimizer.step()
    torch.testing.assert_close(agent.update(batch)["loss"], loss.detach())
    expected = network(inputs).tanh().detach()
    found = np.array([act(agent.policy(), observation) for observation in batch.observation.numpy()])
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_it_learns_a_policy():
    rng = np.random.default_rng(0)
    states = rng.normal(5.0, 3.0, size=(256, OBSERVATION)).astype(np.float32)
    actions = np.tanh((states - 5.0) @ rng.normal(0, 0.2, size=(OBSERVATION, ACTION))).astype(np.float32)
    agent = BC(states, ACTION, BCConfig(learning_rate=1e-3), seed=0)
    batch = make_batch()._replace(observation=torch.from_numpy(states), action=torch.from_numpy(actions))
    first = agent.update(batch)["loss"]
    for _ in range(300):
        last = agent.update(batch)["loss"]
    assert last < 0.05 * first
