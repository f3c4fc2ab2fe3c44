"""SAC against independent computations: torch.nn, torch.distributions, autograd, numerical integration."""

import copy
import math
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from torch import nn

from tests.batches import ACTION, OBSERVATION, SIZE, make_batch
from vision_pwil.agents.protocol import Batch
from vision_pwil.sac import SAC, SACConfig, act, compiled, distribution, losses


def make_agent(**settings) -> SAC:
    return SAC(OBSERVATION, ACTION, SACConfig(hidden=(32, 32), **settings), seed=3)


def module(tensors, copy_index: int | None = None, layer_norm: bool = False) -> nn.Sequential:
    """The same network as torch.nn layers."""
    layers: list[nn.Module] = []
    count = len(tensors) // 2
    for layer in range(count):
        weight, bias = tensors[f"weight{layer}"].detach(), tensors[f"bias{layer}"].detach()
        if copy_index is not None:
            weight, bias = weight[copy_index], bias[copy_index, 0]
        linear = nn.Linear(*weight.shape)
        linear.weight.data, linear.bias.data = weight.T.clone(), bias.clone()
        layers.append(linear)
        if layer < count - 1:
            layers += [nn.LayerNorm(weight.shape[1])] * layer_norm + [nn.ReLU()]
    return nn.Sequential(*layers)


def distribution_of(agent: SAC, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean and deviation of the Gaussian before the tanh."""
    output, _ = agent.actor_network.forward(observation)
    return output.chunk(2, -1)[0], distribution.sample(output, torch.zeros(len(output), ACTION), agent.min_std).std


@pytest.mark.parametrize("layer_norm", [False, True])
def test_networks_are_the_papers(layer_norm):
    agent, batch = make_agent(critic_layer_norm=layer_norm), make_batch()
    output = module(agent.actor.tensors)(batch.observation)
    mean, std = distribution_of(agent, batch.observation)
    torch.testing.assert_close(mean, output[:, :ACTION])
    torch.testing.assert_close(std, nn.functional.softplus(output[:, ACTION:]) + math.sqrt(1e-3))
    pairs = torch.cat([batch.observation, batch.action], 1)
    for index in range(2):
        values, _ = agent.critic_networks[index].forward(pairs)
        torch.testing.assert_close(values, module(agent.critics.tensors, index, layer_norm)(pairs).detach())


def test_default_sizes_are_the_papers_and_variances_are_bounded():
    agent = SAC(39, 28, SACConfig(), seed=0)
    assert {name: tuple(t.shape) for name, t in agent.actor.tensors.items()} == {
        "weight0": (39, 256),
        "bias0": (256,),
        "weight1": (256, 256),
        "bias1": (256,),
        "weight2": (256, 56),
        "bias2": (56,),
    }
    assert agent.critics["weight0"].shape == (2, 67, 256)
    assert not torch.equal(agent.critics["weight1"][0], agent.critics["weight1"][1])
    drawn = distribution.sample(torch.full((4, 56), -100.0), torch.zeros(4, 28), agent.min_std)
    assert (drawn.std.square() >= 0.999e-3).all()


@pytest.mark.parametrize(("mean", "std"), [(0.0, 1.0), (0.7, 0.3), (-2.0, 0.05), (1.5, 2.0)])
def test_squashed_density_integrates_to_one_and_matches_it_numerically(mean, std):
    raw = math.log(math.expm1(std))  # softplus(raw) = std

    def density(action: float) -> float:
        noise = torch.tensor([[(math.atanh(action) - mean) / std]], dtype=torch.float64)
        drawn = distribution.sample(torch.tensor([[mean, raw]], dtype=torch.float64), noise, 0.0)
        assert float(drawn.action) == pytest.approx(action)
        return float(drawn.log_prob.exp())

    centre = math.tanh(mean)
    total = quad(density, -1 + 1e-12, 1 - 1e-12, points=[centre], limit=400)[0]
    assert total == pytest.approx(1.0, abs=1e-4)
    # The probability of an interval, by integration of the density and by the Gaussian's own distribution function.
    low, high = math.tanh(mean - std), math.tanh(mean + 0.5 * std)
    assert quad(density, low, high)[0] == pytest.approx(0.5 * (math.erf(0.5 / 2**0.5) + math.erf(1 / 2**0.5)), abs=1e-6)


def test_gradient_of_the_squashed_gaussian_is_autograds():
    torch.manual_seed(1)
    output = torch.randn(6, 8, dtype=torch.float64, requires_grad=True)
    by_action, by_log_prob = torch.randn(6, 4, dtype=torch.float64), torch.tensor([0.37], dtype=torch.float64)
    drawn = distribution.sample(output, torch.randn(6, 4, dtype=torch.float64), 0.03)
    loss = (drawn.action * by_action).sum() + by_log_prob * drawn.log_prob.sum()
    (expected,) = torch.autograd.grad(loss, output)
    torch.testing.assert_close(distribution.backward(drawn, by_action, by_log_prob), expected)


def test_squashed_log_probability_and_gradient_stay_finite_far_out():
    drawn = distribution.sample(torch.tensor([[60.0, -60.0, 0.0, 0.0]]), torch.zeros(1, 2), 0.03)
    assert torch.isfinite(drawn.log_prob).all()
    assert torch.isfinite(distribution.backward(drawn, torch.ones(1, 2), torch.tensor([0.1]))).all()


@pytest.mark.parametrize("layer_norm", [False, True])
@pytest.mark.parametrize("in_torch", [False, True], ids=["compiled", "torch"])
def test_update_is_adam_on_the_three_losses(in_torch, layer_norm):
    """Two updates, each repeated with torch.nn networks, torch.distributions and a separate Adam for every tensor."""
    config = {"critic_layer_norm": layer_norm, "critic_learning_rate": 1e-3, "polyak": 0.1, "initial_temperature": 0.3}
    agent = make_agent(**config)
    update = torch.no_grad()(agent._update_in_torch) if in_torch else agent.update
    policy = module(agent.actor.tensors)
    twins = [module(agent.critics.tensors, index, layer_norm) for index in range(2)]
    targets = copy.deepcopy(twins)
    log_temperature = torch.tensor(math.log(0.3), requires_grad=True)
    linear = [p for net in twins for m in net if isinstance(m, nn.Linear) for p in m.parameters()]
    optimizers = [
        torch.optim.Adam(p, lr=lr) for p, lr in ((policy.parameters(), 3e-4), (linear, 1e-3), ([log_temperature], 3e-4))
    ]
    noise_source = torch.Generator()
    noise_source.set_state(agent.noise.generator.get_state())

    def sample(observation, noise):
        mean, raw = policy(observation).chunk(2, -1)
        normal = torch.distributions.Normal(mean, nn.functional.softplus(raw) + math.sqrt(1e-3))
        inner = mean + normal.scale * noise
        squashed = torch.tanh(inner)
        return squashed, (normal.log_prob(inner) - torch.log1p(-(squashed**2))).sum(-1)

    def minimum(networks, observation, action):
        values = [net(torch.cat([observation, action], -1))[:, 0] for net in networks]
        return torch.minimum(*values), values

    for number in range(2):
        batch = make_batch(number)
        metrics = update(batch)
        temperature = log_temperature.detach().exp()
        noise, next_noise = torch.randn(2 * SIZE, ACTION, generator=noise_source).split(SIZE)
        with torch.no_grad():
            next_action, next_log_prob = sample(batch.next_observation, next_noise)
            future = minimum(targets, batch.next_observation, next_action)[0] - temperature * next_log_prob
            goal = batch.reward + batch.discount * future
        _, values = minimum(twins, batch.observation, batch.action)
        critic_loss = sum(0.5 * nn.functional.mse_loss(value, goal) for value in values)
        optimizers[1].zero_grad()
        critic_loss.backward()
        optimizers[1].step()
        for target, net in zip(targets, twins, strict=True):
            for slow, fast in zip(target.parameters(), net.parameters(), strict=True):
                slow.data.mul_(0.9).add_(0.1 * fast.data)
        action, log_prob = sample(batch.observation, noise)
        actor_loss = (temperature * log_prob - minimum(twins, batch.observation, action)[0]).mean()
        optimizers[0].zero_grad()
        actor_loss.backward()
        optimizers[0].step()
        optimizers[2].zero_grad()
        (-log_temperature * (log_prob.detach().mean() - ACTION)).backward()
        optimizers[2].step()
        torch.testing.assert_close(metrics["critic_loss"], critic_loss.detach(), rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(metrics["actor_loss"], actor_loss.detach(), rtol=1e-4, atol=1e-5)

    close = {"rtol": 1e-3, "atol": 2e-6}
    for layer, index in enumerate((0, 2, 4)):
        torch.testing.assert_close(agent.actor[f"weight{layer}"].detach(), policy[index].weight.detach().T, **close)
    for index in range(2):
        for name, network in (("critics", twins[index]), ("targets", targets[index])):
            linears = [m for m in network if isinstance(m, nn.Linear)]
            for layer, expected in enumerate(linears):
                own = getattr(agent, name).tensors[f"weight{layer}"][index]
                torch.testing.assert_close(own.detach(), expected.weight.detach().T, **close)
    torch.testing.assert_close(agent.temperature["log"].detach()[0], log_temperature.detach(), **close)


def test_losses_by_hand():
    values = torch.tensor([[1.0, 4.0], [3.0, 2.0]])
    goal = losses.target(
        torch.tensor([1.0, 1.0]), torch.tensor([0.5, 0.0]), values, torch.tensor([2.0, 2.0]), torch.tensor(0.25)
    )
    assert goal.tolist() == [1.25, 1.0]
    loss, gradient = losses.critic_loss(values[0], goal)
    assert float(loss) == pytest.approx(0.25 * (0.0625 + 9))
    assert gradient.tolist() == [-0.125, 1.5]
    loss, smaller = losses.actor_loss(values, torch.tensor([2.0, -2.0]), torch.tensor(0.25))
    assert float(loss) == pytest.approx((-0.5 - 2.5) / 2)
    assert smaller.tolist() == [0, 1]


@pytest.mark.parametrize("settings", [{}, {"critic_layer_norm": True, "normalize": True, "final_target_entropy": -3.0}])
def test_the_compiled_update_is_the_one_in_torch(settings):
    agent, other = make_agent(entropy_updates=2, **settings), make_agent(entropy_updates=2, **settings)
    assert agent.device.type == "cpu"
    for learner in (agent, other):
        learner.observe(np.random.default_rng(0).normal(1.0, 2.0, (50, OBSERVATION)))
    for seed in range(8):
        found = agent.update(make_batch(seed))
        with torch.no_grad():
            expected = other._update_in_torch(make_batch(seed))
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            torch.testing.assert_close(found[name], value, rtol=1e-4, atol=1e-5)
    for (name, one), two in zip(agent.state_dict().items(), other.state_dict().values(), strict=True):
        torch.testing.assert_close(one, two, rtol=1e-3, atol=1e-5, msg=name)


def test_the_compiled_squashed_gaussian_is_exact_far_out_too():
    """Against float64: means, deviations and noise from the smallest to the largest."""
    rng = np.random.default_rng(0)
    output = np.concatenate([rng.normal(0, 1, (64, 8)), rng.normal(0, 20, (64, 8))]).astype(np.float32)
    noise = rng.standard_normal((128, 4)).astype(np.float32)
    action, std, slope = (np.empty_like(noise) for _ in range(3))
    log_prob, by_output = np.empty(128, np.float32), np.empty_like(output)
    compiled.squashed(output, noise, np.float32(0.03), action, std, slope, log_prob)
    wide = torch.tensor(output, dtype=torch.float64, requires_grad=True)
    expected = distribution.sample(wide, torch.tensor(noise, dtype=torch.float64), 0.03)
    for found, value in ((action, expected.action), (std, expected.std), (slope, expected.slope)):
        np.testing.assert_allclose(found, value.detach(), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(log_prob, expected.log_prob.detach(), rtol=1e-5, atol=1e-4)
    by_action = rng.normal(size=noise.shape).astype(np.float32)
    compiled.squashed_backward(action, std, slope, noise, by_action, np.float32(0.37), by_output)
    loss = (expected.action * torch.tensor(by_action)).sum() + 0.37 * expected.log_prob.sum()
    (gradient,) = torch.autograd.grad(loss, wide)
    np.testing.assert_allclose(by_output, gradient, rtol=1e-4, atol=1e-4)


def test_temperature_moves_the_entropy_towards_its_target():
    too_sure, too_loose = torch.tensor([5.0, 5.0]), torch.tensor([-5.0, -5.0])
    assert float(losses.temperature_gradient(too_sure, -3.0)) == -2.0  # descent raises the temperature
    assert float(losses.temperature_gradient(too_loose, -3.0)) == 8.0


def test_target_entropy_stays_and_then_moves_in_a_straight_line():
    agent = make_agent(target_entropy=-1.0, final_target_entropy=-3.0, entropy_updates=2)
    batch = make_batch(8)
    aims = []
    for _ in range(6):
        aims.append(agent.target_entropy() / ACTION)
        agent.update(batch)
    assert aims == pytest.approx([-1.0, -1.0, -1.0, -2.0, -3.0, -3.0])
    assert make_agent(target_entropy=-2.0).target_entropy() == -2.0 * ACTION


def test_numpy_acts_as_the_network():
    agent = make_agent(normalize=True)
    agent.observe(np.random.default_rng(0).normal(3.0, 2.0, (100, OBSERVATION)))
    observation = np.random.default_rng(1).normal(3.0, 2.0, OBSERVATION)
    noise = np.random.default_rng(2).standard_normal(ACTION)
    inputs = agent.normalizer(torch.tensor(observation[None], dtype=torch.float32))
    mean, std = distribution_of(agent, inputs)
    np.testing.assert_allclose(act(agent.policy(), observation), mean.tanh()[0].detach(), atol=1e-6)
    expected = (mean + std * torch.tensor(noise, dtype=torch.float32)).tanh()[0].detach()
    np.testing.assert_allclose(act(agent.policy(), observation, noise), expected, atol=1e-6)


def test_state_returns_bit_for_bit():
    agent = make_agent(normalize=True)
    agent.observe(np.random.default_rng(0).normal(size=(50, OBSERVATION)))
    for seed in range(3):
        agent.update(make_batch(seed))
    state = {name: tensor.clone() for name, tensor in agent.state_dict().items()}
    other = SAC(OBSERVATION, ACTION, agent.config, seed=99)
    other.load_state_dict(state)
    for seed in range(3, 6):
        first, second = agent.update(make_batch(seed)), other.update(make_batch(seed))
        assert {name: float(value) for name, value in first.items()} == {name: float(v) for name, v in second.items()}
    for (name, one), two in zip(agent.state_dict().items(), other.state_dict().values(), strict=True):
        assert torch.equal(one, two), name


def test_it_learns_a_one_step_task():
    """Reward -(a - goal(s))^2: the mean action moves to the goal."""
    agent = SAC(2, 1, SACConfig(hidden=(64, 64), actor_learning_rate=3e-3, critic_learning_rate=3e-3), seed=0)
    rng = torch.Generator().manual_seed(0)
    for _ in range(600):
        observation = torch.rand(128, 2, generator=rng) * 2 - 1
        action = torch.rand(128, 1, generator=rng) * 2 - 1
        reward = -10 * (action[:, 0] - 0.5 * observation[:, 0]).square()
        agent.update(Batch(observation, action, reward, torch.zeros(128), observation))
    for state in (np.array([0.8, 0.0]), np.array([-0.6, 0.5])):
        assert act(agent.policy(), state)[0] == pytest.approx(0.5 * state[0], abs=0.15)


UPDATES = """
import hashlib, numpy as np, torch
from vision_pwil.agents.protocol import Batch
from vision_pwil.sac import SAC, SACConfig
torch.set_num_threads(1)
agent = SAC(40, 28, SACConfig(hidden=(64, 64), critic_layer_norm=True, normalize=True), seed=0)
rng, digest = np.random.default_rng(0), hashlib.sha256()
for _ in range(5):
    shapes = (16, 40), (16, 28), (16,), (16,), (16, 40)
    agent.update(Batch(*(torch.from_numpy(rng.normal(size=shape).astype(np.float32)) for shape in shapes)))
for name, tensor in sorted(agent.state_dict().items()):
    digest.update(tensor.contiguous().numpy().tobytes())
print(digest.hexdigest())
"""


@pytest.mark.slow
def test_who_compiles_computes_the_same_bits_as_who_finds_it_compiled(tmp_path):
    """A run that is killed while it is the first on its machine goes on in a process that compiles nothing."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "OMP_NUM_THREADS": "1"}
    first, second = (
        subprocess.run([sys.executable, "-c", UPDATES], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    )
    assert first.stdout == second.stdout and len(first.stdout) == 65
