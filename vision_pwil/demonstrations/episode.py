"""The types: an episode of an expert, and a set of episodes that belong together."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vision_pwil.system.errors import InputError

Array = NDArray[Any]
LARGEST = float(np.sqrt(np.finfo(np.float32).max))
"""Distances square their numbers, and networks compute in float32: what is larger overflows there."""


def vector_dtype(array: Array) -> type[np.floating[Any]]:
    """What the numbers of a state or an action are kept as: float32 where they are that already, else float64."""
    return np.float32 if array.dtype.kind == "f" and array.dtype.itemsize == 4 else np.float64


def _vectors(name: str, value: Any) -> Array:
    """One row of finite numbers for each step."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiu" or array.ndim != 2 or 0 in array.shape:
        raise InputError(f"The {name} must be one row of numbers per step, not {array.dtype} of shape {array.shape}.")
    with np.errstate(over="ignore"):  # what overflows is infinite, and refused next
        array = np.ascontiguousarray(array, vector_dtype(array))
    if not np.isfinite(array).all():
        row = int(np.argmin(np.isfinite(array).all(axis=1)))
        raise InputError(f"The {name} hold NaN or infinity at step {row}.")
    if (largest := max(array.max(), -array.min())) > LARGEST:
        row = int(np.argmax(np.abs(array).max(axis=1)))
        raise InputError(f"The {name} hold {largest:.3g} at step {row}, and numbers beyond {LARGEST:.2g} overflow.")
    return array


def _images(value: Any) -> Array:
    array = np.asarray(value)
    if array.dtype != np.uint8 or array.ndim != 4 or array.shape[3] != 3 or 0 in array.shape:
        raise InputError(f"The frames must be uint8 of shape (n, height, width, 3), not {array.dtype} {array.shape}.")
    return np.ascontiguousarray(array)


@dataclass(frozen=True, eq=False)
class Episode:
    """What is known of one episode; a part that is not known is None."""

    states: Array | None = None
    """(n, S): the observation at which action t was taken."""
    actions: Array | None = None
    """(n, A)"""
    frames: Array | None = None
    """(n, height, width, 3) uint8, one for each step; for the door, rendered from the state after the step."""
    initial_state: dict[str, Array] | None = None
    """The simulator's state before the first action, for replay; for the door: qpos, qvel and door_body_pos."""
    absorbing: bool = False
    """The episode ended early, so its last frame or state stands for all the steps up to the horizon."""
    name: str | None = None
    """What its source calls it: an index, a key, a video's file name. For people; not part of the checksum."""
    task: str | None = None
    """What is done in it, in words, where the source says so. For people; not part of the checksum."""

    def __post_init__(self) -> None:
        """Check every part, and bring it to one dtype and layout."""
        for name in ("states", "actions"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _vectors(name, getattr(self, name)))
        if self.frames is not None:
            object.__setattr__(self, "frames", _images(self.frames))
        if self.initial_state is not None:
            state = {
                key: _vectors(f"initial {key}", np.asarray(value)[None])[0] for key, value in self.initial_state.items()
            }
            object.__setattr__(self, "initial_state", state)
        lengths = {name: len(part) for name, part in self.parts() if not name.startswith("initial_state/")}
        if not lengths:
            raise InputError("An episode needs states, actions or frames.")
        if len(set(lengths.values())) > 1:
            counts = ", ".join(f"{length} {name}" for name, length in lengths.items())
            raise InputError(f"The parts of an episode must have one entry per step, but there are {counts}.")

    def __len__(self) -> int:
        """Steps."""
        return len(next(part for _, part in self.parts()))

    def parts(self) -> Iterator[tuple[str, Array]]:
        """The arrays that are present, by name, in a fixed order."""
        for name in ("states", "actions", "frames"):
            if getattr(self, name) is not None:
                yield name, getattr(self, name)
        for key in sorted(self.initial_state or {}):
            yield f"initial_state/{key}", (self.initial_state or {})[key]

    def take(self, steps: Array) -> "Episode":
        """The episode at these steps only; it stays absorbing if the last step is among them."""
        states, actions, frames = (
            None if part is None else part[steps] for part in (self.states, self.actions, self.frames)
        )
        last = len(steps) > 0 and int(steps[-1]) == len(self) - 1
        return replace(self, states=states, actions=actions, frames=frames, absorbing=self.absorbing and last)


@dataclass(frozen=True, eq=False)
class Demonstrations:
    """Episodes of one task, from one source."""

    episodes: tuple[Episode, ...]
    env_id: str | None = None
    """The Gymnasium environment they belong to, where known."""
    source: str = ""
    """Where they came from, for people; not part of the checksum."""
    render_fingerprint: str | None = None
    """`RenderSettings.fingerprint` of the frames; None for frames that this package did not render."""
    rate: float | None = None
    """Steps a second, where known. This and what follows is for people, and not part of the checksum."""
    camera: str | None = None
    """The camera that the frames are from, where it has a name."""
    cameras: tuple[str, ...] = ()
    """All the cameras of the source."""
    state_parts: tuple[tuple[str, int], ...] = ()
    """Name and width of each part that the states were put together from, in their order; where parts have names."""
    origin: str | None = None
    """Checksum of the demonstrations that these were rendered from: another MuJoCo draws a few pixels otherwise, and
    they are still the same."""

    def __post_init__(self) -> None:
        """Episodes that belong together agree on the shape of a state, an action, and a frame."""
        object.__setattr__(self, "episodes", tuple(self.episodes))
        if not self.episodes:
            raise InputError("There are no episodes.")
        shapes: dict[str, tuple[int, ...]] = {}
        for number, episode in enumerate(self.episodes):
            for name, part in episode.parts():
                shape = part.shape if name.startswith("initial_state/") else part.shape[1:]
                if shapes.setdefault(name, shape) != shape:
                    raise InputError(f"The {name} of episode {number} are {shape}, of those before it {shapes[name]}.")

    def __len__(self) -> int:
        """Episodes."""
        return len(self.episodes)

    @property
    def identity(self) -> str:
        """Which demonstrations these are: the checksum of what they were rendered from, else their own."""
        return self.origin or self.checksum

    @cached_property
    def checksum(self) -> str:
        """SHA-256 over the content: every array with its name, dtype and shape, and what the frames depend on."""
        digest = hashlib.sha256(json.dumps([self.env_id, self.render_fingerprint, len(self)]).encode())
        for episode in self.episodes:
            described = [[name, part.dtype.str, part.shape] for name, part in episode.parts()]
            digest.update(json.dumps([episode.absorbing, described]).encode())
            for _, part in episode.parts():
                digest.update(part.data)
        return digest.hexdigest()

    def has(self, part: str) -> bool:
        """Whether every episode has this part (a field of Episode)."""
        return all(getattr(episode, part) is not None for episode in self.episodes)

    def require(self, part: str) -> None:
        """Raise one clear sentence unless every episode has this part (a field of Episode)."""
        for number, episode in enumerate(self.episodes):
            if getattr(episode, part) is None:
                where = f" from {self.source}" if self.source else ""
                raise InputError(f"Episode {number} of the demonstrations{where} has no {part}, which this needs.")

    def save(self, path: str | Path) -> None:
        """Write the package's own format (docs/format.md)."""
        from vision_pwil.demonstrations import format

        format.save(self, path)

    @staticmethod
    def load(path: str | Path) -> "Demonstrations":
        """Read the package's own format; `vision_pwil.demonstrations.read` reads the others too."""
        from vision_pwil.demonstrations import format

        return format.load(path)


def adroit_env_id(episodes: Sequence[Episode]) -> str | None:
    """The Adroit task of episodes whose file does not name it: only the door has a door's position in its state."""
    known = all("door_body_pos" in (episode.initial_state or {}) for episode in episodes)
    return "vision_pwil/AdroitDoor-v0" if known and episodes else None
