"""One HTML page that holds everything it shows: text, tables, charts as SVG, films.

Whatever comes from a file is escaped here. The page may load nothing from anywhere, and run no script but its own,
which the browser knows by its checksum.
"""

import base64
import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

ASSETS = Path(__file__).parent / "assets"
Projection = Callable[[float, float], tuple[float, float]]
"""From values to pixels."""
Points = Sequence[tuple[float, float]]
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 640, 270, 56, 12, 10, 48
_COLOURS = ("a", "b")
"""Classes of the style sheet: a chart has one line or two."""


def page(title: str, parts: Sequence[str]) -> str:
    """The whole page."""
    style, script = ((ASSETS / f"report.{kind}").read_text() for kind in ("css", "js"))
    policy = (
        "default-src 'none'; img-src data:; media-src data:; "
        f"style-src 'sha256-{_checksum(style)}'; script-src 'sha256-{_checksum(script)}'"
    )
    head = [
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<link rel="icon" href="data:,">',
        f"<title>{escape(title)}</title>",
        f"<style>{style}</style>",
    ]
    body = [f"<main><h1>{escape(title)}</h1>", *parts, f"</main><script>{script}</script>"]
    return "\n".join(['<!doctype html><html lang="en"><head>', *head, "</head><body>", *body, "</body></html>", ""])


def _checksum(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def heading(text: str) -> str:
    """The title of a section."""
    return f"<h2>{escape(text)}</h2>"


def paragraph(text: str) -> str:
    """A paragraph."""
    return f"<p>{escape(text)}</p>"


def table(header: Sequence[str], rows: Sequence[Sequence[object]], *, text: bool = False) -> str:
    """A table, of numbers or of `text`; a narrow screen scrolls it."""

    def line(kind: str, cells: Sequence[object]) -> str:
        return "<tr>" + "".join(f"<{kind}>{escape(_shown(cell))}</{kind}>" for cell in cells) + "</tr>"

    lines = [line("th", header), *(line("td", row) for row in rows)]
    return f'<div class="wide"><table class="{"text" if text else "numbers"}">{"".join(lines)}</table></div>'


def folded(summary: str, content: str) -> str:
    """What only some want to see."""
    return f"<details><summary>{escape(summary)}</summary>{content}</details>"


def film(mp4: bytes, caption: str, *, controls: bool = True) -> str:
    """A film that plays over and over once it is started."""
    source = f"data:video/mp4;base64,{base64.b64encode(mp4).decode()}"
    shown = "controls " if controls else ""
    return (
        f'<figure><video {shown}muted loop playsinline preload="auto" src="{source}"></video>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def chart(
    lines: Mapping[str, Points],
    along: str,
    *,
    levels: Mapping[str, float] | None = None,
    span: tuple[float, float] | None = None,
    timing: tuple[int, float] | None = None,
) -> str:
    """One line or two over an axis, dashed levels, and with `timing` (frames, and how many a second) a cursor."""
    levels = levels or {}
    points = {name: [(x, y) for x, y in line if math.isfinite(x) and math.isfinite(y)] for name, line in lines.items()}
    xs = [x for line in points.values() for x, _ in line] or [0.0]
    ys = [y for line in points.values() for _, y in line] + list(levels.values()) or [0.0]
    (left, right), (low, high) = _widened(min(xs), max(xs)), span or _widened(min(ys), max(ys))

    def place(x: float, y: float) -> tuple[float, float]:
        across = _LEFT + (x - left) / (right - left) * (_WIDTH - _LEFT - _RIGHT)
        return across, _HEIGHT - _BOTTOM - (y - low) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)

    drawn = [*_axes(place, (left, right), (low, high), along)]
    for value in levels.values():
        (x1, y), (x2, _) = place(left, value), place(right, value)
        drawn.append(f'<line class="level" x1="{x1:.1f}" x2="{x2:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
    for colour, line in zip(_COLOURS, points.values(), strict=False):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in line))
        drawn.append(f'<polyline class="{colour}" points="{path}"/>')
    data = ""
    if timing is not None:
        drawn.append(f'<line class="cursor" x1="{_LEFT}" x2="{_LEFT}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/>')
        frames, rate = timing
        data = f' data-left="{_LEFT}" data-right="{_WIDTH - _RIGHT}" data-frames="{frames:d}" data-rate="{rate:g}"'
    keys = [
        f'<span class="key key-{colour}">{escape(name)}</span>' for colour, name in zip(_COLOURS, lines, strict=False)
    ]
    keys += [f'<span class="key key-level">{escape(name)}</span>' for name in levels]
    label = escape(", ".join([*lines, *levels]))
    svg = f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label}"{data}>{"".join(drawn)}</svg>'
    return f"<figure>{svg}<figcaption>{''.join(keys)}</figcaption></figure>"


def _axes(place: Projection, across: tuple[float, float], up: tuple[float, float], along: str) -> Iterator[str]:
    """Lines and numbers at round values, and what the axis is."""
    for y in ticks(*up):
        (x1, at), (x2, _) = place(across[0], y), place(across[1], y)
        yield f'<line class="axis" x1="{x1:.1f}" x2="{x2:.1f}" y1="{at:.1f}" y2="{at:.1f}"/>'
        yield f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{short(y)}</text>'
    for x in ticks(*across):
        at, _ = place(x, up[0])
        yield f'<text x="{at:.1f}" y="{_HEIGHT - _BOTTOM + 20}" text-anchor="middle">{short(x)}</text>'
    yield f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 6}" text-anchor="end">{escape(along)}</text>'


def _widened(low: float, high: float) -> tuple[float, float]:
    """An interval that has some width."""
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def ticks(low: float, high: float) -> list[float]:
    """Round values in an interval, four to seven of them in most: multiples of 1, 2 or 5 times a power of ten."""
    rough = (high - low) / 6
    power = 10 ** math.floor(math.log10(rough))
    step = next(times * power for times in (1, 2, 5, 10) if times * power >= rough * (1 - 1e-9))
    return [number * step for number in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def short(value: float) -> str:
    """A number as an axis shows it: 20k, 1.5M, 0.2."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if abs(value) >= size:
            return f"{value / size:g}{unit}"
    return f"{value:.6g}"


def _shown(cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:.0f}" if cell.is_integer() else f"{cell:.4g}"
    return "-" if cell is None else str(cell)
