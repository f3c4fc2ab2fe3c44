"""What a sweep found: settings ranked by the mean over their seeds, as a table, a file, a picture, and a command."""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vision_pwil.sweep.searches import Search
from vision_pwil.sweep.trial import Setting, Trial
from vision_pwil.system.files import replacing, write_text
from vision_pwil.system.run import Row
from vision_pwil.system.table import table

_NAMED = 10  # settings with a name in the picture


@dataclass(frozen=True)
class Combination:
    """One combination of settings, and what its seeds measured."""

    settings: dict[str, Setting]
    trials: list[Trial]
    """One for each seed."""
    curves: list[list[Row]]
    """Of those that measured anything."""
    outcomes: list[Row]
    """What each of them is judged by."""

    def mean(self, name: str) -> float:
        """Over the seeds that have measured; NaN when none has."""
        return float(np.mean([row[name] for row in self.outcomes])) if self.outcomes else math.nan

    def deviation(self, name: str) -> float:
        """Standard deviation over the seeds; NaN when none has measured."""
        return float(np.std([row[name] for row in self.outcomes])) if self.outcomes else math.nan

    @property
    def finished(self) -> int:
        """Trials that ran to their end."""
        return sum(trial.finished for trial in self.trials)


def rank(search: Search, trials: Sequence[Trial]) -> list[Combination]:
    """The best first; settings without a measurement last, as they came."""
    groups: dict[tuple[tuple[str, Setting], ...], list[Trial]] = {}
    for trial in trials:
        same = tuple((name, value) for name, value in trial.settings.items() if name != "seed")
        groups.setdefault(same, []).append(trial)
    places = []
    for same, members in groups.items():
        curves = [curve for trial in members if (curve := search.measured(trial))]
        places.append(Combination(dict(same), members, curves, [search.outcome(curve) for curve in curves]))
    return sorted(places, key=lambda place: [_descending(place.mean(name)) for name in search.numbers])


def _descending(value: float) -> float:
    return math.inf if math.isnan(value) else -value


def best_trial(search: Search, place: Combination) -> Trial:
    """The seed that did best."""

    def key(trial: Trial) -> list[float]:
        curve = search.measured(trial)
        return [_descending(search.outcome(curve)[name] if curve else math.nan) for name in search.numbers]

    return min(place.trials, key=key)


def records(search: Search, places: Sequence[Combination]) -> list[dict[str, object]]:
    """A row for each place: rank, settings, how much of it ran, and the numbers."""
    rows = []
    for number, place in enumerate(places, 1):
        row: dict[str, object] = {"rank": number, **place.settings}
        row["finished"] = f"{place.finished} of {len(place.trials)}"
        reached = [int(curve[-1][search.time]) for curve in place.curves]
        row[search.time] = min(reached) if reached else None
        for name in search.numbers:
            value = place.mean(name)
            row[name] = None if math.isnan(value) else round(value, 4)
            if len(place.trials) > 1:
                row[f"{name}_std"] = None if math.isnan(value) else round(place.deviation(name), 4)
        rows.append(row)
    return rows


def write(rows: Sequence[dict[str, object]], path: Path) -> None:
    """As a CSV file."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())


def tabulate(rows: Sequence[dict[str, object]]) -> str:
    """As a table to read."""
    return table(list(rows[0]), [list(row.values()) for row in rows])


def label(place: Combination, places: Sequence[Combination]) -> str:
    """The settings in which the places differ."""
    differ = [name for name in place.settings if len({str(other.settings[name]) for other in places}) > 1]
    return ", ".join(f"{name.replace('_', ' ')} {place.settings[name]}" for name in differ) or "all seeds"


def draw(search: Search, places: Sequence[Combination], path: Path) -> None:
    """Left: what every trial measured over its time, the best settings in colour. Right: the ranking."""
    from matplotlib.figure import Figure

    measured = [place for place in places if place.outcomes]
    name = search.numbers[0]
    if all(math.isnan(place.mean(name)) for place in measured):
        name = search.numbers[1]
    figure = Figure(figsize=(13, max(4.2, 1.2 + 0.22 * len(measured))), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    for number, place in reversed(list(enumerate(measured))):
        colour = f"C{number}" if number < _NAMED else "lightgrey"
        for index, curve in enumerate(place.curves):
            named = label(place, places) if index == 0 and number < _NAMED else None
            times, values = [row[search.time] for row in curve], [row[name] for row in curve]
            left.plot(times, values, color=colour, linewidth=2.2 if number == 0 else 1, marker=".", label=named)
        right.barh(number, place.mean(name), xerr=place.deviation(name) or None, color=colour, alpha=0.5)
        right.plot([row[name] for row in place.outcomes], [number] * len(place.outcomes), "k.", markersize=4)
    left.set(title="every trial", xlabel=search.time, ylabel=name.replace("_", " "))
    left.grid(alpha=0.3)
    handles, labels = left.get_legend_handles_labels()
    if handles:
        left.legend(handles[::-1], labels[::-1], fontsize="x-small")
    right.set_yticks(range(len(measured)), [label(place, places) for place in measured], fontsize="x-small")
    right.invert_yaxis()
    right.set(title="ranking: mean over seeds, standard deviation", xlabel=name.replace("_", " "))
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=110)
