"""DAC: the gradient penalty by finite differences, the discriminator's loss, absorbing states."""

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from tests.batches import ACTION, OBSERVATION, SIZE, assert_resumes, make_batch, perceptron
from vision_pwil.agents.dac import DAC, DACConfig, ExpertPairs, losses
from vision_pwil.agents.td3 import TD3Config


def make_agent(seed: int = 3, **settings) -> DAC:
    rng = np.random.default_rng(0)
    pairs = rng.normal(size=(10, OBSERVATION - 1)), rng.uniform(-2, 2, (10, ACTION)) / 2
    expert = ExpertPairs.of(*pairs, ends=1, every=20)
    config = DACConfig(discriminator_hidden=(16, 8), td3=TD3Config(hidden=(16, 16)), **settings)
    return DAC(expert, config, seed)


def live_batch(seed: int = 0):
    batch = make_batch(seed)
    batch.observation[:, -1] = batch.next_observation[:, -1] = 0.0
    return batch


def test_the_gradient_penalty_by_finite_differences():
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).double()
    expert, agent = torch.randn(6, 4).double(), torch.randn(6, 4).double()
    mix = torch.rand(6, 1).double()
    penalty = losses.gradient_penalty(lambda points: network(points).squeeze(-1), expert, agent, mix)

    def numerically() -> float:
        total, step = 0.0, 1e-5
        with torch.no_grad():
            for point in mix * agent + (1 - mix) * expert:
                shifts = step * torch.eye(4).double()
                slopes = (network(point + shifts) - network(point - shifts)).squeeze(1) / (2 * step)
                total += (float(slopes.norm()) - 1.0) ** 2
        return total / 6

    assert abs(float(penalty.detach()) - numerically()) < 1e-8
    # The penalty must teach: its own gradient by a weight, too.
    weight = network[0].weight
    (gradient,) = torch.autograd.grad(penalty, weight)
    with torch.no_grad():
        weight[2, 1] += 1e-4
        above = numerically()
        weight[2, 1] -= 2e-4
        below = numerically()
    assert abs(float(gradient[2, 1]) - (above - below) / 2e-4) < 1e-5


def test_the_discriminators_loss_is_cross_entropy():
    expert, agent, weights = torch.randn(7), torch.randn(7), torch.rand(7)
    expected = binary_cross_entropy_with_logits(expert, torch.ones(7), weights)
    expected += binary_cross_entropy_with_logits(agent, torch.zeros(7))
    torch.testing.assert_close(losses.classification(expert, agent, weights), expected)


def test_expert_pairs_carry_the_absorbing_bit():
    pairs = ExpertPairs.of(np.ones((2, 4)), np.array([[1.0, 0, -1], [1, 0.5, 0]]), ends=1, every=20)
    assert pairs.observations.tolist() == [[1, 1, 1, 1, 0], [1, 1, 1, 1, 0], [0, 0, 0, 0, 1]]
    assert pairs.actions.tolist() == [[1, 0, -1], [1, 0.5, 0], [0, 0, 0]]
    assert pairs.weights.tolist() == [1, 1, 0.05]


def test_the_reward_is_the_discriminators_logit():
    """The stored reward must not matter, and TD3 must see the discriminator's after its update."""
    agent, other, batch = make_agent(), make_agent(), live_batch()
    metrics = agent.update(batch)
    torch.testing.assert_close(other.update(batch._replace(reward=batch.reward + 100.0)), metrics)
    twin = make_agent()
    twin._discriminate(torch.cat([batch.observation, batch.action], 1))
    discriminator = perceptron(twin.discriminator.tensors, torch.nn.Tanh)
    reward = discriminator(torch.cat([batch.observation, batch.action], 1)).squeeze(1).detach()
    expected = twin.td3.update(batch._replace(reward=reward))["critic_loss"]
    torch.testing.assert_close(metrics["critic_loss"], expected)


def test_absorbing_states_act_not_and_teach_the_actor_nothing():
    agent, batch = make_agent(), live_batch()
    absorbing = torch.cat([torch.zeros(SIZE, OBSERVATION - 1), torch.ones(SIZE, 1)], 1)
    before = agent.td3.actor.flat.detach().clone()
    agent.update(batch._replace(observation=absorbing, next_observation=absorbing, action=torch.zeros(SIZE, ACTION)))
    assert torch.equal(agent.td3.actor.flat, before)
    agent.update(batch)
    assert not torch.equal(agent.td3.actor.flat, before)
    # The target's action in an absorbing next state is 0, whatever the actor says.
    one, two = make_agent(), make_agent()
    with torch.no_grad():
        two.td3.target_actor.flat.add_(1.0)
    ending = batch._replace(next_observation=absorbing)
    assert one.update(ending)["critic_loss"] == two.update(ending)["critic_loss"]


def test_the_discriminator_learns_to_tell():
    agent, batch = make_agent(), live_batch()
    batch = batch._replace(observation=batch.observation + torch.tensor([3.0, 0, 0, 0, 0]))
    for _ in range(300):
        metrics = agent.update(batch)
    assert metrics["expert_reward"] > metrics["reward"] + 1.0


def test_the_actors_learning_rate_decays():
    agent = make_agent(actor_decay_interval=2)
    rates = []
    for seed in range(5):
        agent.update(live_batch(seed))
        rates.append(agent.td3.actor.learning_rate)
    np.testing.assert_allclose(rates, np.array([1, 1, 0.5, 0.5, 0.25]) * 3e-4)


def test_it_resumes_bit_for_bit():
    assert_resumes(make_agent(seed=0, actor_decay_interval=2), make_agent(seed=1, actor_decay_interval=2))
