"""How much memory the content of a file may take: half of the machine's, unless the user names another limit."""

import os
import re
import threading

from vision_pwil.system import machine
from vision_pwil.system.errors import InputError

VARIABLE = "VISION_PWIL_MAX_MEMORY"
"""The environment variable that holds the limit, so that processes started by this one obey it too."""
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def parse_size(text: str) -> int:
    """Bytes, from what a person writes: 500000000, 500MB, 8 GB, 1.5GiB; units are powers of 1024."""
    match = re.fullmatch(r"\s*(\d{1,20}(?:\.\d{1,9})?)\s*([kmgt]?)i?b?\s*", text, re.ASCII | re.IGNORECASE)
    if match is None or float(match[1]) == 0:
        raise InputError(f"{text!r} is not an amount of memory: write it as 500MB or 8GB.")
    return int(float(match[1]) * _UNITS[match[2].lower()])


def set_limit(text: str) -> None:
    """Set the limit for this process and those that it starts."""
    parse_size(text)
    os.environ[VARIABLE] = text


def limit() -> int:
    """Bytes that the content of one file or folder may take."""
    if text := os.environ.get(VARIABLE):
        return parse_size(text)
    return machine.memory() // 2


def require(size: int) -> None:
    """Refuse what would take more than the limit."""
    if size > (allowed := limit()):
        raise InputError(
            f"it would take {_words(size)} of memory, and {_words(allowed)} are allowed: "
            f"raise the limit with {VARIABLE}, or with --max-memory of `inspect`, if it really is that large."
        )


class Allowance:
    """Counts what is taken, piece by piece and by several threads, and refuses the piece that goes over the limit."""

    def __init__(self) -> None:
        self._taken = 0
        self._lock = threading.Lock()

    def take(self, size: int) -> None:
        """Count so many bytes more."""
        with self._lock:
            self._taken += size
            require(self._taken)


def _words(size: int) -> str:
    return f"{size / 2**30:,.1f} GiB" if size >= 2**29 else f"{size / 2**20:,.1f} MiB"
