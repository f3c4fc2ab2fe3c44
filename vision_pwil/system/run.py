"""A run's directory: its configuration, lock, learning curve, summary, and where its other files lie."""

import csv
import fcntl
import hashlib
import io
import json
import math
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vision_pwil.system.errors import InputError
from vision_pwil.system.files import (
    DAMAGED,
    NO_CHECKSUM,
    parsing,
    read_json,
    read_text,
    remove_unfinished,
    require_file,
    write_json,
    write_text,
)

Row = dict[str, float]
NEEDED = ("step", "return")
"""Columns of an agent's learning curve, whatever its task measures besides."""
LATEST, BEST = "policy.safetensors", "best.safetensors"
"""The policy of the last evaluation, and that of the evaluation with the highest return under the run's own reward."""


EVALUATIONS = {LATEST: "evaluation.json", BEST: "evaluation-best.json"}
"""Where the outcome of playing these policies is kept."""


class Run:
    """One run directory, held by one process at a time.

    Args:
        path: the directory; made when it is not there.
        config: everything that decides the run, as JSON holds it. A directory that has a run already must have the
            same, apart from the settings named in `free`; it is then continued.
        free: names of settings, dotted, that may differ when a run is continued.
    """

    def __init__(self, path: str | Path, config: Mapping[str, Any], free: tuple[str, ...] = ()) -> None:
        self.path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        require_inside(self.path)
        if (self.path / "lock").exists():
            with parsing(self.path / "lock", "lock"):
                require_file(self.path / "lock")
        self._lock = (self.path / "lock").open("a")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise InputError(
                f"Another process is using the run directory {self.path}: wait for it or choose another."
            ) from None
        remove_unfinished(self.path)
        self.checkpoint = self.path / "checkpoint.safetensors"
        self.policy = self.path / LATEST
        self.best = self.path / BEST
        self.replay = self.path / "replay"
        self.pending = self.path / "pending"
        self.events = events(self.path)
        self.videos = self.path / "videos"
        self._keep_config(json.loads(json.dumps(config)), free)

    def _keep_config(self, config: dict[str, Any], free: tuple[str, ...]) -> None:
        path = self.path / "config.json"
        if path.exists():
            old, new = flatten(read_json(path)), flatten(config)
            different = [k for k in sorted(old.keys() | new.keys()) if old.get(k) != new.get(k) and k not in free]
            if different:
                name = different[0]
                if name.rpartition(".")[2] == "demonstrations":
                    raise InputError(
                        f"{self.path} holds a run made from other demonstrations: choose another directory, or give "
                        "the same demonstrations again."
                    )
                raise InputError(
                    f"{self.path} holds a run with {name} = {old.get(name)!r}, not {new.get(name)!r}: "
                    "continue it with its own settings, or choose another directory."
                )
        write_json(path, config)

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Write the run's outcome."""
        write_json(self.path / "summary.json", summary)

    def write_curve(self, rows: Sequence[Row]) -> None:
        """Write the evaluations so far, one row each."""
        write_curve(self.path, rows)

    def read_curve(self) -> list[Row]:
        """The evaluations so far."""
        return read_curve(self.path, NEEDED) if (self.path / "curve.csv").exists() else []

    def close(self) -> None:
        """Let another process have the directory."""
        self._lock.close()

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def events(run: Path) -> Path:
    """Where TensorBoard's events are: in the run itself, by whose folder it names them; in older runs one below."""
    old = run / "tensorboard"
    return old if old.is_dir() else run


def board(run: Path) -> str:
    """The command that shows a run under its name, beside its neighbours."""
    return shlex.join(("tensorboard", "--logdir", str(run.parent)))


def require_inside(folder: Path) -> None:
    """Refuse a folder, maybe a gift, in which a link leads elsewhere: what is written or removed there is not its."""
    for entry in folder.rglob("*"):
        if entry.is_symlink() and not entry.resolve().is_relative_to(folder.resolve()):
            raise InputError(f"{entry} is a link that leads out of the run: copy the run with what it leads to.")


def write_curve(path: Path, rows: Sequence[Row]) -> None:
    """Write the learning curve of a run directory, once it has a row.

    The last column, `checksum`, is the same in every row: it covers the whole table, so that a row that is gone is
    noticed too, and any tool that reads CSV reads this one.
    """
    if not rows:
        return
    cells = [list(rows[0]), *([str(row[name]) for name in rows[0]] for row in rows)]
    last = ["checksum", *[_checksum(cells)] * len(rows)]
    text = io.StringIO()
    csv.writer(text).writerows([*line, end] for line, end in zip(cells, last, strict=True))
    write_text(path / "curve.csv", text.getvalue())


def read_curve(path: Path, needed: Sequence[str] = ()) -> list[Row]:
    """The learning curve of a run directory; its first column rises, and those `needed` are there."""
    if not (path / "curve.csv").exists():
        raise InputError(f"{path} has no curve.csv: is this a run directory, and has it had its first evaluation?")
    with parsing(path / "curve.csv", "learning curve"):
        lines = list(csv.reader(read_text(path / "curve.csv").splitlines(), strict=True))
        names = lines[0][:-1] if lines else []
        if len(lines) < 2 or lines[0][-1] != "checksum":
            raise InputError(NO_CHECKSUM)
        cells = [line[:-1] for line in lines]
        if {line[-1] for line in lines[1:]} != {_checksum(cells)}:
            raise InputError(DAMAGED)
        rows = [dict(zip(names, map(_number, row), strict=True)) for row in cells[1:]]
        if missing := [name for name in needed if name not in names]:
            raise InputError(f"it has no column {missing[0]!r}: is it that of another kind of training?")
        along = [row[names[0]] for row in rows]
        if along != sorted({step for step in along if 0 <= step < math.inf}):
            raise InputError(f"its column {names[0]!r} does not rise from row to row: copy or make it again.")
        return rows


def _checksum(cells: list[list[str]]) -> str:
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()[:16]


def _number(text: str) -> float:
    """A number as it was written: a whole one stays whole, so that a curve read and written again is the same file."""
    number = int(text) if text.isdecimal() else float(text)
    if abs(number) > 1e100:  # NaN is not
        raise InputError(f"it holds {text[:20]}, which nothing that was measured is: copy or make it again.")
    return number


def flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings under dotted names."""
    flat: dict[str, Any] = {}
    for name, value in config.items():
        flat.update(flatten(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value})
    return flat
