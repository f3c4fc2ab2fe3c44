"""Command lines: dataclasses become options through tyro; bad input and the machine's faults become one sentence."""

import errno
import os
import select
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import field, make_dataclass
from typing import Any, NoReturn, TypeVar

import tyro

from vision_pwil.system.errors import InputError, Interrupted
from vision_pwil.system.interrupt import heard, listen

Result = TypeVar("Result")
Config = TypeVar("Config")
_STOPPED = "\nStopped; nothing is left half written."
_FULL = "free some space, then give the same command again"
_CLOSED = "check its permissions, or choose another folder"
_ADVICE = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EROFS: _CLOSED,
    errno.EACCES: _CLOSED,
    errno.EPERM: _CLOSED,
}


def run(command: Callable[..., Result], args: Sequence[str] | None = None, **tyro_options: Any) -> Result:
    """Parse the command line for `command`, run it, and end with a sentence and a status where it cannot.

    The status is 2 for bad input, 1 for a fault of the machine, 130 after Ctrl-C, and 141 where nobody reads the output
    any more, as that of any Unix tool.


    Options are flat: a field of a nested configuration is `--field`, without the names of what it is nested in. Started
    with `python -m`, the help begins with the docstring of that module, and names it as it was started.
    """
    listen()
    main = sys.modules["__main__"]
    if main.__spec__ is not None:
        started = {"prog": f"python -m {main.__spec__.name.removesuffix('.__main__')}", "description": main.__doc__}
        tyro_options = {**started, **tyro_options}
    try:
        try:
            return tyro.cli(command, args=args, config=(tyro.conf.OmitArgPrefixes,), **tyro_options)
        finally:
            sys.stdout.flush()  # here a closed pipe can be caught; Python's own last flush is too late
    except InputError as error:
        _end(2, f"error: {error}")
    except Interrupted as stopped:
        _end(130, f"\n{stopped}")
    except KeyboardInterrupt:
        _end(130, _STOPPED)
    except OSError as error:
        if isinstance(error, BrokenPipeError) and _nobody_reads():
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            _end(141)
        where = f"{error.filename}: " if error.filename else ""
        advice = f"; {_ADVICE[error.errno]}" if error.errno in _ADVICE else ""
        _end(1, f"error: {where}{error.strerror or error}{advice}.")
    except Exception:
        if heard():
            _end(130, _STOPPED)
        raise


def _end(status: int, sentence: str = "") -> NoReturn:
    if status == 130:  # a second Ctrl-C would only disturb the end
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sentence:
        print(sentence, file=sys.stderr)
    raise SystemExit(status) from None


def _nobody_reads() -> bool:
    """Whether the other end of the standard output is closed."""
    poll = select.poll()
    try:
        poll.register(sys.stdout.fileno(), 0)
    except (OSError, ValueError):  # it is no file: someone in this process reads it
        return False
    return any(event & select.POLLERR for _, event in poll.poll(0))


def peek(default: Config, args: Sequence[str] | None) -> Config:
    """The options of `default`'s type that a command line names, whatever else it holds.

    A few options decide the defaults of the others; `--help` then shows those that hold.
    """
    try:
        found, _ = tyro.cli(
            type(default), default=default, args=args, return_unknown_args=True, add_help=False, console_outputs=False
        )
    except SystemExit:  # bad words: the whole command line will say so, with its options
        return default
    return found


def starting_from(main: Callable[[Any], None], default: Config) -> Callable[..., None]:
    """`main` as a command for `run`, its options starting from `default`.

    Fields that are declared as Any take the type that they have in `default`, such as the settings of an agent.
    """
    kind = type(default)
    loose = [name for name, declared in kind.__annotations__.items() if declared is Any]
    if loose:
        typed = [(name, type(getattr(default, name)), field(default=getattr(default, name))) for name in loose]
        kind = make_dataclass(kind.__name__, typed, bases=(kind,), frozen=True, namespace={"__doc__": kind.__doc__})
        default = kind(**vars(default))

    def command(config: Any = default) -> None:
        main(config)

    command.__annotations__["config"] = kind
    command.__doc__ = kind.__doc__
    return command
