"""The shared perceptron, compiled and in torch, and Adam, against autograd and torch's own."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from vision_pwil.agents import kernels, parameters
from vision_pwil.agents.activations import Elu, NormalizedRelu, NormalizedTanh, Relu
from vision_pwil.agents.parameters import Average, Parameters
from vision_pwil.agents.perceptron import Perceptron, shapes, twins

SIZES, ROWS = (5, 16, 8, 3), 7
MODULES = {Relu: nn.ReLU, NormalizedRelu: nn.ReLU, Elu: nn.ELU, NormalizedTanh: nn.Tanh}


def random(shape: tuple[int, ...], seed: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def plain(tensors, hidden, values):
    """The network for autograd, written with torch.nn."""
    for layer in range(len(SIZES) - 1):
        values = values @ tensors[f"weight{layer}"] + tensors[f"bias{layer}"]
        if layer < len(SIZES) - 2:
            activation = hidden[min(layer, len(hidden) - 1)]
            if isinstance(activation, NormalizedRelu):
                values = nn.functional.layer_norm(values, values.shape[-1:])
            if isinstance(activation, NormalizedTanh):
                values = nn.functional.layer_norm(values, values.shape[-1:], tensors["scale"], tensors["offset"])
            values = MODULES[type(activation)]()(values)
    return values


@pytest.mark.parametrize("outputs", [3, 1])
@pytest.mark.parametrize(
    "hidden", [(Relu(),), (NormalizedRelu(),), (Elu(),), (NormalizedTanh(), Elu())], ids=["relu", "norm", "elu", "tanh"]
)
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "torch"])
def test_both_passes_are_autograds(compiled, hidden, outputs):
    sizes = (*SIZES[:-1], outputs)
    own = {"scale": (SIZES[1],), "offset": (SIZES[1],)} if isinstance(hidden[0], NormalizedTanh) else {}
    tensors = {name: random(shape, i) for i, (name, shape) in enumerate({**shapes(sizes), **own}.items())}
    gradients = {name: torch.full_like(tensor, math.nan) for name, tensor in tensors.items()}
    inputs, by_output = random((ROWS, SIZES[0]), 50), random((ROWS, outputs), 51)
    leaves = {name: tensor.clone().requires_grad_() for name, tensor in tensors.items()}
    leaf = inputs.clone().requires_grad_()
    expected = plain(leaves, hidden, leaf)
    by_inputs, *by_tensors = torch.autograd.grad((expected * by_output).sum(), [leaf, *leaves.values()])

    network = Perceptron(tensors, hidden, gradients)
    assert network.compiled
    network.compiled = compiled
    close = {"rtol": 1e-4, "atol": 1e-5}
    output, trace = network.forward(inputs)
    torch.testing.assert_close(output, expected.detach(), **close)
    network.backward(trace, by_output)
    for name, gradient in zip(tensors, by_tensors, strict=True):
        torch.testing.assert_close(gradients[name], gradient, **close)
    torch.testing.assert_close(network.to_inputs(trace, by_output), by_inputs, **close)
    rows = torch.tensor([4, 1])
    torch.testing.assert_close(
        network.to_inputs(trace.at(rows), by_output[rows], first=2), by_inputs[rows, 2:], **close
    )
    one = torch.tensor([6])
    torch.testing.assert_close(network.to_inputs(trace.at(one), by_output[one]), by_inputs[one], **close)


@pytest.mark.parametrize("hidden", [(Relu(),), (NormalizedRelu(),), (Elu(),)], ids=["relu", "norm", "elu"])
def test_numbers_that_are_none_stay_so(hidden):
    """A run that diverged has to show."""
    tensors = {name: random(shape, i) for i, (name, shape) in enumerate(shapes(SIZES).items())}
    inputs = random((ROWS, SIZES[0]), 50)
    inputs[2, 1] = math.nan
    output, _ = Perceptron(tensors, hidden).forward(inputs)
    assert output.isnan().any(1).tolist() == [row == 2 for row in range(ROWS)]


def test_twins_are_two_networks_on_shared_memory():
    both = {name: random(shape, i) for i, (name, shape) in enumerate(shapes(SIZES, copies=2).items())}
    inputs = random((ROWS, SIZES[0]), 50)
    for number, network in enumerate(twins(both)):
        tensors = {name: tensor[number] for name, tensor in both.items()}
        torch.testing.assert_close(network.forward(inputs)[0], plain(tensors, (Relu(),), inputs))
    first = twins(both)[0]
    both["bias2"] += 1.0
    torch.testing.assert_close(
        first.forward(inputs)[0][:, 0], plain({n: t[0] for n, t in both.items()}, (Relu(),), inputs)[:, 0]
    )


@pytest.mark.parametrize(
    ("own", "true", "inputs"),
    [
        (kernels.exp, np.exp, np.linspace(-87.0, 88.0, 20_001)),
        (kernels.log, np.log, np.geomspace(1e-30, 1e30, 20_001)),
        (kernels.tanh, np.tanh, np.linspace(-12.0, 12.0, 20_001)),
    ],
    ids=["exp", "log", "tanh"],
)
def test_functions_are_exact_to_float32s_rounding(own, true, inputs):
    inputs = inputs.astype(np.float32)
    found = np.array([own(value) for value in inputs], np.float64)
    np.testing.assert_allclose(found, true(inputs.astype(np.float64)), rtol=2.5e-7, atol=1.5e-7)


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "torch"])
def test_adam_is_torchs_and_the_average_follows(compiled):
    own = Parameters({"weight0": (30, 10), "bias0": (10,)}, 1e-2, torch.Generator().manual_seed(0))
    twin = nn.Parameter(own.flat.clone())
    optimizer = torch.optim.Adam([twin], 1e-2)
    average, expected = Average(own), twin.detach().clone()
    for step in range(20):
        gradient = random(own.flat.shape, step) * 10.0 ** (step % 5 - 3)
        for target, part in zip(own.gradients.values(), parameters.views(gradient, own.shapes).values(), strict=True):
            target.copy_(part)
        twin.grad = gradient
        optimizer.step()
        expected += 0.1 * (twin.detach() - expected)
        if compiled:
            own.step(average=average, rate=0.1)
        else:
            parameters.adam(*own._next_step())
            average.follow(own, 0.1)
        torch.testing.assert_close(own.flat, twin.detach(), rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(average.flat, expected, rtol=1e-5, atol=1e-6)
    assert own.steps == 20


def test_long_gradients_are_cut():
    own = Parameters({"weight0": (3, 2), "bias0": (2,)}, 1e-2, torch.Generator().manual_seed(0))
    own.gradients["weight0"].fill_(10.0)
    own.step(max_norm=1.0)
    assert float(own.gradients["weight0"].norm()) == pytest.approx(1.0, rel=1e-5)
