"""Progress bars: a line that moves in a terminal; in a file or a pipe, a line now and then."""

import sys
from typing import Any, TextIO

from tqdm import tqdm

INTERVAL = 10.0
"""Seconds between two lines in a file."""


class Lines:
    """A stream for bars in which each state is a line of its own: bars move by carriage returns and blanks."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        """Write what is not blank as a line."""
        if shown := text.strip():
            self._stream.write(f"{shown}\n")

    def flush(self) -> None:
        """Pass on."""
        self._stream.flush()


def progress(*iterable: Any, leave: bool = True, **options: Any) -> Any:
    """`tqdm` for whoever watches: a person, or a file. In a file, a bar that does not stay appears only if it lasts."""
    if sys.stderr.isatty():
        return tqdm(*iterable, leave=leave, dynamic_ncols=True, **options)
    wait = 0.0 if leave else INTERVAL
    return tqdm(*iterable, leave=leave, file=Lines(sys.stderr), mininterval=INTERVAL, delay=wait, ncols=100, **options)
