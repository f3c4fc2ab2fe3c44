"""The perceptron's passes on the CPU, each one compiled call: matrix products by BLAS, all else in passes between them.

At these sizes Python and torch take a fifth of an update to get from one product to the next; here it is next to
nothing, and what follows a product finds its result still in the cache. `perceptron` says what is computed.

Common arguments: `weights` and `biases` of the layers; `affine`, the learned scale and offset of a normalisation, for
those activations that have them; `codes`, the activations of the hidden layers; `kept`, for each hidden layer its
output, what was normalised, and the inverse of its deviation (the latter two mean nothing without normalisation).
"""

import math

import numpy as np

from vision_pwil.agents.kernels import F32, ONE, ZERO, exp, kernel, tanh

RELU, NORMALIZED_RELU, ELU, NORMALIZED_TANH = range(4)
"""The codes of the activations."""
EPSILON = 1e-5
"""Added to the variance in layer normalisation, as torch.nn.LayerNorm does."""


@kernel
def _standardize(row):
    """A row minus its mean, over its deviation, in place; returns the inverse of the deviation."""
    mean = ZERO
    for j in range(row.size):
        mean += row[j]
    mean /= F32(row.size)
    variance = ZERO
    for j in range(row.size):
        variance += (row[j] - mean) * (row[j] - mean)
    inverse = ONE / math.sqrt(variance / F32(row.size) + F32(EPSILON))
    for j in range(row.size):
        row[j] = (row[j] - mean) * inverse
    return inverse


@kernel
def _standardize_backward(gradient, standard, inverse):
    """Gradient by a row, from that by the row standardised: (g - mean(g) - x mean(g x)) / deviation, in place."""
    mean = along = ZERO
    for j in range(gradient.size):
        mean += gradient[j]
        along += gradient[j] * standard[j]
    mean /= F32(gradient.size)
    along /= F32(gradient.size)
    for j in range(gradient.size):
        gradient[j] = (gradient[j] - mean - standard[j] * along) * inverse


@kernel
def _activate(raw, bias, affine, code):
    """A hidden layer's output from its product, and what else is kept; `raw` is used up."""
    rows, width = raw.shape
    inverse = np.empty(rows, F32)
    if code == RELU:
        for i in range(rows):
            for j in range(width):
                x = raw[i, j] + bias[j]
                raw[i, j] = ZERO if x < ZERO else x  # unlike max, this leaves NaN as it is
        return raw, raw, inverse
    if code == ELU:
        for i in range(rows):
            for j in range(width):
                x = raw[i, j] + bias[j]
                raw[i, j] = x if x > ZERO else exp(x) - ONE
        return raw, raw, inverse
    output = np.empty_like(raw)
    for i in range(rows):
        for j in range(width):
            raw[i, j] += bias[j]
        inverse[i] = _standardize(raw[i])
        if code == NORMALIZED_RELU:
            for j in range(width):
                output[i, j] = ZERO if raw[i, j] < ZERO else raw[i, j]
        else:
            for j in range(width):
                output[i, j] = tanh(affine[0][j] * raw[i, j] + affine[1][j])
    return output, raw, inverse


@kernel
def _activate_backward(gradient, layer, affine, by_affine, code):
    """The gradient by what an activation was given, from that by its output, in place.

    Those by scale and offset are added to `by_affine`.
    """
    output, standard, inverse = layer
    rows, width = gradient.shape
    if code == ELU:  # the derivative, from the output, is 1 or output + 1
        for i in range(rows):
            for j in range(width):
                gradient[i, j] *= min(output[i, j], ZERO) + ONE
    elif code == NORMALIZED_TANH:
        for i in range(rows):
            for j in range(width):
                slope = gradient[i, j] * (ONE - output[i, j] * output[i, j])
                by_affine[0][j] += slope * standard[i, j]
                by_affine[1][j] += slope
                gradient[i, j] = slope * affine[0][j]
            _standardize_backward(gradient[i], standard[i], inverse[i])
    else:
        for i in range(rows):
            for j in range(width):
                gradient[i, j] = gradient[i, j] if output[i, j] > ZERO else ZERO
            if code == NORMALIZED_RELU:
                _standardize_backward(gradient[i], standard[i], inverse[i])


@kernel
def _product(left, right):
    """Matrix product; those with a single row or column between or beside them are no work for BLAS."""
    result = np.empty((left.shape[0], right.shape[1]), F32)
    if left.shape[1] == 1:
        for i in range(result.shape[0]):
            for j in range(result.shape[1]):
                result[i, j] = left[i, 0] * right[0, j]
    else:
        np.dot(left, right, result)
    return result


@kernel
def forward(weights, biases, affine, codes, inputs):
    """The last layer's output, linear, and what `backward` needs of the hidden layers."""
    last = len(weights) - 1
    kept = []
    for number in range(last):
        layer = _activate(_product(inputs, weights[number]), biases[number], affine, codes[number])
        kept.append(layer)
        inputs = layer[0]
    weight, bias = weights[last], biases[last]
    if weight.shape[1] == 1:
        output = np.empty((inputs.shape[0], 1), F32)
        for i in range(inputs.shape[0]):
            total = ZERO
            for j in range(inputs.shape[1]):
                total += inputs[i, j] * weight[j, 0]
            output[i, 0] = total + bias[0]
    else:
        output = _product(inputs, weight)
        for i in range(output.shape[0]):
            for j in range(output.shape[1]):
                output[i, j] += bias[j]
    return output, kept


@kernel
def _weights_backward(inputs, gradient, by_weight, by_bias):
    """Gradients by a layer's weights and biases."""
    by_bias[:] = ZERO
    for i in range(gradient.shape[0]):
        for j in range(gradient.shape[1]):
            by_bias[j] += gradient[i, j]
    if gradient.shape[1] == 1:
        by_weight[:] = ZERO
        for i in range(inputs.shape[0]):
            for j in range(inputs.shape[1]):
                by_weight[j, 0] += inputs[i, j] * gradient[i, 0]
    else:
        np.dot(inputs.T, gradient, by_weight)


@kernel
def backward(weights, affine, codes, inputs, kept, gradient, by_weights, by_biases, by_affine):
    """From the gradient by the output, write those by the parameters."""
    by_affine[0][:] = ZERO
    by_affine[1][:] = ZERO
    for number in range(len(weights) - 1, 0, -1):
        layer = kept[number - 1]
        _weights_backward(layer[0], gradient, by_weights[number], by_biases[number])
        gradient = _product(gradient, weights[number].T)
        _activate_backward(gradient, layer, affine, by_affine, codes[number - 1])
    _weights_backward(inputs, gradient, by_weights[0], by_biases[0])


@kernel
def to_inputs(weights, affine, codes, kept, gradient, first):
    """From the gradient by the output to that by the inputs from number `first` on."""
    by_affine = (np.zeros_like(affine[0]), np.zeros_like(affine[1]))
    for number in range(len(weights) - 1, 0, -1):
        gradient = _product(gradient, weights[number].T)
        _activate_backward(gradient, kept[number - 1], affine, by_affine, codes[number - 1])
    return _product(gradient, weights[0][first:].T)
