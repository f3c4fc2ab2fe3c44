"""The table that a running sweep shows: redrawn in place on a terminal, elsewhere printed when a state changes."""

import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from vision_pwil.sweep.searches import Search
from vision_pwil.sweep.trial import Trial
from vision_pwil.system.table import table

_REDRAW = 2.0  # seconds
_ORDER = ("running", "lost", "failed", "finished", "waiting")


class LiveTable:
    """States of trials as they are told, the rest as the trials' directories tell it."""

    def __init__(self, search: Search, trials: Sequence[Trial], stream: TextIO | None = None) -> None:
        self.search, self.trials = search, trials
        self.states = {trial.folder: "finished" if trial.finished else "waiting" for trial in trials}
        self.differ = [name for name in trials[0].settings if len({trial.settings[name] for trial in trials}) > 1]
        self._stream = stream or sys.stdout
        self._drawn, self._height = 0.0, 0
        self._shown: dict[Path, str] = {}

    def tell(self, trial: Trial, state: str) -> None:
        """A trial changes its state."""
        self.states[trial.folder] = state

    def text(self, limit: int | None = None) -> str:
        """The table, the liveliest trials first, with at most `limit` of them."""
        order = sorted(self.trials, key=lambda trial: _ORDER.index(self.states[trial.folder]))
        shown = order[:limit]
        header = ["state", "progress", *self.search.numbers, *self.differ]
        lines = [table(header, [self._row(trial) for trial in shown])]
        if len(shown) < len(order):
            lines.append(f"and {len(order) - len(shown)} more")
        count = list(self.states.values()).count
        lines.append(", ".join(f"{count(state)} {state}" for state in _ORDER if count(state)))
        return "\n".join(lines)

    def _row(self, trial: Trial) -> list[object]:
        state = self.states[trial.folder]
        measured = self.search.measured(trial)
        outcome = self.search.outcome(measured) if measured else {}
        numbers = [f"{outcome[name]:.4g}" if name in outcome else None for name in self.search.numbers]
        progress = trial.progress() if state in ("running", "lost") else None
        return [state, progress, *numbers, *(trial.settings[name] for name in self.differ)]

    def refresh(self) -> None:
        """Draw, if it is time to."""
        if not self._stream.isatty():
            if self._shown != self.states:
                print(f"\n{self.text()}", file=self._stream, flush=True)
                self._shown = dict(self.states)
        elif time.monotonic() - self._drawn > _REDRAW:
            columns, lines = shutil.get_terminal_size()
            drawn = [line[: columns - 1] for line in self.text(max(1, lines - 6)).split("\n")]
            up = f"\x1b[{self._height}F" if self._height else ""
            print(up + "\x1b[J" + "\n".join(drawn), file=self._stream, flush=True)
            self._height, self._drawn = len(drawn), time.monotonic()
