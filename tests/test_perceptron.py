"""The shared perceptron against autograd."""

import pytest
import torch
from torch import nn

from vision_pwil.agents import perceptron
from vision_pwil.agents.activations import NormalizedRelu


@pytest.mark.parametrize("layer_norm", [False, True])
@pytest.mark.parametrize("copies", [0, 2])
def test_backward_is_autograds(layer_norm, copies):
    torch.manual_seed(0)
    hidden = (NormalizedRelu(),) if layer_norm else perceptron.RELU
    shapes = perceptron.shapes((5, 16, 8, 3), copies)
    parameters = {name: torch.randn(shape, requires_grad=True) for name, shape in shapes.items()}
    inputs = torch.randn((2, 7, 5) if copies else (7, 5), requires_grad=True)
    weight = torch.randn((2, 7, 3) if copies else (7, 3))

    def plain(values):
        for layer in range(3):
            values = values @ parameters[f"weight{layer}"] + parameters[f"bias{layer}"]
            if layer < 2:
                values = nn.functional.layer_norm(values, values.shape[-1:]) if layer_norm else values
                values = values.relu()
        return values

    expected_output = plain(inputs)
    expected = torch.autograd.grad((expected_output * weight).sum(), [inputs, *parameters.values()])
    with torch.no_grad():
        output, layers = perceptron.forward(parameters, inputs, hidden)
        torch.testing.assert_close(output, expected_output)
        into = {name: torch.empty(shape) for name, shape in shapes.items()}
        perceptron.backward(parameters, layers, weight, into, hidden)
        for gradient, own in zip(expected[1:], into.values(), strict=True):
            torch.testing.assert_close(own, gradient, rtol=1e-4, atol=1e-4)
        by_inputs = perceptron.backward(parameters, layers, weight, hidden=hidden)
        torch.testing.assert_close(by_inputs, expected[0], rtol=1e-4, atol=1e-4)
