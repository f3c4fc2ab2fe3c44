"""Command lines: dataclasses become options through tyro, and bad input becomes one sentence."""

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import tyro

from vision_pwil.system.errors import InputError

Result = TypeVar("Result")


def run(command: Callable[..., Result], **tyro_options: Any) -> Result:
    """Parse the command line for `command`, run it, and turn bad input into exit status 2 and Ctrl-C into 130.

    Options are flat: a field of a nested configuration is `--field`, without the names of what it is nested in. The
    help begins with the docstring of the module that was started, and names it as it was started.
    """
    main = sys.modules["__main__"]
    if main.__spec__ is not None:  # started with `python -m`
        started = {"prog": f"python -m {main.__spec__.name.removesuffix('.__main__')}", "description": main.__doc__}
        tyro_options = {**started, **tyro_options}
    try:
        return tyro.cli(command, config=(tyro.conf.OmitArgPrefixes,), **tyro_options)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print("\nStopped; nothing is left half written.", file=sys.stderr)
        raise SystemExit(130) from None
