"""What the demonstrations say of a video: how far through the task each frame is, and what each step earns.

Needs no environment and no RL. A robot that acts is scored frame by frame, a video that is there at once:

    scorer = VideoScorer(Encoder.load("encoder.safetensors"), read("demonstrations"))
    for frame in camera:
        progress, reward = scorer.step(frame)
    scored = scorer.score(frames)

A video that ends before the horizon is taken to stay at its last frame, and so is a demonstration: a robot that is done
sooner goes on earning, one that stops half-way keeps using up the wrong part of the demonstrations.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vision_pwil.demonstrations import Demonstrations, read
from vision_pwil.demonstrations.options import Fit, Options
from vision_pwil.demonstrations.pictures import frame as fitted
from vision_pwil.demonstrations.pictures import picture_of
from vision_pwil.encoder import Encoder
from vision_pwil.rewards.pwil import Rewarder
from vision_pwil.system.errors import InputError
from vision_pwil.tasks.atoms import points_of, weighted
from vision_pwil.tasks.comparison import Comparison
from vision_pwil.tasks.videos import PIXELS
from vision_pwil.tcc.alignment import nearest

_EDGE = 0.05  # of a video: the share at either end whose median is its first and its last progress


class FrameScore(NamedTuple):
    """What is known of a frame as soon as it is there."""

    progress: float
    """How far through the task it is, 0 to 1."""
    reward: float
    """Of the step, eq. 7."""


@dataclass(frozen=True, eq=False)
class VideoScore:
    """What is known of a whole video."""

    progress: np.ndarray
    """Of each frame."""
    rewards: np.ndarray
    """Of each frame."""
    imitation_return: float
    """Sum of the rewards to the horizon. Sees which frames are visited and for how long; hardly sees their order."""
    w1: float
    """Exact Wasserstein distance to the demonstrations; sees the same."""

    @property
    def completed(self) -> float:
        """Progress at the end minus progress at the start: 1 for the whole task, 0 for standing still, -1 for undoing
        it. Sees nothing of what lies between."""
        edge = max(1, round(_EDGE * len(self.progress)))
        return float(np.median(self.progress[-edge:]) - np.median(self.progress[:edge]))

    @property
    def order(self) -> float:
        """Spearman's rank correlation of progress with time, 0 where nothing moves. Sees order alone."""
        if len(self.progress) < 2 or np.ptp(self.progress) == 0:
            return 0.0
        from scipy.stats import spearmanr  # imports slowly

        return float(spearmanr(np.arange(len(self.progress)), self.progress).statistic)


def progress(points: np.ndarray, demonstrations: Sequence[np.ndarray]) -> np.ndarray:
    """Where along the demonstrations each embedded frame lies, from 0 to 1.

    Each demonstration gives the time of its nearest frame, as a share of its own length; the median over them holds
    against one that is misled.
    """
    times = [nearest(points, shown) / max(1, len(shown) - 1) for shown in demonstrations]
    return np.asarray(np.median(times, axis=0))


class VideoScorer:
    """Scores videos by demonstrations, frame by frame or at once.

    Args:
        encoder: learned from such videos.
        demonstrations: episodes with frames.
        horizon: T, the frames of the longest video; by default those of the longest demonstration.
        fit: what becomes of a frame of another size than the encoder's, as when demonstrations are read.
    """

    def __init__(
        self, encoder: Encoder, demonstrations: Demonstrations, *, horizon: int | None = None, fit: Fit = "crop"
    ) -> None:
        if encoder.provenance.render_fingerprint != demonstrations.render_fingerprint:
            raise InputError(
                f"The encoder was trained on frames with render fingerprint {encoder.provenance.render_fingerprint}, "
                f"the demonstrations have {demonstrations.render_fingerprint}: its distances would mean nothing."
            )
        self.encoder = encoder
        self.horizon = horizon or max(map(len, demonstrations.episodes))
        self._options = Options(size=encoder.frame_shape[0], fit=fit)
        self._frames = [np.asarray(episode.frames) for episode in demonstrations.episodes]
        self._compare(points_of(demonstrations, "frames", encoder))

    def _compare(self, points: list[np.ndarray]) -> None:
        self._points = points
        atoms = weighted(points, [True] * len(points), self.horizon, "last")
        self._comparison = Comparison("pwil", PIXELS, atoms, self.horizon)
        reward = self._comparison.reward_of(1)
        assert isinstance(reward, Rewarder)
        self._rewarder = reward
        self.reset()

    def without(self, frames: np.ndarray) -> "VideoScorer":
        """The same, but for demonstrations that are this very video: compared with itself, it would be flattered."""
        kept = [index for index, shown in enumerate(self._frames) if not np.array_equal(shown, frames)]
        if len(kept) == len(self._frames):
            return self
        if not kept:
            raise InputError("A video that is the only demonstration can be compared with nothing else: give others.")
        other = copy.copy(self)
        other._frames = [self._frames[index] for index in kept]
        other._compare([self._points[index] for index in kept])
        return other

    def reset(self) -> None:
        """Begin a video."""
        self._rewarder.reset()

    def step(self, frame: np.ndarray) -> FrameScore:
        """The next frame, (height, width, 3) uint8, of any size."""
        if frame.shape != self.encoder.frame_shape:
            frame = fitted(picture_of(frame), self._options)
        point = self.encoder.embed(frame[None])
        return FrameScore(float(progress(point, self._points)[0]), self._rewarder.step(point[0]))

    def score(self, frames: np.ndarray) -> VideoScore:
        """A whole video, (n, height, width, 3) uint8 in the encoder's size. It ends what `step` has begun."""
        points = self.encoder.embed(frames)
        scored = self._comparison.score(points, absorbed=True)
        along = progress(points, self._points)
        return VideoScore(along, scored.rewards[: len(points)], float(scored.rewards.sum()), scored.w1)


def score(frames: np.ndarray, encoder: Encoder | str | Path, demonstrations: Demonstrations | str | Path) -> VideoScore:
    """Score one video, (n, height, width, 3) uint8, by an encoder and demonstrations or by the files that hold them."""
    if not isinstance(encoder, Encoder):
        encoder = Encoder.load(encoder)
    if not isinstance(demonstrations, Demonstrations):
        demonstrations = read(demonstrations, size=encoder.frame_shape[0])
    horizon = max(len(frames), *map(len, demonstrations.episodes))
    return VideoScorer(encoder, demonstrations, horizon=horizon).score(frames)
