"""Random batches, and the package's functional networks as torch.nn modules, for the tests of the agents."""

import torch
from torch import nn

from vision_pwil.agents.protocol import Batch

OBSERVATION, ACTION, SIZE = 5, 3, 16


def make_batch(seed: int = 0) -> Batch:
    rng = torch.Generator().manual_seed(seed)
    return Batch(
        torch.randn(SIZE, OBSERVATION, generator=rng),
        torch.rand(SIZE, ACTION, generator=rng) * 2 - 1,
        torch.randn(SIZE, generator=rng),
        torch.rand(SIZE, generator=rng),
        torch.randn(SIZE, OBSERVATION, generator=rng),
    )


def linear(weight: torch.Tensor, bias: torch.Tensor) -> nn.Linear:
    layer = nn.Linear(*weight.shape)
    layer.weight.data, layer.bias.data = weight.detach().T.clone(), bias.detach().reshape(-1).clone()
    return layer


def perceptron(tensors, activation=nn.ReLU, which: int | None = None) -> nn.Sequential:
    """A multilayer perceptron of these parameters; of several side by side, number `which`."""
    chosen = {name: value if which is None else value[which] for name, value in tensors.items()}
    layers: list[nn.Module] = []
    for layer in range(len(chosen) // 2):
        layers += [linear(chosen[f"weight{layer}"], chosen[f"bias{layer}"]), activation()]
    return nn.Sequential(*layers[:-1])


def assert_resumes(agent, other) -> None:
    """`other`, differently seeded, goes on from the state of `agent` exactly as `agent` does."""
    agent.update(make_batch(1))
    other.load_state_dict({name: value.clone() for name, value in agent.state_dict().items()})
    for seed in range(2, 5):
        agent.update(make_batch(seed))
        other.update(make_batch(seed))
    expected, found = agent.state_dict(), other.state_dict()
    assert expected.keys() == found.keys()
    for name, value in expected.items():
        assert torch.equal(value, found[name]), name
