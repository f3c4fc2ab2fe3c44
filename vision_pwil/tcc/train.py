"""Learn a frame encoder from videos: `python -m vision_pwil.tcc.train --demos ... --out ...`.

Works on any demonstrations with frames (a folder of videos too); those of the door are rendered first. The folder
`--out` gets `encoder.safetensors` (the encoder with the highest validation tau so far), `curve.csv`, `summary.json`,
TensorBoard events, and a checkpoint from which the same command goes on, bit for bit, after an interruption.
"""

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import tyro

from vision_pwil.system import cli
from vision_pwil.system.run import board
from vision_pwil.tcc.recipes import RECIPES
from vision_pwil.tcc.settings import TrainConfig

if TYPE_CHECKING:
    from vision_pwil.tcc.session import Session


def describe(session: "Session") -> str:
    """Where the outcome lies, and how to look at it."""
    from vision_pwil.tcc.session import taus

    best, out = session.best, session.folder.path
    assert best is not None  # a session that ended has measured tau
    shown = ("--demos", str(session.config.demos), *session.config.reading.words())
    look = ("vision-pwil", "encoder", "evaluate", "--encoder", str(session.encoder_path), *shown)
    return (
        f"Finished: {taus(best)} after {best['updates']:.0f} updates in {session.encoder_path}.\n"
        f"See the alignment: {shlex.join((*look, '--out', str(out / 'alignment')))}\n"
        f"See the run: {board(out)}"
    )


@dataclass(frozen=True)
class RecipeChoice:
    """The option that decides the defaults of the others."""

    recipe: Literal["default", "paper"] = "default"


def command(config: TrainConfig) -> None:
    """Learn a frame encoder from videos."""
    from vision_pwil.tcc.session import train  # imports slowly, and --help needs none of it

    print(describe(train(config)))


def main(
    args: Sequence[str],
    prog: str = "python -m vision_pwil.tcc.train",
    action: Callable[[TrainConfig], None] = command,
    about: str | None = __doc__,
) -> None:
    """An action as a command whose settings default to those of the recipe named on the command line."""
    recipe = cli.peek(RecipeChoice(), args).recipe
    default = TrainConfig(demos=tyro.MISSING, out=tyro.MISSING, recipe=recipe, settings=RECIPES[recipe])
    cli.run(cli.starting_from(action, default), args=args, prog=prog, description=about)


if __name__ == "__main__":
    main(sys.argv[1:])
