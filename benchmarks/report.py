"""What every benchmark leaves in `results/`: a Markdown table and a `summary.json` with command, commit and machine."""

import json
import os
import platform
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from vision_pwil.system.errors import InputError
from vision_pwil.system.files import write_text


def machine() -> dict[str, Any]:
    """The machine in general terms: processor, cores, versions; no names."""
    models = [line.split(":", 1)[1].strip() for line in _cpuinfo() if line.startswith("model name")]
    return {
        "processor": models[0] if models else platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def commit(named: str | None = None) -> str:
    """The commit measured: the one named, if there is such a one, or the work tree's, marked where it differs."""
    tree = ["describe", "--always", "--dirty", "--abbrev=10"]
    words = tree if named is None else ["rev-parse", "--verify", "--short=10", f"{named}^{{commit}}"]
    try:
        found = subprocess.run(["git", *words], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        if named is not None:
            raise InputError(f"There is no commit {named} here: name the one that the run was started from.") from None
        return "unknown"
    return found.stdout.strip()


def write_report(out: Path, title: str, lines: list[str], summary: dict[str, Any], module: str) -> None:
    """Write `table.md` and `summary.json` to `out` and say so."""
    # Asked before anything is written: the tables are tracked, and would mark the tree as changed.
    about, at = machine(), commit()
    # Of paths that lead outside only the last part: the rest belongs to one machine.
    paths = [(option, Path(option)) for option in sys.argv[1:]]
    options = [path.name if path.is_absolute() or ".." in path.parts else option for option, path in paths]
    command = shlex.join(["python", "-m", module, *options])
    text = [
        f"# {title}",
        "",
        *lines,
        "",
        f"`{command}` at {at}, {about['processor']}, {about['cores']} cores.",
        "",
    ]
    write_text(out / "table.md", "\n".join(text))
    record = {"command": command, "commit": at, "machine": about, **summary}
    write_text(out / "summary.json", json.dumps(record, indent=2) + "\n")
    print(f"Written to {out}/table.md and {out}/summary.json")


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []
