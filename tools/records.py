"""What the records in `results/` say: one number of a run, and which runs belong together.

A run's folder holds `summary.json` and, for trainings, `curve.csv`. Folders whose names differ in `-seedN` alone are
one setting, so that a figure is always about all of its seeds.
"""

import csv
import functools
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results"
LAST = 10
"""Evaluations at the end of a run whose mean is reported: one alone is of ten episodes, and noisy."""
NOT_COUNTED = {
    "locomotion/Humanoid-v5-d4pg-nofill-beta2-seed1": "ended at 70k of its 2.5M steps for lack of time",
}
"""Runs of a setting that say nothing about it, and why. A run that was ended because it did not learn does count."""


@functools.cache
def read_json(path: Path) -> Any:
    """A JSON file."""
    return json.loads(path.read_text())


@functools.cache
def read_rows(path: Path) -> Sequence[dict[str, str]]:
    """The rows of a CSV file."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def summary(run: str) -> dict[str, Any]:
    """What is kept of a run, by its folder in `results/`."""
    return dict(read_json(RESULTS / run / "summary.json"))


def column(run: str, name: str) -> list[float]:
    """A column of a run's curve, one value for each evaluation."""
    return [float(row[name]) for row in read_rows(RESULTS / run / "curve.csv")]


def seed(run: str) -> int:
    """A run's seed."""
    return int(summary(run)["seed"])


def seeds(setting: str, counted: bool = True) -> list[str]:
    """The runs of a setting, by seed: its folder in `results/`, without or with `-seedN` at its end."""
    where = RESULTS / setting
    found = [
        str(path.parent.relative_to(RESULTS))
        for path in where.parent.glob(f"{where.name}*/summary.json")
        if re.fullmatch(re.escape(where.name) + r"(-seed\d+)?", path.parent.name)
    ]
    return sorted((run for run in found if not counted or run not in NOT_COUNTED), key=seed)


def all_runs(room: str) -> list[str]:
    """Every run kept in a folder of `results/`."""
    return sorted(str(path.parent.relative_to(RESULTS)) for path in (RESULTS / room).glob("*/summary.json"))


class Source(NamedTuple):
    """A number that every run of a setting has."""

    how: str
    """Where in a run's records it stands."""
    of: Callable[[str], float | None]
    """The number of a run; None where there is no such record."""


def field(*names: str, file: str = "summary.json") -> Source:
    """An entry of a JSON file, by the names that lead to it."""

    def of(run: str) -> float | None:
        path = RESULTS / run / file
        found = read_json(path) if path.exists() else None
        for name in names:
            found = found.get(name) if isinstance(found, dict) else None
        return None if found is None else float(found)

    return Source(f"{' > '.join(names)} in {file}", of)


def last_ten(name: str) -> Source:
    """The mean of a column of the curve over the last ten evaluations, or over all where there are fewer."""
    how = f"{name} in curve.csv, mean of the last ten evaluations"
    return Source(how, lambda run: float(np.mean(column(run, name)[-LAST:])))


def expert_w1() -> Source:
    """W1 of the expert's other episodes to the demonstration that the run's seed drew, by the same metric."""

    def of(run: str) -> float | None:
        wanted = {"env": summary(run)["env"], "demonstrations": summary(run)["num_demos"], "ablation": "none"}
        (case,) = (case for case in summary("locomotion-experts")["cases"] if wanted.items() <= case.items())
        scores = case["seeds"][seed(run) : seed(run) + 1]
        return float(np.mean([w1 for _, w1 in scores[0]])) if scores else None

    return Source("mean W1 of the expert's episodes not shown, same seed, in locomotion-experts/summary.json", of)


def held_out_w1() -> Source:
    """W1 of the held-out demonstrations under the very reward that the run was trained with."""

    def of(run: str) -> float | None:
        path = RESULTS / run / "audit.json"
        scores = read_json(path)["scores"] if path.exists() else ()
        return float(np.mean([score["w1"] for score in scores if score["expert"]])) if scores else None

    return Source("mean W1 of the held-out demonstrations in audit.json", of)


def ratio(over: Source, under: Source) -> Source:
    """One number over another."""

    def of(run: str) -> float | None:
        numbers = over.of(run), under.of(run)
        return None if numbers[0] is None or numbers[1] is None else numbers[0] / numbers[1]

    return Source(f"({over.how}) / ({under.how})", of)


def difference(more: Source, less: Source) -> Source:
    """One number minus another."""

    def of(run: str) -> float | None:
        numbers = more.of(run), less.of(run)
        return None if numbers[0] is None or numbers[1] is None else numbers[0] - numbers[1]

    return Source(f"({more.how}) - ({less.how})", of)
