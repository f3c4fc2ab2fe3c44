"""The table of results/g1."""

import numpy as np

from tools.records import summary
from tools.tables.markdown import number, table


def g1() -> str:
    """Every kind of video, the mean of each figure and its range."""
    rows = []
    groups = summary("g1")["groups"]
    for name, figures in groups.items():
        cells = (
            f"{number(np.mean(values))} ({number(min(values))} to {number(max(values))})" for values in figures.values()
        )
        rows.append((name, len(figures["score"]), *cells))
    return table(("video", "number", *groups["whole"]), rows)
