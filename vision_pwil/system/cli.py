"""Command lines: dataclasses become options through tyro, and bad input becomes one sentence."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import field, make_dataclass
from typing import Any, TypeVar

import tyro

from vision_pwil.system.errors import InputError, Interrupted

Result = TypeVar("Result")
Config = TypeVar("Config")


def run(command: Callable[..., Result], args: Sequence[str] | None = None, **tyro_options: Any) -> Result:
    """Parse the command line for `command`, run it, and turn bad input into exit status 2 and Ctrl-C into 130.

    Options are flat: a field of a nested configuration is `--field`, without the names of what it is nested in. Started
    with `python -m`, the help begins with the docstring of that module, and names it as it was started.
    """
    main = sys.modules["__main__"]
    if main.__spec__ is not None:
        started = {"prog": f"python -m {main.__spec__.name.removesuffix('.__main__')}", "description": main.__doc__}
        tyro_options = {**started, **tyro_options}
    try:
        return tyro.cli(command, args=args, config=(tyro.conf.OmitArgPrefixes,), **tyro_options)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except (KeyboardInterrupt, Interrupted):
        print("\nStopped; nothing is left half written.", file=sys.stderr)
        raise SystemExit(130) from None


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
