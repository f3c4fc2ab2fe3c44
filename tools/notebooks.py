"""Execute notebooks and keep their outputs: `python tools/notebooks.py`, or `make notebooks`."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import nbformat
import tyro
from nbclient import NotebookClient
from nbformat import NotebookNode

from vision_pwil.system import cli
from vision_pwil.system.files import replacing

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
# One thread repeats training to the last bit; progress bars are for people who wait, not for those who read.
QUIET = {"OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"}


def execute(path: Path, folder: str | Path, **environment: str) -> NotebookNode:
    """The notebook as executed in `folder`, where it finds no earlier run; an error in a cell is raised."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=None,
        startup_timeout=300,
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(folder)}},
    )
    return client.execute(env={**os.environ, **QUIET, **environment})


@dataclass(frozen=True)
class Execute:
    """Execute notebooks from top to bottom in an empty folder, and save them with their outputs."""

    notebooks: Annotated[tuple[Path, ...], tyro.conf.Positional] = tuple(sorted(NOTEBOOKS.glob("*.ipynb")))
    """Which; by default all."""


def main(config: Execute) -> None:
    """Execute and save one after the other."""
    for path in config.notebooks:
        with tempfile.TemporaryDirectory() as folder:
            executed = execute(path, folder)
        with replacing(path) as temporary:
            nbformat.write(executed, temporary)
        print(f"Executed {path}")


if __name__ == "__main__":
    cli.run(main, description=__doc__)
