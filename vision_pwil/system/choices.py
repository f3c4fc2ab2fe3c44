"""Command lines where a few options decide the defaults of the others, so that `--help` shows those that hold."""

from collections.abc import Callable
from typing import Any, TypeVar

import tyro

Choice = TypeVar("Choice")
Config = TypeVar("Config")


def command(
    main: Callable[[Config], None],
    choice: type[Choice],
    defaults: Callable[[Choice], Config],
    args: list[str] | None = None,
) -> Callable[..., None]:
    """`main` as a command for `vision_pwil.system.cli.run`, with the defaults that belong to the command line's choice."""
    try:
        chosen, _ = tyro.cli(choice, args=args, return_unknown_args=True, add_help=False, console_outputs=False)
    except SystemExit:  # a choice that there is none of: the whole command line says so, with its options
        chosen = choice()
    default = defaults(chosen)

    def run(config: Any = default) -> None:
        main(config)

    run.__annotations__["config"] = type(default)
    run.__doc__ = type(default).__doc__
    return run
