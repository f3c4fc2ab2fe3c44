"""Compute every headline figure from the records in `results/`, and write it wherever it is shown.

    python -m tools.figures

writes `results/figures.json`, the curves of the locomotion page, and, on README.md and the pages in `docs/` and
`results/`, what stands between `<!-- figures:NAME -->` and `<!-- end -->`: a figure of `tools/headlines.py` or a table
of `tools/tables`. Nothing in them is typed, and running it twice changes nothing.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path

from tools import curves
from tools.headlines import Figure, headlines
from tools.records import RESULTS, ROOT
from tools.tables import TABLES
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import write_text

OUT = RESULTS / "figures.json"
MARKED = re.compile(r"(<!-- figures:(\S+) -->)(.*?)(<!-- end -->)", re.DOTALL)


def pages() -> list[Path]:
    """The pages that may show figures."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted(RESULTS.rglob("*.md"))]


def filled(page: str, figures: Mapping[str, Figure]) -> str:
    """A page with what stands between its marks written anew."""

    def fill(match: re.Match[str]) -> str:
        begin, name, _, end = match.groups()
        if name in TABLES:
            return f"{begin}\n{TABLES[name](figures)}\n{end}"
        if name in figures:
            return f"{begin}{figures[name].shown}{end}"
        raise InputError(f"There is no figure and no table {name!r} to write between the marks of a page.")

    return MARKED.sub(fill, page)


def texts() -> dict[Path, str]:
    """What each file should hold."""
    figures = headlines()
    records = {name: figure.record() for name, figure in figures.items()}
    filled_pages = {path: filled(path.read_text(), figures) for path in pages()}
    return {OUT: json.dumps(records, indent=2) + "\n", **filled_pages}


def main() -> None:
    """Write what differs."""
    for path, text in texts().items():
        if not path.exists() or path.read_text() != text:
            write_text(path, text)
            print(f"Written: {path.relative_to(ROOT)}")
    if curves.drawn() != curves.fingerprint():
        curves.draw()
        print(f"Written: {curves.OUT.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
