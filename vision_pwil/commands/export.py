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
from vision_pwil.system.run import BEST, LATEST


@dataclass(frozen=True)
class Export:
    """Write the policy of a run for other runtimes."""

    run: Annotated[Path, tyro.conf.Positional]
    """Directory of a training run."""
    out: Path | None = None
    """Folder to write; by default `export` in the run."""
    best: bool = False
    """Not the latest policy but the best by imitation return (an expert's: task return)."""


def write(config: Export) -> None:
    """Write, and say what."""
    from vision_pwil.tasks.export import EXAMPLE_FILE, export  # imports slowly, and --help needs none of it

    out = export(config.run / (BEST if config.best else LATEST), config.out or config.run / "export")
    for path in sorted(out.iterdir()):
        print(f"{path.stat().st_size:>12,} bytes  {path}")
    print(f"Try it: pip install onnxruntime, then python {out / EXAMPLE_FILE}")


def main(args: Sequence[str], prog: str = "vision-pwil export") -> None:
    """The command."""
    cli.run(write, args=args, prog=prog, description=__doc__)
