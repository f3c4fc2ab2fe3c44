"""A run's directory: its configuration, lock, learning curve, summary, and where its other files lie."""

import csv
import fcntl
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vision_pwil.system.errors import InputError
from vision_pwil.system.files import write_text

Row = dict[str, float]
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
        self._lock = (self.path / "lock").open("a")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise InputError(
                f"Another process is using the run directory {self.path}: wait for it or choose another."
            ) from None
        self.checkpoint = self.path / "checkpoint.safetensors"
        self.policy = self.path / LATEST
        self.best = self.path / BEST
        self.replay = self.path / "replay"
        self.pending = self.path / "pending"
        self.events = self.path / "tensorboard"
        self.videos = self.path / "videos"
        self._keep_config(json.loads(json.dumps(config)), free)

    def _keep_config(self, config: dict[str, Any], free: tuple[str, ...]) -> None:
        path = self.path / "config.json"
        if path.exists():
            old, new = flatten(read_json(path)), flatten(config)
            different = [k for k in sorted(old.keys() | new.keys()) if old.get(k) != new.get(k) and k not in free]
            if different:
                name = different[0]
                raise InputError(
                    f"{self.path} holds a run with {name} = {old.get(name)!r}, not {new.get(name)!r}: "
                    "continue it with its own settings, or choose another directory."
                )
        write_text(path, json.dumps(config, indent=2) + "\n")

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Write the run's outcome."""
        write_text(self.path / "summary.json", json.dumps(summary, indent=2) + "\n")

    def write_curve(self, rows: list[Row]) -> None:
        """Write the evaluations so far, one row each."""
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]) if rows else ["step"])
        writer.writeheader()
        writer.writerows(rows)
        write_text(self.path / "curve.csv", text.getvalue())

    def read_curve(self) -> list[Row]:
        """The evaluations so far."""
        return read_curve(self.path) if (self.path / "curve.csv").exists() else []

    def close(self) -> None:
        """Let another process have the directory."""
        self._lock.close()

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file."""
    try:
        return dict(json.loads(path.read_text()))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error}); is this a run directory?") from None


def read_curve(path: Path) -> list[Row]:
    """The learning curve of a run directory."""
    try:
        with (path / "curve.csv").open(newline="") as file:
            return [{name: _number(value) for name, value in row.items()} for row in csv.DictReader(file)]
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{path} has no readable curve.csv ({error}); is this a run directory?") from None


def _number(text: str) -> float:
    """A number as it was written: a whole one stays whole, so that a curve read and written again is the same file."""
    return int(text) if text.isdigit() else float(text)


def flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings under dotted names."""
    flat: dict[str, Any] = {}
    for name, value in config.items():
        flat.update(flatten(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value})
    return flat
