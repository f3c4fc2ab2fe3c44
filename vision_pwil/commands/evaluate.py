"""Look at what a run has learned: `vision-pwil evaluate RUN` prints a table and films the policy."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro
from tqdm import tqdm

from vision_pwil.commands.modules import import_modules
from vision_pwil.system import cli
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import read_json, write_json
from vision_pwil.system.run import BEST, EVALUATIONS, LATEST
from vision_pwil.system.table import table
from vision_pwil.tasks.playback import Playback, film_run


@dataclass(frozen=True)
class Evaluate:
    """Play a policy of a run without exploration noise."""

    run: Annotated[Path, tyro.conf.Positional]
    """Directory of a training run."""
    episodes: int = 10
    """Episodes to play; the first are those of the run's own evaluations."""
    best: bool = False
    """Play not the latest policy but the best by imitation return (an expert's: task return), in episodes that come
    after those of the run's own evaluations: it was selected by these, so they would flatter it."""
    video: bool = True
    """Film the first three in large frames."""
    imports: Annotated[tuple[str, ...], tyro.conf.arg(name="import", metavar="MODULE")] = ()
    """Modules that register the run's environment: what a run directory names is never imported by itself."""


def evaluate(config: Evaluate) -> None:
    """Play, print a table, and film."""
    if config.episodes < 1:
        raise InputError(f"--episodes must be at least 1, not {config.episodes}.")
    import_modules(config.imports)
    policy = BEST if config.best else LATEST
    playback = Playback(config.run, policy)
    first = read_json(config.run / "config.json")["training"]["evaluation_episodes"] if config.best else 0
    indices = range(first, first + config.episodes)
    played = (playback.play(index) for index in tqdm(indices, "playing", unit="episode", leave=False))
    rows = [playback.stage.measure(trajectory) for trajectory in played]
    means = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    deviations = {name: float(np.std([row[name] for row in rows])) for name in rows[0]}
    lines = [*zip(map(str, indices), rows, strict=True), ("mean", means), ("deviation", deviations)]
    print(table(("episode", *means), [(name, *(f"{value:.4g}" for value in row.values())) for name, row in lines]))
    summary = {"step": playback.step, "episodes": config.episodes, "mean": means, "deviation": deviations}
    out = config.run / EVALUATIONS[policy]
    write_json(out, summary)
    print(f"The policy of step {playback.step}; written to {out}.")
    if config.video:
        try:
            print(f"Video: {film_run(config.run, policy, indices[:3])}")
        except InputError as error:
            print(f"No video: {error}")


def main(args: Sequence[str], prog: str = "vision-pwil evaluate") -> None:
    """The command."""
    cli.run(evaluate, args=args, prog=prog, description=__doc__)
