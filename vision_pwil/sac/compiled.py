"""SAC's update on the CPU as one compiled call: `SAC.update` in `agent`, step by step, without Python in between.

Networks are (weights, biases, affine, codes) as in `vision_pwil.agents.compiled`; `adams` holds what the kernel
`adam` takes for critics, actor and temperature, and `follow` what `adam_and_follow` takes besides for the critics.
"""

import math

import numpy as np

from vision_pwil.agents.compiled import backward, forward, to_inputs
from vision_pwil.agents.kernels import F32, HALF, ONE, TWO, ZERO, adam, adam_and_follow, exp, kernel, log

_DENSITY = F32(0.5 * math.log(2.0 * math.pi) + 2.0 * math.log(2.0))
METRICS = ("critic_loss", "actor_loss", "value", "entropy", "temperature", "deviation")
"""What `update` returns."""


@kernel
def _squash(mean, raw, noise, min_std, slope, terms):
    """`squashed` one number after the other: mean becomes the action, raw the deviation."""
    for k in range(noise.size):
        e = exp(-abs(raw[k]))
        slope[k] = (ONE if raw[k] > ZERO else e) / (ONE + e)
        std = max(raw[k], ZERO) + log(ONE + e) + min_std
        u = mean[k] + std * noise[k]
        q = exp(-TWO * abs(u))
        size = (ONE - q) / (ONE + q)
        terms[k] = TWO * abs(u) - HALF * noise[k] * noise[k] + log((ONE + q) * (ONE + q) / std)
        mean[k] = size if u > ZERO else -size
        raw[k] = std


@kernel
def squashed(output, noise, min_std, action, std, slope, log_prob):
    """Actions tanh(u), u = mean + std * noise, where mean and raw are the halves of `output`, and their density.

    With e = exp(-|raw|): std = softplus(raw) + min_std = max(raw, 0) + log(1 + e) + min_std, and `slope` is the
    derivative sigmoid(raw), either 1 / (1 + e) or e / (1 + e). With q = exp(-2 |u|): |tanh u| = (1 - q) / (1 + q), and
    the density is that of the Gaussian less log(1 - tanh(u)^2) = 2 (log 2 - |u| - log(1 + q)), summed over dimensions.
    """
    rows, size = noise.shape
    action[:] = output[:, :size]
    std[:] = output[:, size:]
    terms = np.empty_like(noise)
    # As one long vector: a row of a few ten numbers is too short to be worth vectorising.
    _squash(action.reshape(-1), std.reshape(-1), noise.reshape(-1), min_std, slope.reshape(-1), terms.reshape(-1))
    for i in range(rows):
        total = ZERO
        for j in range(size):
            total += terms[i, j]
        log_prob[i] = total - F32(size) * _DENSITY


@kernel
def squashed_backward(action, std, slope, noise, by_action, by_log_prob, by_output):
    """Gradient by the actor's output, from those by each action and by each log-probability (one number).

    d tanh(u) / du = 1 - a^2, d log pi / du = 2 a, d log pi / d std = -1 / std beside what comes through u.
    """
    rows, size = action.shape
    for i in range(rows):
        for j in range(size):
            a = action[i, j]
            u = by_action[i, j] * (ONE - a * a) + TWO * by_log_prob * a
            by_output[i, j] = u
            by_output[i, size + j] = (u * noise[i, j] - by_log_prob / std[i, j]) * slope[i, j]


@kernel
def _pairs(observation, action):
    """Observations and actions side by side."""
    size, dimensions = observation.shape
    result = np.empty((size, dimensions + action.shape[1]), F32)
    result[:, :dimensions] = observation
    result[:, dimensions:] = action
    return result


@kernel
def _rows(kept, rows):
    """Some rows of what a pass kept."""
    return [(output[rows], standard[rows], inverse[rows]) for output, standard, inverse in kept]


@kernel
def _mean(array):
    """Mean of an array."""
    total = ZERO
    for value in array.flat:
        total += value
    return total / F32(array.size)


@kernel
def _fit(critic, gradients, pairs, targets):
    """A critic's gradient towards the targets; returns its loss and its mean value."""
    weights, _, affine, codes = critic
    values, kept = forward(*critic, pairs)
    size = targets.size
    value = _mean(values)
    loss = ZERO
    for i in range(size):
        error = values[i, 0] - targets[i]
        loss += error * error
        values[i, 0] = error / F32(size)
    backward(weights, affine, codes, pairs, kept, values, *gradients)
    return loss / F32(2 * size), value


@kernel
def _by_action(critics, pairs, dimensions):
    """Gradient of minus the smaller value, averaged over the batch, by the action; and the mean smaller value."""
    size = pairs.shape[0]
    passes = [forward(*critic, pairs) for critic in critics]
    first, second = passes[0][0], passes[1][0]
    result = np.empty((size, pairs.shape[1] - dimensions), F32)
    smaller = first[:, 0] <= second[:, 0]
    for number in range(2):
        # Each row goes back through one critic only, the one that is the smaller there.
        rows = np.nonzero(smaller if number == 0 else ~smaller)[0]
        kept = _rows(passes[number][1], rows)
        weights, _, affine, codes = critics[number]
        gradient = np.full((rows.size, 1), -ONE / F32(size), F32)
        result[rows] = to_inputs(weights, affine, codes, kept, gradient, dimensions)
    return result, _mean(np.minimum(first, second))


@kernel
def update(networks, gradients, observations, action, reward, discount, noise, min_std, target_entropy, adams, follow):
    """One step of critics, their targets, actor and temperature; returns the metrics.

    `observations` are those of the batch and, below them, the next ones; `noise` has a row for each.
    """
    policy, critics, targets = networks
    by_policy, by_critics = gradients
    critic_adam, actor_adam, temperature_adam = adams
    size, dimensions = reward.size, observations.shape[1]
    temperature = np.exp(temperature_adam[0][0])
    output, actor_kept = forward(*policy, observations)
    drawn, std, slope = np.empty_like(noise), np.empty_like(noise), np.empty_like(noise)
    log_prob = np.empty(2 * size, F32)
    squashed(output, noise, min_std, drawn, std, slope, log_prob)

    # critics
    next_pairs = _pairs(observations[size:], drawn[size:])
    nexts = [forward(*target, next_pairs)[0] for target in targets]
    first, second = nexts[0], nexts[1]
    goals = np.empty(size, F32)
    for i in range(size):
        goals[i] = reward[i] + discount[i] * (min(first[i, 0], second[i, 0]) - temperature * log_prob[size + i])
    pairs = _pairs(observations[:size], action)
    critic_loss = value = ZERO
    for number in range(2):
        loss, mean = _fit(critics[number], by_critics[number], pairs, goals)
        critic_loss += loss
        value += mean
    adam_and_follow(*critic_adam, *follow)

    # actor
    by_action, smaller = _by_action(critics, _pairs(observations[:size], drawn[:size]), dimensions)
    by_output = np.empty((size, output.shape[1]), F32)
    squashed_backward(
        drawn[:size], std[:size], slope[:size], noise[:size], by_action, temperature / F32(size), by_output
    )
    kept = [(layer[0][:size], layer[1][:size], layer[2][:size]) for layer in actor_kept]
    weights, _, affine, codes = policy
    backward(weights, affine, codes, observations[:size], kept, by_output, *by_policy)
    adam(*actor_adam)

    # temperature
    mean_log_prob = _mean(log_prob[:size])
    temperature_adam[1][0] = -(mean_log_prob + target_entropy)
    adam(*temperature_adam)

    metrics = np.empty(6, F32)
    metrics[0] = critic_loss
    metrics[1] = temperature * mean_log_prob - smaller
    metrics[2] = value / TWO
    metrics[3] = -mean_log_prob
    metrics[4] = temperature
    metrics[5] = _mean(std[:size])
    return metrics
