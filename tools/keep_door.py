"""Keep what a run at the door learned in `results/door/NAME`.

    python -m vision_pwil.commands.evaluate RUN --episodes 50
    python -m tools.keep_door RUN NAME [--note "..."]

The folder gets `summary.json` (command, commit, seed, machine, the evaluation), the curve, the paper's panels, the
audit's picture, and stills of the first evaluation episode.
"""

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from PIL import Image

from benchmarks.report import commit, machine
from tools.keep_locomotion import STILLS, options, side_by_side
from vision_pwil import train_door
from vision_pwil.commands import evaluate, plot
from vision_pwil.system import cli
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import read_json, replacing, write_text
from vision_pwil.system.run import flatten

OUT = Path(__file__).resolve().parents[1] / "results" / "door"


@dataclass(frozen=True)
class Keep:
    """Keep a run of train_door."""

    run: Annotated[Path, tyro.conf.Positional]
    """Run directory, after `python -m vision_pwil.commands.evaluate`."""
    name: Annotated[str, tyro.conf.Positional]
    """Of the folder."""
    note: str = ""
    """What else should be known of the run."""
    commit: str | None = None
    """Of the code that ran; by default that of the work tree."""
    out: Path = OUT
    """Where the folder goes."""


def command_line(config: dict[str, Any]) -> str:
    """The command that gave a run its settings: what differs from its recipe's."""
    usual = flatten(json.loads(json.dumps(asdict(train_door.RECIPES[config["recipe"]]), default=str)))
    words = ["python -m vision_pwil.train_door"]
    for name in ("demos", "encoder"):
        if config[name] not in (usual[name], None):
            words.append(f"--{name} {Path(config[name]).name}")
    left_out = ("demos", "encoder", "run", "checksums.demonstrations", "checksums.encoder")
    return " ".join([*words, *options(config, usual, left_out)])


def stills(run: Path) -> Image.Image:
    """The first evaluation episode in large frames, some of them side by side."""
    frames = evaluate.Player(run).film(0).frames
    return side_by_side(frames[np.linspace(0, len(frames) - 1, STILLS).astype(int)])


def main(config: Keep) -> None:
    """Write the folder."""
    run, folder = config.run, config.out / config.name
    if not (run / "evaluation.json").exists():
        raise InputError(f"{run} was not evaluated yet: run `python -m vision_pwil.commands.evaluate {run}` first.")
    settings, at = read_json(run / "config.json"), commit(config.commit)
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("curve.csv", "audit.png"):
        if (run / name).exists():
            shutil.copyfile(run / name, folder / name)
    plot.draw(plot.Plot((run,), folder / "panels.png", interval=settings["training"]["evaluation_interval"]))
    with replacing(folder / "stills.png") as temporary:
        stills(run).save(temporary)
    summary = {
        "command": command_line(settings),
        "commit": at,
        "seed": settings["training"]["seed"],
        "machine": machine(),
        "checksums": settings["checksums"],
        "evaluation": read_json(run / "evaluation.json"),
        "note": config.note,
    }
    write_text(folder / "summary.json", json.dumps(summary, indent=2) + "\n")
    print(f"Kept in {folder}.")


if __name__ == "__main__":
    cli.run(main)
