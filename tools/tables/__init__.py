"""The tables of README.md and of the pages in `results/`, made from the records; one module for each page."""

from collections.abc import Callable, Mapping

from tools.headlines import Figure
from tools.records import RESULTS
from tools.tables import door, encoder, headline, locomotion, scoring


def recorded(folder: str) -> str:
    """The table that a benchmark has written."""
    lines = (RESULTS / folder / "table.md").read_text().splitlines()
    return "\n".join(line for line in lines if line.startswith("|"))


TABLES: dict[str, Callable[[Mapping[str, Figure]], str]] = {
    "measured": headline.measured,
    "everything": headline.everything,
    "door": lambda figures: headline.of(figures, "door.human.", "door.shipped."),
    "tcc": lambda figures: headline.of(figures, "tcc."),
    "door-human": lambda _: door.setting("human"),
    "door-shipped": lambda _: door.setting("shipped"),
    "door-near": lambda _: door.setting("near"),
    "door-smooth": lambda _: door.setting("smooth"),
    "door-ablations": lambda _: door.ablations(),
    "door-earlier": lambda _: door.earlier(),
    "locomotion": locomotion.settings,
    "locomotion-best": lambda _: locomotion.best(),
    "locomotion-not-counted": lambda _: locomotion.not_counted(),
    "locomotion-runs": lambda _: locomotion.runs(),
    "tcc-folds": lambda _: encoder.folds(),
    "tcc-audits": lambda _: encoder.audits(),
    "tcc-sweep": lambda _: encoder.sweep(),
    "g1": lambda _: scoring.g1(),
    "export": lambda _: recorded("export"),
}
"""By the name between the marks of a page."""
