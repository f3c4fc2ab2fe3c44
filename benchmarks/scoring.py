"""Does a score see what is wrong with a video? Held-out ones, whole and spoiled, scored by an encoder of the others.

    vision-pwil encoder train --demos DEMOS --out RUN
    python -m benchmarks.scoring --run RUN --demos DEMOS --out results/NAME

Each video that the encoder did not learn from is scored whole, played backwards, frozen part of the way (the rest is
its last frame) and cut there.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.report import write_report
from vision_pwil.demonstrations import Demonstrations, read
from vision_pwil.demonstrations.contact_sheet import contact_sheet
from vision_pwil.encoder import Encoder
from vision_pwil.system import cli
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import read_json, replacing, write_text
from vision_pwil.system.table import table
from vision_pwil.tasks.scorecard import Line, Scorecard, compare
from vision_pwil.tcc import pictures
from vision_pwil.tcc.alignment import nearest

FRACTIONS = {"a quarter": 0.25, "half": 0.5, "three quarters": 0.75}
FIGURES: dict[str, Callable[[Line], float]] = {
    "score": lambda line: line.score,
    "likeness": lambda line: line.likeness,
    "completed": lambda line: line.scored.completed,
    "order": lambda line: line.scored.order,
    "imitation return": lambda line: line.scored.imitation_return,
    "W1": lambda line: line.scored.w1,
}


@dataclass(frozen=True)
class Config:
    """What to score, and where the results go."""

    run: Path
    """Run of `vision-pwil encoder train`."""
    demos: Path
    """The videos that it learned from."""
    out: Path
    """Folder for the results."""


def spoiled(frames: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """What is not the task, made of a video that is."""
    yield "played backwards", frames[::-1]
    for name, fraction in FRACTIONS.items():
        end = round(fraction * len(frames))
        yield f"frozen at {name}", frames[np.arange(len(frames)).clip(max=end - 1)]
        yield f"cut at {name}", frames[:end]


def groups(card: Scorecard) -> dict[str, list[Line]]:
    """Lines by what was done to the video."""
    found: dict[str, list[Line]] = {}
    for line in card.lines:
        found.setdefault("whole" if line.kind != "video" else line.name.split(", ")[1], []).append(line)
    return found


def draw(card: Scorecard, path: Path) -> None:
    """Progress of the whole videos, and of one of them spoiled."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4), layout="constrained")
    whole, changed = figure.subplots(1, 2, sharey=True)
    first = card.held_out[0].name
    for line in card.lines:
        times = np.arange(len(line.scored.progress)) / line.rate
        if line.kind != "video":
            whole.plot(times, line.scored.progress, label=f"episode {line.name}")
        if line.name == first or (line.name.startswith(f"{first}, ") and "cut" not in line.name):
            changed.plot(times, line.scored.progress, label=line.name.partition(", ")[2] or "whole")
    whole.set(title="held-out episodes", xlabel="seconds", ylabel="progress through the task", ylim=(-0.02, 1.02))
    changed.set(title=f"episode {first}, whole and spoiled", xlabel="seconds")
    for axes in (whole, changed):
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=100)


def main(config: Config) -> None:
    """Score, draw, and write."""
    encoder, demonstrations = Encoder.load(config.run / "encoder.safetensors"), read(config.demos)
    if encoder.provenance.demonstrations != demonstrations.checksum:
        raise InputError(f"The encoder in {config.run} did not learn from {config.demos}: name its own videos.")
    held_out = [demonstrations.episodes[index] for index in encoder.provenance.validation]
    videos = Demonstrations(
        tuple(
            replace(episode, frames=frames, states=None, actions=None, name=f"{episode.name}, {what}")
            for episode in held_out
            for what, frames in spoiled(np.asarray(episode.frames))
        ),
        rate=demonstrations.rate,
    )
    card = compare(encoder, demonstrations, [videos])
    write_text(config.out / "ranking.csv", card.csv())
    draw(card, config.out / "progress.png")
    first, second = (np.asarray(episode.frames) for episode in held_out[:2])
    embedded = encoder.embed(first), encoder.embed(second)
    names = " and ".join(f"episode {episode.name}" for episode in held_out[:2])
    pictures.save(pictures.distances(*embedded, names), config.out / "distances.png")
    strip = Image.fromarray(pictures.strip(first, second, nearest(*embedded)))
    sheet = contact_sheet(replace(demonstrations, episodes=tuple(held_out)), columns=10)
    for name, picture in (("strip.jpg", strip), ("contact-sheet.jpg", sheet)):
        with replacing(config.out / name) as temporary:
            picture.save(temporary, quality=85)
    rows: dict[str, dict[str, Any]] = {
        name: {figure: [float(of(line)) for line in lines] for figure, of in FIGURES.items()}
        for name, lines in groups(card).items()
    }
    cells = [(name, *(_spread(values) for values in row.values())) for name, row in rows.items()]
    training, about = read_json(config.run / "config.json"), encoder.provenance
    summary = {
        "seed": training["seed"],
        "finished": read_json(config.run / "summary.json")["finished"],
        "best": {name: asdict(about)[name] for name in ("updates", "tau_train", "tau_validation")},
        "held_out": [episode.name for episode in held_out],
        "horizon": card.horizon,
        "groups": rows,
    }
    lines = table(("video", *FIGURES), cells).splitlines()
    write_report(config.out, "Held-out videos, whole and spoiled", lines, summary, "benchmarks.scoring")


def _spread(values: list[float]) -> str:
    """Mean, and lowest to highest."""
    digits = 0 if max(map(abs, values)) > 10 else 2
    return f"{np.mean(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


if __name__ == "__main__":
    cli.run(main)
