"""One page to look at and to mail: `vision-pwil report RUN` writes report.html into a run or a folder of scores."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from vision_pwil.demonstrations import read
from vision_pwil.demonstrations.options import Options
from vision_pwil.system import cli


@dataclass(frozen=True)
class Report:
    """Write a page that shows a run, or scored videos."""

    run: Annotated[Path, tyro.conf.Positional]
    """Directory of a training, or what `vision-pwil score` has written."""
    demos: Path | None = None
    """Demonstrations with frames, to show one beside the agent."""
    reading: Options = field(default_factory=Options)


def report(config: Report) -> None:
    """Write, and say where."""
    from vision_pwil.tasks.report import write_report  # imports slowly, and --help needs none of it

    demonstrations = None if config.demos is None else read(config.demos, **asdict(config.reading))
    print(f"Open it in any browser: {write_report(config.run, demonstrations)}")


def main(args: Sequence[str], prog: str = "vision-pwil report") -> None:
    """The command."""
    cli.run(report, args=args, prog=prog, description=__doc__)
