"""Expert transitions for the replay before the agent has played (paper, section "Implementation", appendix A).

The paper stores expert state-action pairs with the largest reward alpha, repeated to 50,000. What it leaves open is
taken here as in its authors' code: a demonstration, subsampled as it is, is an episode whose every step earns alpha.
So s' is the next pair kept (20 steps later), or the nth next one for n-step returns; the discount is gamma^n; and the
last state kept is cut, not terminal: its value is bootstrapped and its action is not used.
"""

import numpy as np

from vision_pwil.demonstrations import Demonstrations
from vision_pwil.envs.flat import Bounds
from vision_pwil.system.errors import InputError
from vision_pwil.training.replay import Transitions, n_step_transitions


def prefill(
    demonstrations: Demonstrations, bounds: Bounds, count: int, n: int, *, alpha: float, gamma: float
) -> Transitions:
    """`count` transitions: those of the demonstrations, in turn, again and again."""
    demonstrations.require("actions")
    parts = [
        n_step_transitions(
            np.asarray(episode.states),
            bounds.to_policy(np.asarray(episode.actions)[:-1]),
            np.full(len(episode) - 1, alpha),
            terminal=False,
            gamma=gamma,
            n=n,
        )
        for episode in demonstrations.episodes
        if len(episode) > 1
    ]
    if not parts:
        raise InputError(
            "No demonstration has two steps after subsampling, so none has a transition to fill the replay with: "
            "lower --subsample, or use --prefill 0."
        )
    rows = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
    turns = np.arange(count) % len(rows[0])
    return Transitions(*(array[turns] for array in rows))
