"""Look at what a run has learned: `vision-pwil evaluate RUN` prints a table and films the policy."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from vision_pwil.commands.modules import import_modules
from vision_pwil.system import cli
from vision_pwil.system.errors import InputError
from vision_pwil.system.run import BEST, LATEST
from vision_pwil.system.settings import Count, Settings
from vision_pwil.system.table import table


@dataclass(frozen=True)
class Evaluate(Settings):
    """Play a policy of a run without exploration noise."""

    run: Annotated[Path, tyro.conf.Positional]
    """Directory of a training run."""
    episodes: Count = 10
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
    from vision_pwil.tasks import playback  # imports slowly, and --help needs none of it

    import_modules(config.imports)
    played = playback.evaluate(config.run, config.episodes, best=config.best)
    means = played.mean
    lines = [
        *zip(map(str, played.episodes), played.rows, strict=True),
        ("mean", means),
        ("deviation", played.deviation),
    ]
    print(table(("episode", *means), [(name, *(f"{value:.4g}" for value in row.values())) for name, row in lines]))
    print(f"The policy of step {played.step}; written to {played.file}.")
    if config.video:
        try:
            print(f"Video: {playback.film_run(config.run, BEST if config.best else LATEST, played.episodes[:3])}")
        except InputError as error:
            print(f"No video: {error}")


def main(args: Sequence[str], prog: str = "vision-pwil evaluate") -> None:
    """The command."""
    cli.run(evaluate, args=args, prog=prog, description=__doc__)
