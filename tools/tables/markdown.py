"""Tables in Markdown, and how numbers and links are written in them."""

from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with its text to the left."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def number(value: float | None) -> str:
    """A return or a distance with as many digits as are of interest."""
    return "-" if value is None else f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def thousands(steps: float) -> str:
    """Environment steps."""
    return f"{steps / 1e6:.2g}M" if steps >= 999_500 else f"{steps / 1e3:.0f}k"


def link(run: str) -> str:
    """A run's name, which leads to its record, on the page of the folder it is in."""
    name = run.rpartition("/")[2]
    return f"[{name}]({name}/summary.json)"
