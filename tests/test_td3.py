"""TD3 against independent computations with torch.nn modules."""

import numpy as np
import torch

from tests.batches import ACTION, OBSERVATION, SIZE, assert_resumes, make_batch, perceptron
from vision_pwil.agents.td3 import TD3, TD3Config, act, losses


def make_agent(seed: int = 3, **settings) -> TD3:
    return TD3(OBSERVATION, ACTION, TD3Config(hidden=(32, 16), **settings), seed)


def test_target_actions_are_smoothed():
    action, noise = torch.tensor([[0.0, 0.9, -0.95]]), torch.tensor([[1.0, 10.0, -1.0]])
    torch.testing.assert_close(losses.smooth(action, noise, 0.2, 0.5), torch.tensor([[0.2, 1.0, -1.0]]))


def test_targets_take_the_smaller_value():
    values = torch.tensor([[1.0, 5.0], [2.0, 3.0]])
    target = losses.target(torch.tensor([1.0, 1.0]), torch.tensor([0.5, 0.0]), values)
    assert target.tolist() == [1.5, 1.0]


def test_masked_states_do_not_teach_the_actor():
    values = torch.tensor([1.0, 2.0, 30.0])
    assert losses.actor_gradient(values, torch.tensor([1.0, 1.0, 0.0])).tolist() == [-0.5, -0.5, 0.0]
    assert losses.actor_gradient(values, torch.zeros(3)).tolist() == [0.0, 0.0, 0.0]
    torch.testing.assert_close(losses.actor_gradient(values), torch.full((3,), -1 / 3))


def test_the_update_descends_both_losses():
    agent, twin, batch = make_agent(), make_agent(), make_batch()
    actor = perceptron(twin.actor.tensors)
    first, second = (perceptron(twin.critics.tensors, which=which) for which in (0, 1))
    noise = torch.randn(SIZE, ACTION, generator=twin.noise.generator)
    next_action = (actor(batch.next_observation).tanh() + (0.2 * noise).clamp(-0.5, 0.5)).clamp(-1, 1)
    following = torch.cat([batch.next_observation, next_action], 1)
    target = batch.reward + batch.discount * torch.min(first(following), second(following)).squeeze(1)
    inputs, target = torch.cat([batch.observation, batch.action], 1), target.detach()
    loss = sum(torch.nn.functional.mse_loss(critic(inputs).squeeze(1), target) for critic in (first, second))
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], 3e-4)
    loss.backward()
    optimizer.step()

    actor_optimizer = torch.optim.Adam(actor.parameters(), 3e-4)
    (-first(torch.cat([batch.observation, actor(batch.observation).tanh()], 1)).mean()).backward()
    actor_optimizer.step()

    torch.testing.assert_close(agent.update(batch)["critic_loss"], loss.detach())
    updated = perceptron(agent.critics.tensors, which=1)
    torch.testing.assert_close(updated(inputs), second(inputs), atol=1e-5, rtol=1e-4)
    output, _ = agent.actor_network.forward(batch.observation)
    torch.testing.assert_close(output.tanh(), actor(batch.observation).tanh(), atol=1e-5, rtol=1e-4)
    expected = twin.target_critics.flat.lerp(agent.critics.flat.detach(), 0.005)
    torch.testing.assert_close(agent.target_critics.flat, expected)


def test_there_is_no_delay_unless_asked_for():
    assert TD3Config().actor_interval == 1
    agent = make_agent(actor_interval=2)
    actor, targets = agent.actor.flat.detach().clone(), agent.target_critics.flat.clone()
    agent.update(make_batch(1))
    assert torch.equal(agent.actor.flat, actor) and torch.equal(agent.target_critics.flat, targets)
    agent.update(make_batch(2))
    assert not torch.equal(agent.actor.flat, actor) and not torch.equal(agent.target_critics.flat, targets)


def test_acting_in_numpy_is_the_actor():
    agent, observation = make_agent(), np.random.default_rng(0).normal(size=OBSERVATION)
    output, _ = agent.actor_network.forward(torch.tensor(observation, dtype=torch.float32)[None])
    expected = output[0].tanh().detach()
    np.testing.assert_allclose(act(agent.policy(), observation), expected, atol=1e-6)
    noise = np.array([0.0, 1.0, -100.0])
    expected = np.clip(expected.numpy() + 0.1 * noise, -1, 1)
    np.testing.assert_allclose(act(agent.policy(), observation, noise), expected, atol=1e-6)


def test_it_resumes_bit_for_bit():
    assert_resumes(make_agent(seed=0, actor_interval=2), make_agent(seed=1, actor_interval=2))
