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
from typing import NamedTuple

import numpy as np

from vision_pwil.demonstrations import Demonstrations
from vision_pwil.encoder import Encoder
from vision_pwil.system.errors import InputError
from vision_pwil.tasks.config import Compare, Ending


class Atoms(NamedTuple):
    """Points of the demonstrations and their whole-number weights."""

    points: np.ndarray
    weights: np.ndarray
    times: np.ndarray | None = None
    """When each was, as a share of the horizon, where time counts; absorbing steps then have atoms of their own."""
    end: np.ndarray | None = None
    """The point of the shared ending."""

    def checked(self) -> "Atoms":
        """The same, if the parts fit together and are numbers; what they have to be otherwise, the coupling asks."""
        parts = [part for part in self if part is not None]
        shapes = [part.shape for part in (self.weights, self.times) if part is not None]
        fitting = self.points.ndim == 2 and all(shape == self.points.shape[:1] for shape in shapes)
        if self.end is not None:
            fitting = fitting and self.end.shape == self.points.shape[1:]
        if not fitting or not all(part.dtype.kind in "iuf" and np.isfinite(part).all() for part in parts):
            raise InputError("the task's points and weights do not fit together, or are not finite numbers.")
        return self


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


def weighted(
    episodes: Sequence[np.ndarray], ended: Sequence[bool], horizon: int, ending: Ending, *, timed: bool = False
) -> Atoms:
    """The points of episodes as atoms; `ended` says which of them finished the task.

    Absorbing steps are weight on one atom, or, where time is compared (`timed`), an atom for each of their times.
    """
    if ending == "none":
        points = np.concatenate(episodes)
        times = np.concatenate([_times(len(path), horizon) for path in episodes]) if timed else None
        return Atoms(points, np.ones(len(points), np.int64), times)
    for number, path in enumerate(episodes):
        if len(path) > horizon:
            raise InputError(
                f"Demonstration {number} takes {len(path)} steps, more than the horizon of {horizon}: raise --horizon."
            )
    finished = [path for path, end in zip(episodes, ended, strict=True) if end and len(path) < horizon]
    shared = None
    if ending == "shared":
        if not finished:
            raise InputError(
                "No demonstration finishes the task before the horizon, so there is no absorbing state to share: "
                "use --ending last."
            )
        shared = np.mean([path[-1] for path, end in zip(episodes, ended, strict=True) if end], axis=0)
    if timed:
        return _timed(episodes, finished, horizon, shared)
    weights = [np.ones(len(path), np.int64) for path in episodes]
    if shared is None:
        for weight, path, end in zip(weights, episodes, ended, strict=True):
            weight[-1] += (horizon - len(path)) * bool(end)
        return Atoms(np.concatenate(episodes), np.concatenate(weights))
    after = sum(horizon - len(path) for path in finished)
    return Atoms(np.concatenate([*episodes, shared[None]]), np.concatenate([*weights, [after]]), end=shared)


def _timed(
    episodes: Sequence[np.ndarray], finished: Sequence[np.ndarray], horizon: int, shared: np.ndarray | None
) -> Atoms:
    """Atoms with their times: every step, and the absorbing ones after the end of those that finished."""
    points = [*episodes]
    times = [_times(len(path), horizon) for path in episodes]
    weights = [np.ones(len(path), np.int64) for path in episodes]
    if shared is None:
        for path in finished:
            after = horizon - len(path)
            points.append(np.tile(path[-1], (after, 1)))
            times.append(_times(horizon, horizon)[len(path) :])
            weights.append(np.ones(after, np.int64))
    else:
        over = np.array([sum(len(path) <= step for path in finished) for step in range(horizon)])  # at each step
        there = np.flatnonzero(over)
        points.append(np.tile(shared, (len(there), 1)))
        times.append((there + 1) / horizon)
        weights.append(over[there].astype(np.int64))
    return Atoms(np.concatenate(points), np.concatenate(weights), np.concatenate(times), shared)


def _times(steps: int, horizon: int) -> np.ndarray:
    return np.arange(1, steps + 1) / horizon
