"""Demonstrations as weighted points: what is compared, and which point absorbing steps are compared at.

Horizon and ending decide whether a pixel reward means anything. An agent that opens the door early must be compared
with demonstrations of one and the same length, so every demonstration is padded to the horizon: its absorbing steps are
weight on one atom, not copies of it. Which atom is a choice:

- "none": no absorbing state; a reward simply stops when an episode does (the paper's locomotion).
- "last": each episode's own last point (the paper's door, after AIRL).
- "shared": one absorbing state for all (as in DAC, Kostrikov et al. 2019), the mean of the demonstrations' last
  points. Finishing then earns what no pose shortly before the end can.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from vision_pwil.demonstrations import Demonstrations
from vision_pwil.encoder import Encoder
from vision_pwil.system.errors import InputError

Compare = Literal["pairs", "states", "frames"]
Ending = Literal["none", "last", "shared"]


class Atoms(NamedTuple):
    """Points of the demonstrations and their whole-number weights; with a shared ending, its point is the last one."""

    points: np.ndarray
    weights: np.ndarray


def points_of(demonstrations: Demonstrations, compare: Compare, encoder: Encoder | None = None) -> list[np.ndarray]:
    """The points of each episode: embedded frames, or state-action pairs (states where actions are not known)."""
    if compare == "frames":
        assert encoder is not None
        demonstrations.require("frames")
        return [encoder.embed(np.asarray(episode.frames)) for episode in demonstrations.episodes]
    demonstrations.require("states")
    if compare == "pairs":
        demonstrations.require("actions")
    known = all(episode.actions is not None for episode in demonstrations.episodes)
    return [
        np.hstack([np.asarray(episode.states), np.asarray(episode.actions)]) if known else np.asarray(episode.states)
        for episode in demonstrations.episodes
    ]


def weighted(episodes: Sequence[np.ndarray], ended: Sequence[bool], horizon: int, ending: Ending) -> Atoms:
    """The points of episodes as atoms; `ended` says which of them finished the task."""
    if ending == "none":
        points = np.concatenate(episodes)
        return Atoms(points, np.ones(len(points), np.int64))
    for number, points in enumerate(episodes):
        if len(points) > horizon:
            raise InputError(
                f"Demonstration {number} takes {len(points)} steps, more than the horizon of {horizon}: raise"
                " --horizon."
            )
    weights = [np.ones(len(points), np.int64) for points in episodes]
    after = [(horizon - len(points)) * bool(end) for points, end in zip(episodes, ended, strict=True)]
    if ending == "last":
        for weight, steps in zip(weights, after, strict=True):
            weight[-1] += steps
        return Atoms(np.concatenate(episodes), np.concatenate(weights))
    if not sum(after):
        raise InputError(
            "No demonstration finishes the task before the horizon, so there is no absorbing state to share: "
            "use --ending last."
        )
    mean = np.mean([points[-1] for points, end in zip(episodes, ended, strict=True) if end], axis=0)
    return Atoms(np.concatenate([*episodes, mean[None]]), np.concatenate([*weights, [sum(after)]]))
