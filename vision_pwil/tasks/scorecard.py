"""Scores of many videos beside those of held-out demonstrations: a ranking, and what is written of it.

Videos are ranked by `score`, the product of two figures that see different things. Likeness is the imitation return as
a share of the held-out demonstrations': which frames are visited, and for how long. Completed is the part of the task
that the video goes through: whether it ends further on than it began. A video played backwards visits the right frames
and completes nothing; one that jumps to the end completes the task and is like no demonstration.
"""

import csv
import hashlib
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from PIL import Image, ImageDraw

from vision_pwil.demonstrations import Demonstrations, Episode
from vision_pwil.encoder import Encoder
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import replacing, write_json, write_text
from vision_pwil.system.mp4 import write_mp4
from vision_pwil.system.progress import progress
from vision_pwil.system.table import table
from vision_pwil.tasks.auditing import hold_out
from vision_pwil.tasks.scoring import VideoScore, VideoScorer

SCORES, RANKING, FILMS = "scores.json", "ranking.csv", "films"
COLUMNS = ("rank", "video", "kind", "frames", "score", "likeness", "completed", "order", "imitation_return", "w1")
RATE = 25.0
"""Frames a second of a film where the video does not say."""
_SMALLEST, _BAR = 320, 20  # pixels: the least width of a film, and the height of the bar under it
Kind = Literal["held-out demonstration", "demonstration", "video"]


@dataclass(frozen=True, eq=False)
class Line:
    """One video and its scores."""

    name: str
    kind: Kind
    frames: np.ndarray
    """As the encoder sees them."""
    rate: float
    """Frames a second."""
    scored: VideoScore
    likeness: float
    """Imitation return over the mean of held-out demonstrations."""

    @property
    def score(self) -> float:
        """What videos are ranked by: likeness times the completed part of the task, none where it is undone."""
        return self.likeness * max(0.0, self.scored.completed)

    def cells(self, rank: int) -> tuple[object, ...]:
        """The line as `COLUMNS` has it."""
        figures = (self.score, self.likeness, self.scored.completed, self.scored.order)
        returns = f"{self.scored.imitation_return:.1f}", f"{self.scored.w1:.4f}"
        return rank, self.name, self.kind, len(self.scored.progress), *(f"{figure:.3f}" for figure in figures), *returns


@dataclass(frozen=True, eq=False)
class Scorecard:
    """All lines: held-out demonstrations that are not among the videos, then the videos in their order."""

    lines: tuple[Line, ...]
    horizon: int

    @property
    def ranked(self) -> list[Line]:
        """The best first."""
        return sorted(self.lines, key=lambda line: -line.score)

    @property
    def held_out(self) -> list[Line]:
        """The lines of held-out demonstrations."""
        return [line for line in self.lines if line.kind == "held-out demonstration"]

    def table(self) -> str:
        """The ranking, for people."""
        return table(COLUMNS, [line.cells(rank) for rank, line in enumerate(self.ranked, start=1)])

    def csv(self) -> str:
        """The ranking, for programs."""
        text = io.StringIO()
        rows = [line.cells(rank) for rank, line in enumerate(self.ranked, start=1)]
        csv.writer(text, lineterminator="\n").writerows([COLUMNS, *rows])
        return text.getvalue()


def compare(encoder: Encoder, demonstrations: Demonstrations, videos: Sequence[Demonstrations]) -> Scorecard:
    """Score videos and held-out demonstrations by the other demonstrations.

    A video that is itself one of these is compared with the rest of them.
    """
    shown, _, others = hold_out(demonstrations, encoder)
    for source in videos:
        source.require("frames")
        if source.render_fingerprint not in (None, demonstrations.render_fingerprint):
            raise InputError(
                f"{source.source} was rendered with other settings than the demonstrations: render it alike."
            )
    named = {key(episode.frames) for source in videos for episode in source.episodes}
    kept = [episode for episode in others.episodes if key(episode.frames) not in named]
    every = [(episode, demonstrations) for episode in kept]
    every += [(episode, source) for source in videos for episode in source.episodes]
    horizon = max(len(episode) for episode in (*demonstrations.episodes, *(episode for episode, _ in every)))
    scorer = VideoScorer(encoder, shown, horizon=horizon)
    kinds: dict[str, Kind] = {key(episode.frames): "demonstration" for episode in shown.episodes}
    kinds |= {key(episode.frames): "held-out demonstration" for episode in others.episodes}
    scored = []
    for episode, _ in progress(every, desc="scoring", unit="video", leave=False):
        frames = np.asarray(episode.frames)
        scored.append((frames, kinds.get(key(frames), "video"), scorer.without(frames).score(frames)))
    level = float(np.mean([each.imitation_return for _, kind, each in scored if kind == "held-out demonstration"]))
    lines = (
        Line(_name(episode, source), kind, frames, source.rate or RATE, each, each.imitation_return / level)
        for (episode, source), (frames, kind, each) in zip(every, scored, strict=True)
    )
    return Scorecard(tuple(lines), horizon)


def key(frames: Any) -> str:
    """Tells videos apart by their frames."""
    return hashlib.sha256(np.ascontiguousarray(frames).data).hexdigest()


def _name(episode: Episode, source: Demonstrations) -> str:
    number = next(number for number, each in enumerate(source.episodes) if each is episode)
    return episode.name or f"{source.source} {number}"


def write(card: Scorecard, folder: Path) -> None:
    """Keep the scores as CSV, as JSON and as a picture."""
    write_text(folder / RANKING, card.csv())
    videos = [
        {
            **dict(zip(COLUMNS, line.cells(rank), strict=True)),
            "rate": line.rate,
            "film": _film_name(card, line),
            "progress": [round(float(value), 4) for value in line.scored.progress],
            "rewards": [round(float(value), 4) for value in line.scored.rewards],
        }
        for rank, line in enumerate(card.ranked, start=1)
    ]
    write_json(folder / SCORES, {"horizon": card.horizon, "videos": videos})
    draw(card, folder / "progress.png")


def write_films(card: Scorecard, folder: Path, larger: Mapping[str, np.ndarray]) -> None:
    """Write every video with a running progress bar; `larger` has larger frames of some, by `key` of the small ones."""
    for line in progress(card.lines, desc="writing films", unit="video", leave=False):
        frames = larger.get(key(line.frames), line.frames)
        film(frames, line.scored.progress, folder / _film_name(card, line), line.rate)


def _film_name(card: Scorecard, line: Line) -> str:
    return f"{FILMS}/{card.lines.index(line):03d}.mp4"


def draw(card: Scorecard, path: Path) -> None:
    """Progress of every video over time; held-out demonstrations in green."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.2), layout="constrained")
    axes = figure.add_subplot(xlabel="seconds", ylabel="progress through the task")
    several = len(card.lines) > 10
    for number, line in enumerate(card.lines):
        held_out = line.kind == "held-out demonstration"
        look: dict[str, Any] = {"color": "tab:green", "linestyle": "--"} if held_out else {"color": f"C{number % 10}"}
        times = np.arange(len(line.scored.progress)) / line.rate
        label = None if several else f"{line.name} ({line.kind})"
        axes.plot(times, line.scored.progress, label=label, linewidth=1.2, alpha=0.8, **look)
    axes.set_ylim(-0.02, 1.02)
    axes.grid(alpha=0.3)
    if several:
        axes.set_title("green, dashed: held-out demonstrations", fontsize="small")
    else:
        axes.legend(fontsize="small")
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=110)


def film(frames: np.ndarray, progress: Iterable[float], path: Path, rate: float) -> None:
    """Write a video with a running bar of its progress under it."""
    times = max(1, -(-_SMALLEST // frames.shape[2]))
    write_mp4(path, (_with_bar(frame, value, times) for frame, value in zip(frames, progress, strict=True)), rate)


def _with_bar(frame: np.ndarray, value: float, times: int) -> np.ndarray:
    """A frame, so many times as large, with a bar under it."""
    height, width = (2 * (size * times // 2) for size in frame.shape[:2])
    picture = Image.new("RGB", (width, height + _BAR), (32, 32, 32))
    picture.paste(Image.fromarray(frame).resize((width, height), Image.Resampling.BICUBIC))
    draw = ImageDraw.Draw(picture)
    draw.rectangle((0, height, round(value * (width - 1)), height + _BAR - 1), fill=(46, 160, 67))
    draw.text((6, height + 4), f"{value:.0%}", fill=(255, 255, 255))
    return np.asarray(picture)
