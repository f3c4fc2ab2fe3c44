"""Tables that read well in a terminal and render in Markdown."""

from collections.abc import Sequence

from vision_pwil.demonstrations.episode import Array, Demonstrations


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table with aligned columns; None is shown as a dash."""
    cells = [list(header), *([("-" if cell is None else str(cell)) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "| " + " | ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in cells
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 1) + ":" for width in widths) + "|")
    return "\n".join(lines)


def episodes_table(demonstrations: Demonstrations) -> str:
    """What each episode holds."""

    def shape(part: Array | None) -> str | None:
        return None if part is None else f"{'x'.join(map(str, part.shape[1:]))} {part.dtype}"

    header = ("episode", "steps", "states", "actions", "frames", "initial state", "ends absorbing")
    rows = [
        (
            number,
            len(episode),
            shape(episode.states),
            shape(episode.actions),
            shape(episode.frames),
            " ".join(sorted(episode.initial_state)) if episode.initial_state else None,
            "yes" if episode.absorbing else "no",
        )
        for number, episode in enumerate(demonstrations.episodes)
    ]
    return table(header, rows)
