"""Acting with a snapshot of SAC's actor, in numpy."""

import numpy as np

from vision_pwil.agents import perceptron
from vision_pwil.agents.normalizer import normalized
from vision_pwil.agents.protocol import Policy


def act(policy: Policy, observation: np.ndarray, noise: np.ndarray | None = None) -> np.ndarray:
    """tanh(mean + std * noise), or tanh(mean) without noise."""
    mean, raw = np.split(perceptron.output(policy, normalized(policy, observation)), 2)
    if noise is None:
        return np.tanh(mean)
    std = np.logaddexp(0.0, raw) + policy["min_std"]
    return np.tanh(mean + std * noise.astype(np.float32))
