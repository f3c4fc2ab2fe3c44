"""The front door: `vision-pwil COMMAND ...`, or `python -m vision_pwil COMMAND ...`."""

import importlib
import sys
from collections.abc import Sequence

from vision_pwil import __doc__ as ABOUT
from vision_pwil import __version__
from vision_pwil.commands import COMMANDS
from vision_pwil.system.errors import InputError


def usage() -> str:
    """The map."""
    width = max(map(len, COMMANDS))
    rows = [f"  {name:<{width}}  {does}" for name, does in COMMANDS.items()]
    return "\n".join(
        [
            f"usage: vision-pwil COMMAND [OPTIONS]\n\n{ABOUT}\n\ncommands:",
            *rows,
            "\nEvery command explains itself: vision-pwil COMMAND --help. vision-pwil --version tells the version,\n"
            "vision-pwil --completion bash (or zsh) prints a script that completes commands and options.",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Find the command, and run it."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words == ["--version"]:
        print(f"vision-pwil {__version__}")
    elif not words or words[0] in ("-h", "--help"):
        print(usage())
    elif words[0] == "--completion":
        try:
            print(importlib.import_module("vision_pwil.commands.completion").script(" ".join(words[1:])))
        except InputError as error:
            print(f"error: {error}", file=sys.stderr)
            raise SystemExit(2) from None
    elif words[0] in COMMANDS:
        # As `python -m` does: an environment "module:id" may lie in the working directory.
        sys.path.insert(0, "")
        importlib.import_module(f"vision_pwil.commands.{words[0]}").main(words[1:], f"vision-pwil {words[0]}")
    else:
        print(f"error: there is no command {words[0]!r}: choose one of {', '.join(COMMANDS)}.", file=sys.stderr)
        raise SystemExit(2)


if __name__ == "__main__":
    main()
