"""The headline figures themselves: the most telling ones in README.md, all of them in results/README.md."""

from collections.abc import Iterable, Mapping

from tools.headlines import LOCOMOTION, Figure
from tools.tables.markdown import table

README = (
    "door.human.opened.mean",
    "door.shipped.opened.mean",
    "tcc.tau",
    "tcc.separation",
    *(f"locomotion.{env}.{'gap' if env == 'Reacher-v5' else 'share'}" for env in LOCOMOTION),
    "door.steps_per_second",
    "door.times",
    "rendering.door.times",
    "demonstrations.seconds",
    "rewarder.episode.times",
    "rewarder.step.times",
    "sac.update_over_products",
)
"""What README.md shows, in this order."""


def measured(figures: Mapping[str, Figure]) -> str:
    """In README.md."""
    return _table((figures[name] for name in README), "results/")


def everything(figures: Mapping[str, Figure]) -> str:
    """In results/README.md."""
    return _table(figures.values(), "")


def of(figures: Mapping[str, Figure], *prefixes: str) -> str:
    """Those whose names begin so, on a page of a folder in `results/`."""
    return _table((figure for name, figure in figures.items() if name.startswith(prefixes)), "../")


def _table(figures: Iterable[Figure], results: str) -> str:
    rows = []
    for figure in figures:
        folder = figure.runs[0].partition("/")[0] if figure.runs else None
        value, _, seeds = figure.shown.partition(" (")
        shown = figure.missing if figure.value is None else f"**{value}**" + (f" (seeds: {seeds}" if seeds else "")
        rows.append((figure.says, shown, figure.aim, f"[{folder}]({results}{folder})" if folder else "-"))
    return table(("what", "measured", "target", "records"), rows)
