"""Ctrl-C and SIGTERM as a question, not an accident: what runs ends its step, saves, and exits cleanly."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def asked_to_stop() -> Iterator[threading.Event]:
    """Set once Ctrl-C or SIGTERM asks to stop, so that a step and its record end first; a second does not wait.

    Also where Ctrl-C is ignored, as shells have it for what they run in the background.
    """
    asked = threading.Event()

    def ask(*_: object) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
