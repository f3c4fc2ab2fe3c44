"""A trained policy for other runtimes: `vision-pwil export RUN` writes ONNX, its description, and an example.

policy.onnx holds normalisation and units: observations as the environment gives them, actions as it takes them.
metadata.json says what they are; example.py runs the policy with onnxruntime alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from vision_pwil.system import cli
from vision_pwil.system.errors import InputError
from vision_pwil.system.run import BEST, LATEST, require_inside


@dataclass(frozen=True)
class Export:
    """Write the policy of a run for other runtimes."""

    run: Annotated[Path, tyro.conf.Positional]
    """Directory of a training run, or a policy's file."""
    out: Path | None = None
    """Folder to write; by default `export` in the run, or NAME-export for a file of that name."""
    best: bool = False
    """Not the latest policy but the best by imitation return (an expert's: task return)."""


def write(config: Export) -> None:
    """Write, and say what."""
    from vision_pwil.tasks.export import EXAMPLE_FILE, export  # imports slowly, and --help needs none of it

    of_run = config.run.is_dir()
    if config.best and not of_run:
        raise InputError(f"--best chooses among the policies of a run, and {config.run} is no directory of one.")
    if of_run and config.out is None:
        require_inside(config.run)
    policy = config.run / (BEST if config.best else LATEST) if of_run else config.run
    out = export(policy, config.out or (config.run / "export" if of_run else Path(f"{config.run.stem}-export")))
    for path in sorted(out.iterdir()):
        print(f"{path.stat().st_size:>12,} bytes  {path}")
    print(f"Try it: pip install onnxruntime, then python {out / EXAMPLE_FILE}")


def main(args: Sequence[str], prog: str = "vision-pwil export") -> None:
    """The command."""
    cli.run(write, args=args, prog=prog, description=__doc__)
