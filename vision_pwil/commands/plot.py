"""The paper's figures from runs: `vision-pwil plot RUN...` draws returns, W1 and success over steps."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro

from vision_pwil.system import cli
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import replacing
from vision_pwil.system.run import NEEDED, Row, read_curve

PANELS = {
    "imitation return": ("return",),
    "Wasserstein distance": ("w1", "greedy_w1"),
    "success rate": ("opened", "success"),
    "task return": ("task_return",),
}
"""Drawn where every run has the numbers: success on the door, the task's return in locomotion."""
LABELS = {
    "w1": "exact",
    "greedy_w1": "greedy upper bound",
    "opened": "opened (ends the episode)",
    "success": "1.35 rad",
}
LEVELS = ("return", "w1")
"""Numbers that an audit tells of held-out demonstrations, too: a dashed line, the mean over the runs that know it."""
FEW = 20
"""Evaluations of which each is marked."""
RATES = ("opened", "success")
"""Shares of episodes: no band goes beyond 0 and 1."""


@dataclass(frozen=True)
class Plot:
    """Draw the learning curves of runs: the mean over them, and the standard deviation as a band."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Run directories, of different seeds."""
    out: Path = Path("runs/curves.png")
    """Picture to write; the suffix chooses the format."""


def aligned(curves: list[list[Row]], name: str) -> tuple[np.ndarray, np.ndarray]:
    """Steps, and values (runs, steps) of one number at them; runs end at the shortest.

    Evaluations happen at ends of episodes, which differ from run to run: the steps are those of all runs, and a run's
    values between its own are interpolated.
    """
    last = min(curve[-1]["step"] for curve in curves)
    steps = np.unique([row["step"] for curve in curves for row in curve if row["step"] <= last])
    return steps, np.array(
        [np.interp(steps, [row["step"] for row in curve], [row[name] for row in curve]) for curve in curves]
    )


def draw(config: Plot) -> None:
    """Draw, write, and say where."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter, MaxNLocator

    from vision_pwil.tasks.auditing import held_out_level  # imports slowly, and --help needs none of it

    if not config.runs:
        raise InputError("Name one or more run directories to plot.")
    curves = [read_curve(path, NEEDED) for path in config.runs]
    for path, curve in zip(config.runs, curves, strict=True):
        if len(curve) < 2:
            raise InputError(f"{path} has {len(curve)} evaluation so far, and a curve takes two: wait for the next.")
    known = [held_out_level(path) for path in config.runs]
    levels = [
        np.mean(found) if (found := [level[name] for level in known if name in level]) else None for name in LEVELS
    ]
    panels = {title: names for title, names in PANELS.items() if all(set(names) <= set(curve[0]) for curve in curves)}
    if "success rate" in panels:  # it says more than the task's own reward
        panels.pop("task return", None)
    if not panels:
        raise InputError("These runs have no number in common to draw.")
    figure = Figure(figsize=(13 / 3 * len(panels), 3.6), layout="constrained")
    grid = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, (title, names) in zip(grid, panels.items(), strict=True):
        for name in names:
            steps, values = aligned(curves, name)
            mean, deviation = values.mean(0), values.std(0)
            (line,) = axes.plot(steps, mean, "o-" if len(steps) < FEW else "-", label=LABELS.get(name))
            if len(curves) > 1:
                band = np.array([mean - deviation, mean + deviation])
                band = band.clip(0, 1) if name in RATES else band
                axes.fill_between(steps, *band, alpha=0.2, color=line.get_color())
        for name, level in zip(LEVELS, levels, strict=True):
            if name in names and level is not None:
                axes.axhline(level, color="black", linestyle="--", linewidth=1, label="held-out demonstrations")
        axes.set(title=title, xlabel="environment steps")
        axes.xaxis.set_major_locator(MaxNLocator(6))
        axes.xaxis.set_major_formatter(EngFormatter())
        axes.grid(alpha=0.3)
        if axes.get_legend_handles_labels()[1]:
            axes.legend(fontsize="small")
    if len(curves) > 1:
        figure.suptitle(f"mean and standard deviation of {len(curves)} runs", fontsize="small")
    with replacing(config.out) as temporary:
        figure.savefig(temporary, dpi=120)
    print(f"Written to {config.out}")


def main(args: Sequence[str], prog: str = "vision-pwil plot") -> None:
    """The command."""
    cli.run(draw, args=args, prog=prog, description=__doc__)
