"""The expert as DAC's discriminator sees it."""

from typing import NamedTuple

import numpy as np


def absorbing_state(observation_size: int) -> np.ndarray:
    """DAC's absorbing state: zeros, and its indicator bit."""
    return np.append(np.zeros(observation_size - 1), 1.0)


class ExpertPairs(NamedTuple):
    """Expert pairs to discriminate from."""

    observations: np.ndarray
    """(n, S + 1), with the absorbing bit."""
    actions: np.ndarray
    """(n, A), in [-1, 1]."""
    weights: np.ndarray
    """(n,) in the loss."""

    @classmethod
    def of(cls, states: np.ndarray, actions: np.ndarray, ends: int, every: int) -> "ExpertPairs":
        """The pairs of subsampled demonstrations, of which so many ended early: each adds an absorbing pair.

        Actions lie in [-1, 1]. Only one in `every` of the other pairs was kept, so an absorbing one weighs as much
        less (DAC's code).
        """
        live = np.pad(states, ((0, 0), (0, 1)))
        return cls(
            np.concatenate([live, np.tile(absorbing_state(live.shape[1]), (ends, 1))]),
            np.concatenate([actions, np.zeros((ends, actions.shape[1]))]),
            np.concatenate([np.ones(len(live)), np.full(ends, 1.0 / every)]),
        )
