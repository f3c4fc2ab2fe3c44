"""A trial: one command of this package, the run directory it continues, and how far it has come."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from vision_pwil.system.files import read_json, write_json
from vision_pwil.system.run import Row, read_curve

Setting = int | float | str
_BAR = re.compile(r"(\d+%)\|[^\r\n]*\[[^<\r\n]*<([^,\r\n]+)")  # of tqdm: the share that is done, and the time left


@dataclass(frozen=True)
class Trial:
    """One command and its directory; every process that sees the directory knows as much of the trial as any other."""

    settings: dict[str, Setting]
    """What sets it apart from the other trials of its sweep."""
    module: str
    """Of the command: `python -m MODULE`."""
    arguments: tuple[str, ...]
    """Of the command, all but the run directory."""
    option: str
    """Which names the run directory."""
    folder: Path
    """The run directory."""

    @property
    def command(self) -> list[str]:
        """What follows `python`."""
        return ["-m", self.module, *self.arguments, self.option, str(self.folder)]

    @property
    def line(self) -> str:
        """The command to paste into a shell."""
        return shlex.join(["python", *self.command])

    @property
    def log(self) -> Path:
        """What the command printed, one attempt after the other."""
        return self.folder / "log.txt"

    @property
    def finished(self) -> bool:
        """The run says so in its summary, and this very command made it."""
        summary, done = self.folder / "summary.json", self.folder / "trial.json"
        if not (summary.exists() and done.exists() and read_json(summary).get("finished")):
            return False
        return read_json(done).get("arguments") == list(self.arguments)

    def finish(self) -> None:
        """Note, when the command has ended well, which one it was: another (with more steps, say) is to be run."""
        write_json(self.folder / "trial.json", {"arguments": self.arguments})

    def curve(self) -> list[Row]:
        """The measurements so far."""
        return read_curve(self.folder) if (self.folder / "curve.csv").exists() else []

    def printed(self, size: int = 4096) -> str:
        """The end of the log."""
        if not self.log.exists():
            return ""
        with self.log.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - size))
            return file.read().decode(errors="replace")

    def progress(self) -> str | None:
        """How far the trial's own progress bar has come, and the time it expects to need."""
        bars = _BAR.findall(self.printed())
        return "{}, {} left".format(*bars[-1]) if bars else None

    def complaint(self) -> str:
        """The last line that it printed."""
        lines = self.printed().replace("\r", "\n").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "nothing was printed")
