"""Pages whose blocks are meant to be run, from the first to the last: what tests and `make demo-videos` do.

    python -m tools.pages FOLDER docs/own-environment.md docs/own-videos.md

Scripts are saved under the names in their first lines; commands are run for the last page only.
"""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Block(NamedTuple):
    """Fenced text and its language, or text indented by four spaces, which has none."""

    language: str
    text: str


def blocks(page: str) -> list[Block]:
    """Those of a page, in order."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$|(?<=\n\n)((?:^ {4}[^\n]*\n)+)", page, re.MULTILINE | re.DOTALL)
    return [Block(language, fenced or indented) for language, fenced, indented in found]


def save_scripts(page: Path, folder: Path) -> None:
    """Write the page's scripts into the folder."""
    for block in blocks(page.read_text()):
        if block.language == "python" and block.text.startswith("# "):
            (folder / block.text.split()[1]).write_text(block.text)


def run(folder: Path, pages: Sequence[Path], **variables: str) -> None:
    """Save the scripts of all pages, and run the commands of the last; the first that fails ends it."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in pages:
        save_scripts(page, folder)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), **variables}
    for block in blocks(pages[-1].read_text()):
        if block.language == "sh":
            print(f"\n$ {block.text.strip()}", flush=True)
            subprocess.run(["bash", "-ec", block.text], cwd=folder, env=environment, check=True)


if __name__ == "__main__":
    run(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
