"""Ctrl-C and SIGTERM as a question, not an accident: what runs ends its step, saves, and exits cleanly."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def asked_to_stop() -> Iterator[threading.Event]:
    """Set once Ctrl-C or SIGTERM asks to stop, so that a step and its record end first; a second does not wait.

    Also where Ctrl-C is ignored, as shells have it for what they run in the background. Only the main thread hears
    signals; in another one nobody asks.
    """
    asked = threading.Event()

    def ask(*_: object) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    heard = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    before = {number: signal.signal(number, ask) for number in heard}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def shielded() -> Iterator[None]:
    """Processes started inside never hear Ctrl-C, not even while they import; this one hears it afterwards.

    A terminal sends Ctrl-C to all of them, and it is for the first alone to decide when they end.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end(*_: object) -> None:
    os.write(sys.stderr.fileno(), b"\nStopped before it began.\n")
    os._exit(130)


def end_quietly() -> None:
    """Until `listen`, Ctrl-C ends the process with one sentence: imports take seconds, and nothing is open yet."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else a shell has it ignored
        signal.signal(signal.SIGINT, _end)


_heard = threading.Event()


def _raise(*_: object) -> None:
    _heard.set()
    raise KeyboardInterrupt


def _raise_again(ignored: Any) -> None:
    """What a callback of a compiled library raises is ignored (numba compiles in such); Ctrl-C comes again outside."""
    if ignored.exc_type is KeyboardInterrupt:
        main = threading.main_thread().ident
        timer = threading.Timer(0.1, signal.pthread_kill, (main, signal.SIGINT))
        timer.daemon = True
        timer.start()
    else:
        sys.__unraisablehook__(ignored)


def listen() -> None:
    """From now on Ctrl-C raises KeyboardInterrupt, so that what is open is closed, and none is lost."""
    if signal.getsignal(signal.SIGINT) in (_end, signal.default_int_handler):
        signal.signal(signal.SIGINT, _raise)
        sys.unraisablehook = _raise_again


def heard() -> bool:
    """Whether there was a Ctrl-C since `listen`: then any error may be its consequence."""
    return _heard.is_set()
