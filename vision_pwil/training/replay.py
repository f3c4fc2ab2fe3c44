"""Experience: n-step transitions of episodes, a ring of them in memory, and append-only segments of it on disk."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from vision_pwil.agents.protocol import Batch
from vision_pwil.rewards.reward import fold_absorbing
from vision_pwil.system import checkpoint, machine
from vision_pwil.system.errors import InputError


class Transitions(NamedTuple):
    """Rows of the replay, float32; the first fields are those of `Batch`."""

    observation: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    discount: np.ndarray
    next_observation: np.ndarray
    unpaced: np.ndarray
    """The reward without pace, the same where there is none."""


def n_step_transitions(
    observations: np.ndarray,
    actions: np.ndarray,
    rewards: np.ndarray,
    *,
    terminal: bool,
    gamma: float,
    n: int = 1,
    every: int = 1,
    unpaced: np.ndarray | None = None,
) -> Transitions:
    """Transitions of one episode of L steps; near its end, sums are over the steps that there are.

    Args:
        observations: (L + 1, S), the last one after the last action.
        actions: (L, A).
        rewards: (L,), or more: those of the absorbing steps that follow early termination. Their discounted sum is
            known when the episode ends, so it is paid with the last reward, and the learner gets it exactly.
        terminal: nothing follows the last observation; otherwise its value is bootstrapped.
        gamma: discount factor.
        n: steps in a return.
        every: keep the transitions of one step in so many, those at which an action was chosen that is held between.
        unpaced: rewards without pace, where they differ.
    """
    length = len(actions)
    last = np.minimum(np.arange(length) + n, length)
    discount = gamma ** (last - np.arange(length))
    if terminal:
        discount[last == length] = 0.0
    observations = np.asarray(observations, dtype=np.float32)
    return Transitions(
        observations[:-1:every],
        np.asarray(actions[::every], dtype=np.float32),
        _returns(rewards, length, gamma, n)[::every],
        discount[::every].astype(np.float32),
        observations[last[::every]],
        _returns(rewards if unpaced is None else unpaced, length, gamma, n)[::every],
    )


def _returns(rewards: np.ndarray, length: int, gamma: float, n: int) -> np.ndarray:
    """Discounted sums of n rewards from each of `length` steps, float32."""
    rewards, sums = fold_absorbing(rewards, length, gamma), np.zeros(length)
    for k in range(min(n, length)):
        sums[: length - k] += gamma**k * rewards[k:]
    return sums.astype(np.float32)


def require_memory(capacity: int, observation_size: int, action_size: int) -> None:
    """Refuse a replay that this machine cannot hold."""
    needed, there = 4 * capacity * (2 * observation_size + action_size + 3), machine.memory()
    if needed > there:
        raise InputError(
            f"--replay-capacity {capacity:,} takes {needed / 2**30:,.0f} GiB of memory, and there are "
            f"{there / 2**30:,.0f} GiB: give at most {capacity * there // (2 * needed):,}."
        )


class Replay:
    """The last `capacity` transitions, sampled uniformly with a random state of its own.

    On disk every transition is written once: `save` appends what came since the last `save` as one segment file.
    """

    def __init__(self, capacity: int, observation_size: int, action_size: int, seed: int) -> None:
        require_memory(capacity, observation_size, action_size)
        self.capacity = capacity
        self.count = 0  # transitions ever added
        self.rng = np.random.default_rng(seed)
        self._rows = Transitions(
            np.empty((capacity, observation_size), np.float32),
            np.empty((capacity, action_size), np.float32),
            np.empty(capacity, np.float32),
            np.empty(capacity, np.float32),
            np.empty((capacity, observation_size), np.float32),
            np.empty(capacity, np.float32),
        )
        *batch, self._unpaced = map(torch.from_numpy, self._rows)
        self._tensors = Batch(*batch)
        self.pace_weight = 1.0  # of the reward with pace in what is sampled, beside the one without
        self._saved = 0

    def __len__(self) -> int:
        return min(self.count, self.capacity)

    def add(self, transitions: Transitions) -> None:
        """Append transitions; the oldest give way."""
        indices = self._slots(self.count, self.count + len(transitions.reward))
        for rows, values in zip(self._rows, transitions, strict=True):
            rows[indices] = values[-len(indices) :]
        self.count += len(transitions.reward)

    @property
    def oldest(self) -> int:
        """The first transition still there, in the count of all ever added."""
        return max(0, self.count - self.capacity)

    def sample(self, size: int, among: np.ndarray | None = None) -> Batch:
        """Independent uniform draws, of all transitions or `among` some, numbered by the count of all ever added."""
        drawn = self.rng.integers(len(self) if among is None else len(among), size=size)
        indices = torch.from_numpy(drawn if among is None else among[drawn] % self.capacity)
        batch = Batch(*(tensor.index_select(0, indices) for tensor in self._tensors))
        if self.pace_weight < 1.0:
            unpaced = self._unpaced.index_select(0, indices)
            batch = batch._replace(reward=torch.lerp(unpaced, batch.reward, self.pace_weight))
        return batch

    def save(self, folder: Path) -> None:
        """Write what was added since the last save.

        Segments are removed once the last save no longer reached back to them: until this one's checkpoint is
        written too, the checkpoint of the last save is the one that counts.
        """
        for path, (_, end) in _segments(folder).items():
            if end <= self._saved - self.capacity:
                path.unlink()
        first = max(self._saved, self.oldest)
        if self.count > first:
            indices = self._slots(first, self.count)
            rows = {name: torch.from_numpy(rows[indices]) for name, rows in self._rows._asdict().items()}
            name = f"{first:012d}-{self.count:012d}"
            checkpoint.save(folder / f"{name}.safetensors", rows, {"segment": name})
        self._saved = self.count

    def load(self, folder: Path, count: int) -> None:
        """Return to the first `count` transitions as saved; segments beyond them, of a later moment, are removed."""
        self.count = max(0, count - self.capacity)
        for path, (start, end) in sorted(_segments(folder).items(), key=lambda item: item[1]):
            if start >= count:
                path.unlink()
            elif end > self.count:
                if start > self.count or end > count:
                    break
                skip = self.count - start
                self.add(Transitions(*(rows[skip:] for rows in self._segment(path, end - start))))
        if self.count != count:
            raise InputError(
                f"The replay in {folder} ends at transition {self.count}, its checkpoint says {count}: "
                "copy the missing files back, or begin a new run."
            )
        self._saved = count

    def _segment(self, path: Path, count: int) -> Transitions:
        """The rows of a segment file, if they are rows of this replay."""
        tensors, values = checkpoint.load(path, "segment of a replay")
        found = {name: (tensor.dtype, tuple(tensor.shape)) for name, tensor in tensors.items()}
        meant = {name: (torch.float32, (count, *rows.shape[1:])) for name, rows in self._rows._asdict().items()}
        if found != meant or values != {"segment": path.stem}:
            raise InputError(f"{path} is not a segment of this replay: copy the run anew, or begin a new one.")
        return Transitions(**{name: tensor.numpy() for name, tensor in tensors.items()})

    def _slots(self, start: int, end: int) -> np.ndarray:
        return np.arange(max(start, end - self.capacity), end) % self.capacity


def _segments(folder: Path) -> dict[Path, tuple[int, int]]:
    """Segment files and the range of transitions that each holds, which is their name."""
    result = {}
    for path in folder.glob("*-*.safetensors"):
        start, _, end = path.stem.partition("-")
        if start.isdecimal() and end.isdecimal():
            result[path] = (int(start), int(end))
    return result
