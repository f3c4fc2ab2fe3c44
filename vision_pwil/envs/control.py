"""Driving an environment: what chooses its actions, and the seeds of its episodes."""

from collections.abc import Callable, Sequence

import numpy as np

Choose = Callable[[np.ndarray, int], np.ndarray]
"""A policy at work: the action for an observation at a step of the episode."""


def held(choose: Choose, repeat: int) -> Choose:
    """Choose at every `repeat`-th step of an episode, and hold the action between."""
    action = np.empty(0)

    def hold(observation: np.ndarray, step: int) -> np.ndarray:
        nonlocal action
        if step % repeat == 0:
            action = choose(observation, step)
        return action

    return hold


def environment_seed(seed: Sequence[int]) -> int:
    """One integer for an environment's `reset` from a tuple of them."""
    return int(np.random.SeedSequence(seed).generate_state(1)[0])
