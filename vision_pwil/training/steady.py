"""The policy that evaluations play and a run keeps: an average of those that explored (Polyak and Juditsky 1992).

A learner's policy is a little different after each update, and what it does without exploration noise jumps more than
what it has learned. Its average over the last episodes is steadier. Exploration goes on with the learner's own.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from vision_pwil.agents.protocol import Policy


class SteadyPolicy:
    """An exponential average of policies, one an episode, over so many `episodes`; over 1 it is the last one."""

    def __init__(self, policy: Policy, episodes: int) -> None:
        self.arrays: Policy = policy
        self.rate = np.float32(1.0 / episodes)

    def follow(self, policy: Policy) -> None:
        """Take in the next episode's policy."""
        if self.rate == 1.0:
            self.arrays = policy
        else:
            self.arrays = {name: old + self.rate * (policy[name] - old) for name, old in self.arrays.items()}

    def state_dict(self) -> dict[str, Tensor]:
        """The average."""
        return {name: torch.from_numpy(np.asarray(array)) for name, array in self.arrays.items()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Return to a saved average."""
        self.arrays = {name: state[name].numpy().copy() for name in self.arrays}
