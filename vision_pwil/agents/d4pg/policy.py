"""Acting with a snapshot of D4PG's actor, in numpy."""

import numpy as np

from vision_pwil.agents import perceptron
from vision_pwil.agents.compiled import EPSILON
from vision_pwil.agents.normalizer import normalized
from vision_pwil.agents.protocol import Policy
from vision_pwil.agents.td3.policy import explore


def act(policy: Policy, observation: np.ndarray, noise: np.ndarray | None = None) -> np.ndarray:
    """The actor's action, with Gaussian noise of deviation sigma clipped to the action range (appendix A)."""

    def normalized_tanh(raw: np.ndarray) -> np.ndarray:
        raw -= raw.mean()
        raw *= policy["scale"] / np.sqrt(raw @ raw / len(raw) + EPSILON)
        return np.tanh(raw + policy["offset"])

    output = perceptron.output(policy, normalized(policy, observation), (normalized_tanh, elu))
    return explore(policy, np.tanh(output), noise)


def elu(raw: np.ndarray) -> np.ndarray:
    """x where it is positive, else exp(x) - 1."""
    return np.where(raw > 0.0, raw, np.expm1(np.minimum(raw, 0.0)))
