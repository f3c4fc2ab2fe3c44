"""Compare runs at the door that differ in one setting, from their TensorBoard files: `results/door/ablations`.

    python -m tools.keep_ablations RUN... [--steps 100000] [--commit HASH]

For each run: its settings that differ from the recipe's, how many of its training episodes opened the door within the
first steps and when the first one did, and what the last of them earned.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import tyro
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from benchmarks.report import commit, machine
from tools.keep import command_line
from vision_pwil.system import cli
from vision_pwil.system.files import read_json, write_text
from vision_pwil.system.run import events
from vision_pwil.system.table import table

LAST = 20_000
"""Steps at the end whose episodes' return is averaged."""


@dataclass(frozen=True)
class KeepAblations:
    """Keep a comparison of runs at the door."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Run directories."""
    steps: int = 100_000
    """What happened within so many environment steps counts."""
    commit: str | None = None
    """Of the code that ran; by default that of the work tree."""
    out: Path = Path("results/door/ablations")
    """Where the table goes."""


class Openings(NamedTuple):
    """The training episodes of a run."""

    episodes: int
    opened: int
    first_opening: int | None
    """Environment steps until then."""
    last_return: float
    """Mean imitation return of the last episodes."""


def openings(run: Path, steps: int) -> Openings:
    """What the episodes that ended within so many steps came to."""
    board = EventAccumulator(str(events(run)), size_guidance={"scalars": 0})
    board.Reload()
    columns = []
    for name in ("train/opened", "train/return"):
        scalars = [scalar for scalar in board.Scalars(name) if scalar.step <= steps]
        columns.append(np.array([scalar.value for scalar in scalars]))
    at = np.array([scalar.step for scalar in scalars])
    opened, returns = columns
    first = int(at[opened > 0][0]) if opened.any() else None
    return Openings(len(at), int(opened.sum()), first, float(returns[at > steps - LAST].mean()))


def main(config: KeepAblations) -> None:
    """Write the table and the summary."""
    rows, summary = [], []
    for run in config.runs:
        command, seen = command_line(read_json(run / "config.json")), openings(run, config.steps)
        first = None if seen.first_opening is None else f"{seen.first_opening:,}"
        rows.append((f"`{command}`", seen.episodes, seen.opened, first, f"{seen.last_return:.0f}"))
        summary.append({"command": command, **seen._asdict()})
    title = f"Training episodes of the first {config.steps:,} steps"
    header = ("command", "episodes", "opened", "first opening", f"return, last {LAST:,} steps")
    about: dict[str, Any] = {"commit": commit(config.commit), "machine": machine(), "steps": config.steps}
    write_text(config.out / "table.md", f"# {title}\n\n{table(header, rows)}\n")
    write_text(config.out / "summary.json", json.dumps({**about, "runs": summary}, indent=2) + "\n")
    print(f"Kept in {config.out}.")


if __name__ == "__main__":
    cli.run(main)
