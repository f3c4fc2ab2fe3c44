"""Which demonstrations, and which steps of them, an agent gets to see (paper, Experiments)."""

from dataclasses import replace

import numpy as np

from vision_pwil.demonstrations.episode import Demonstrations
from vision_pwil.system.errors import InputError


def subsample(demonstrations: Demonstrations, seed: int, every: int = 20) -> Demonstrations:
    """One step in `every`, starting at an offset drawn uniformly from [0, every) for each episode.

    The paper does so everywhere but on Reacher, whose episodes have 50 steps. An episode shorter than `every` draws
    its offset among its own steps, so that it keeps one.
    """
    if every < 1:
        raise InputError(f"Demonstrations are subsampled one in 1 or more, not one in {every}.")
    generator = np.random.default_rng(seed)
    episodes = []
    for episode in demonstrations.episodes:
        offset = generator.integers(min(every, len(episode)))
        episodes.append(episode.take(np.arange(offset, len(episode), every)))
    return replace(demonstrations, episodes=tuple(episodes))


def choose(demonstrations: Demonstrations, n: int, seed: int) -> Demonstrations:
    """`n` different demonstrations, drawn uniformly, in the order of the file."""
    if not 1 <= n <= len(demonstrations):
        raise InputError(f"{n} demonstrations were asked for, and there are {len(demonstrations)}.")
    chosen = np.random.default_rng(seed).choice(len(demonstrations), n, replace=False)
    return replace(demonstrations, episodes=tuple([demonstrations.episodes[index] for index in sorted(chosen)]))
