"""Acting with a snapshot of a deterministic ReLU actor, in numpy: TD3's, and those of both baselines."""

import numpy as np

from vision_pwil.agents import perceptron
from vision_pwil.agents.normalizer import normalized
from vision_pwil.agents.protocol import Policy


def act(policy: Policy, observation: np.ndarray, noise: np.ndarray | None = None) -> np.ndarray:
    """The actor's action, with Gaussian noise of deviation sigma clipped to the action range."""
    return explore(policy, np.tanh(perceptron.output(policy, normalized(policy, observation))), noise)


def explore(policy: Policy, action: np.ndarray, noise: np.ndarray | None) -> np.ndarray:
    """The action, with noise of deviation sigma where there is any."""
    if noise is None:
        return action
    return np.clip(action + policy["sigma"] * noise.astype(np.float32), -1.0, 1.0)
