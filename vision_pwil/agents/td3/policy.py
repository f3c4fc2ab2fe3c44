"""Acting with a snapshot of a deterministic ReLU actor, in numpy: TD3's, and those of both baselines."""

import numpy as np

from vision_pwil.agents.protocol import Policy


def act(policy: Policy, observation: np.ndarray, noise: np.ndarray | None = None) -> np.ndarray:
    """The actor's action, with Gaussian noise of deviation sigma clipped to the action range."""
    hidden = (observation.astype(np.float32) - policy["mean"]) * policy["inverse_std"]
    layer = 0
    while f"weight{layer + 1}" in policy:
        hidden = hidden @ policy[f"weight{layer}"] + policy[f"bias{layer}"]
        np.maximum(hidden, 0.0, out=hidden)
        layer += 1
    action = np.tanh(hidden @ policy[f"weight{layer}"] + policy[f"bias{layer}"])
    if noise is None:
        return action
    return np.clip(action + policy["sigma"] * noise.astype(np.float32), -1.0, 1.0)
