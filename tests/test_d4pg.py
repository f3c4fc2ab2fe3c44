"""D4PG against independent computations: C51's projection by brute force, torch.nn modules, autograd."""

import numpy as np
import torch
from scipy.stats import kstest, truncnorm
from torch import nn

from tests.batches import ACTION, OBSERVATION, SIZE, assert_resumes, linear, make_batch
from vision_pwil.agents.d4pg import D4PG, D4PGConfig, act, categorical
from vision_pwil.agents.d4pg.networks import HIDDEN
from vision_pwil.agents.perceptron import Perceptron
from vision_pwil.training.replay import n_step_transitions


def make_agent(seed: int = 3, **settings) -> D4PG:
    config = {"actor_hidden": (16, 24, 8), "critic_hidden": (32, 16), "atoms": 21, **settings}
    return D4PG(OBSERVATION, ACTION, D4PGConfig(**config), seed)


def module(tensors) -> nn.Sequential:
    norm = nn.LayerNorm(len(tensors["scale"]))
    norm.weight.data, norm.bias.data = tensors["scale"].detach().clone(), tensors["offset"].detach().clone()
    layers = [linear(tensors["weight0"], tensors["bias0"]), norm, nn.Tanh()]
    for layer in range(1, len(tensors) // 2 - 1):
        layers += [linear(tensors[f"weight{layer}"], tensors[f"bias{layer}"]), nn.ELU()]
    return nn.Sequential(*layers[:-1])


def test_the_default_sizes_are_the_papers():
    agent = D4PG(11, 3, D4PGConfig(), 0)
    assert [agent.actor[f"weight{i}"].shape[1] for i in range(4)] == [256, 256, 256, 3]
    assert [agent.critic[f"weight{i}"].shape[1] for i in range(4)] == [512, 512, 256, 201]
    assert agent.support[[0, 1, -1]].tolist() == [-150.0, -148.5, 150.0]


def test_weights_begin_as_in_the_authors_code():
    """Acme's torso, VarianceScaling(0.333, fan_out, uniform), and Sonnet's linear layer, TruncatedNormal(fan_in)."""
    agent = D4PG(17, 6, D4PGConfig(), 0)
    uniform = [(agent.actor[f"weight{i}"], outputs) for i, outputs in enumerate((256, 256, 256, 6))]
    uniform += [(agent.critic[f"weight{i}"], outputs) for i, outputs in enumerate((512, 512, 256))]
    for weight, outputs in uniform:
        assert 0.99 * outputs**-0.5 < weight.abs().max() <= outputs**-0.5
        torch.testing.assert_close(weight.std(), torch.tensor((3 * outputs) ** -0.5), rtol=0.05, atol=0.0)
    head = agent.critic["weight3"].detach().flatten().numpy()
    assert kstest(head, truncnorm(-2, 2, scale=256**-0.5).cdf).pvalue > 0.01
    for network in (agent.actor, agent.critic):
        assert all(not tensor.any() for name, tensor in network.tensors.items() if name.startswith("bias"))


def test_networks_are_the_papers():
    agent, batch = make_agent(), make_batch()
    with torch.no_grad():
        agent.actor["scale"].normal_()  # as learned, not as begun
        agent.actor["offset"].normal_()
    torch.testing.assert_close(
        Perceptron(agent.actor.tensors, HIDDEN).forward(batch.observation)[0],
        module(agent.actor.tensors)(batch.observation),
    )
    pairs = torch.cat([batch.observation, batch.action], 1)
    torch.testing.assert_close(
        Perceptron(agent.critic.tensors, HIDDEN).forward(pairs)[0], module(agent.critic.tensors)(pairs)
    )


def test_the_backward_pass_is_autograds():
    parameters, pairs = make_agent().critic, torch.randn(SIZE, OBSERVATION + ACTION, generator=torch.Generator())
    with torch.no_grad():
        parameters["scale"].normal_()
        parameters["offset"].normal_()
    twin, inputs = module(parameters.tensors), pairs.clone().requires_grad_()
    outputs = twin(inputs)
    by_outputs = torch.randn_like(outputs)
    outputs.backward(by_outputs)
    network = Perceptron(parameters.tensors, HIDDEN, parameters.gradients)
    _, trace = network.forward(pairs)
    network.backward(trace, by_outputs)
    by_inputs = network.to_inputs(trace, by_outputs)
    torch.testing.assert_close(by_inputs, inputs.grad, atol=1e-5, rtol=1e-4)
    expected = {"scale": twin[1].weight.grad, "offset": twin[1].bias.grad}
    for layer, linear_module in enumerate(part for part in twin if isinstance(part, nn.Linear)):
        expected |= {f"weight{layer}": linear_module.weight.grad.T, f"bias{layer}": linear_module.bias.grad}
    assert set(expected) == set(parameters.gradients)
    for name, gradient in expected.items():
        torch.testing.assert_close(parameters.gradients[name], gradient, atol=1e-5, rtol=1e-4)


def test_the_losses_gradients_are_autograds():
    rng = torch.Generator().manual_seed(0)
    support = torch.linspace(-3.0, 5.0, 21)
    target = torch.rand((SIZE, 21), generator=rng).softmax(-1)
    logits = torch.randn((SIZE, 21), generator=rng, requires_grad=True)
    expected = nn.functional.cross_entropy(logits, target)
    (by_logits,) = torch.autograd.grad(expected, logits)
    loss, gradient, probabilities = categorical.cross_entropy(target, logits.detach())
    torch.testing.assert_close((loss, gradient, probabilities), (expected, by_logits, logits.softmax(-1)))
    expected = logits.softmax(-1) @ support
    (by_logits,) = torch.autograd.grad(expected.sum(), logits)
    torch.testing.assert_close(categorical.mean(support, logits.detach()), (expected, by_logits))


def test_acting_in_numpy_is_the_actor():
    agent = make_agent()
    with torch.no_grad():
        agent.actor["scale"].normal_()
        agent.actor["offset"].normal_()
    observation = np.random.default_rng(0).normal(size=OBSERVATION)
    expected = module(agent.actor.tensors)(torch.tensor(observation, dtype=torch.float32)[None])[0].tanh().detach()
    policy = agent.policy()
    np.testing.assert_allclose(act(policy, observation), expected, atol=1e-6)
    noise = np.array([0.0, 1.0, 100.0])
    expected = np.clip(expected.numpy() + 0.2 * noise, -1, 1)
    np.testing.assert_allclose(act(policy, observation, noise), expected, atol=1e-6)


def brute_force(support, probabilities, reward, discount):
    """Every shifted atom's mass, one at a time, to the two atoms around it."""
    result = np.zeros_like(probabilities)
    for row in range(len(reward)):
        for z, p in zip(support, probabilities[row], strict=True):
            shifted = min(max(reward[row] + discount[row] * z, support[0]), support[-1])
            above = int(np.searchsorted(support, shifted))
            if support[above] == shifted:
                result[row, above] += p
            else:
                share = (shifted - support[above - 1]) / (support[above] - support[above - 1])
                result[row, above - 1] += p * (1 - share)
                result[row, above] += p * share
    return result


def test_projection_equals_brute_force():
    rng = np.random.default_rng(0)
    support = np.linspace(-10.0, 10.0, 21)
    probabilities = rng.dirichlet(np.ones(21), size=8)
    reward = np.array([0.0, 1.0, 0.3, -2.7, 25.0, -25.0, 10.0, 4.5])  # inside, on atoms, and beyond both ends
    discount = np.array([1.0, 1.0, 0.95, 0.5, 0.9, 0.9, 0.0, 0.0])
    projected = categorical.project(*(torch.tensor(x) for x in (support, probabilities, reward, discount))).numpy()
    np.testing.assert_allclose(projected, brute_force(support, probabilities, reward, discount), atol=1e-12)
    np.testing.assert_allclose(projected.sum(1), 1.0)
    # Where nothing was clipped, the projection keeps the mean.
    np.testing.assert_allclose(projected[2] @ support, 0.3 + 0.95 * probabilities[2] @ support, atol=1e-9)
    np.testing.assert_allclose(projected[4] @ support, 10.0)


def test_the_update_descends_both_losses():
    agent, twin, batch = make_agent(), make_agent(), make_batch()
    actor, critic = module(twin.actor.tensors), module(twin.critic.tensors)
    optimizers = [torch.optim.Adam(actor.parameters(), 5e-5), torch.optim.Adam(critic.parameters(), 7e-5)]
    support = np.linspace(-150, 150, 21)

    following = torch.cat([batch.next_observation, actor(batch.next_observation).tanh()], 1)
    probabilities = critic(following).softmax(-1).detach().double().numpy()
    target = torch.tensor(brute_force(support, probabilities, batch.reward.numpy(), batch.discount.numpy())).float()
    loss = nn.functional.cross_entropy(critic(torch.cat([batch.observation, batch.action], 1)), target)
    loss.backward()
    nn.utils.clip_grad_norm_(critic.parameters(), 40.0)
    optimizers[1].step()

    action = actor(batch.observation).tanh()
    values = critic(torch.cat([batch.observation, action], 1)).softmax(-1) @ torch.tensor(support).float()
    gradients = torch.autograd.grad(values.sum(), action, retain_graph=True)[0]
    clipped = torch.stack([g if g.norm() < 1 else g / g.norm() for g in gradients])
    optimizers[0].zero_grad()
    action.backward(-clipped / SIZE)
    nn.utils.clip_grad_norm_(actor.parameters(), 40.0)
    optimizers[0].step()

    metrics = agent.update(batch)
    torch.testing.assert_close(metrics["critic_loss"], loss.detach())
    torch.testing.assert_close(metrics["actor_loss"], -values.mean().detach())
    inputs = torch.cat([batch.observation, batch.action], 1)
    for tensors, network, given in (
        (agent.critic.tensors, critic, inputs),
        (agent.actor.tensors, actor, batch.observation),
    ):
        torch.testing.assert_close(Perceptron(tensors, HIDDEN).forward(given)[0], network(given), atol=1e-5, rtol=1e-4)


def test_action_gradients_and_gradients_are_clipped():
    agent, batch = make_agent(action_max_norm=1e-3, max_norm=1e-9), make_batch()
    before = agent.actor.flat.detach().clone()
    agent.update(batch)
    for parameters in (agent.actor, agent.critic):
        norm = torch.cat([gradient.reshape(-1) for gradient in parameters.gradients.values()]).norm()
        assert 0 < norm <= 1.001e-9
    assert not torch.equal(before, agent.actor.flat)


def test_targets_are_copied_every_period():
    agent = make_agent(target_period=2)
    start = agent.target_critic.flat.clone()
    agent.update(make_batch(1))
    assert torch.equal(agent.target_critic.flat, start)
    agent.update(make_batch(2))
    assert torch.equal(agent.target_critic.flat, agent.critic.flat)
    assert torch.equal(agent.target_actor.flat, agent.actor.flat)


def test_edge_mass_tells_of_a_support_too_narrow():
    agent, batch = make_agent(value_min=-1.0, value_max=1.0, critic_learning_rate=1e-2), make_batch()
    batch = batch._replace(reward=torch.full((SIZE,), 50.0))
    first = agent.update(batch)["edge_mass"]
    for _ in range(100):
        last = agent.update(batch)["edge_mass"]
    assert first < 0.2 and last > 0.9
    assert categorical.edge_mass(torch.tensor([[0.25, 0.5, 0.25], [0.0, 1.0, 0.0]])) == 0.25


def test_values_approach_the_discounted_sum():
    """One state, reward 1 a step for ever: the value is n-step bootstrapped towards 1 / (1 - gamma) = 10."""
    agent = make_agent(value_min=-20.0, value_max=20.0, critic_learning_rate=3e-3, target_period=20)
    steps = 64
    episode = n_step_transitions(
        np.zeros((steps + 1, OBSERVATION)), np.zeros((steps, ACTION)), np.ones(steps), terminal=False, gamma=0.9, n=5
    )
    batch = type(make_batch())(*map(torch.from_numpy, episode[:5]))
    for _ in range(1000):
        value = agent.update(batch)["value"]
    assert abs(value - 10.0) < 0.5


def test_it_resumes_bit_for_bit():
    assert_resumes(make_agent(seed=0, target_period=3), make_agent(seed=1, target_period=3))
