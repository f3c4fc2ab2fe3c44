"""Acting with a snapshot of D4PG's actor, in numpy."""

import numpy as np

from vision_pwil.agents.normalizer import normalized
from vision_pwil.agents.protocol import Policy


def act(policy: Policy, observation: np.ndarray, noise: np.ndarray | None = None) -> np.ndarray:
    """The actor's action, with Gaussian noise of deviation sigma clipped to the action range (appendix A)."""
    hidden = normalized(policy, observation) @ policy["weight0"] + policy["bias0"]
    hidden -= hidden.mean()
    hidden *= policy["scale"] / np.sqrt(hidden @ hidden / len(hidden) + 1e-5)
    hidden = np.tanh(hidden + policy["offset"])
    layer = 1
    while f"weight{layer + 1}" in policy:
        hidden = hidden @ policy[f"weight{layer}"] + policy[f"bias{layer}"]
        hidden = np.where(hidden > 0.0, hidden, np.expm1(np.minimum(hidden, 0.0)))
        layer += 1
    action = np.tanh(hidden @ policy[f"weight{layer}"] + policy[f"bias{layer}"])
    if noise is None:
        return action
    return np.clip(action + policy["sigma"] * noise.astype(np.float32), -1.0, 1.0)
