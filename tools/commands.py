"""Write docs/commands.md from the `--help` of every command: `python tools/commands.py`."""

import contextlib
import io
import os
import re
import runpy
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "commands.md"
WIDTH = 120
"""Of the terminal that the commands think they print to; in a much wider one options stand in two columns."""
DECIDING = ("--recipe", "--agent")
"""Options that decide the defaults of others, and which others there are."""
INTRODUCTION = """# Commands

What `--help` says, as `python tools/commands.py` wrote it. `--recipe` and `--agent` decide the defaults of other
options, or which others there are: what differs is listed below the command. Bad input ends a command with one sentence
and exit status 2, Ctrl-C with 130; a training of an agent that was asked to stop has saved and ends with 0.
"""


def modules() -> list[str]:
    """Every module that is a command, those of the package first."""
    paths = [path for folder in ("vision_pwil", "benchmarks") for path in sorted((ROOT / folder).rglob("*.py"))]
    commands = [path for path in paths if '\nif __name__ == "__main__":' in path.read_text()]
    return [".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__") for path in commands]


def help_text(module: str, *arguments: str) -> str:
    """What the command prints with these arguments and --help, in this process: one import serves all commands."""
    printed = io.StringIO()
    with (
        patch.object(sys, "argv", [module, *arguments, "--help"]),
        patch.dict(os.environ, {"COLUMNS": str(WIDTH), "NO_COLOR": "1"}),
        contextlib.redirect_stdout(printed),
        contextlib.suppress(SystemExit),
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("ignore", message=".*found in sys.modules.*")  # another command imported it
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    text = printed.getvalue().replace(f"{ROOT}{os.sep}", "")
    return "\n".join(line.rstrip() for line in text.splitlines())


def options(text: str) -> dict[str, str]:
    """Options and positional arguments of a help text, as they are written there, with what is said of them."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        name = re.match(r"  (--?\w.*?|[A-Z[][A-Z .[\]]*|\{.*?\})(?:  +(\S.*))?$", line)
        if name:
            found[name[1].strip()] = name[2] or ""
        elif found and re.match(r" {6,}\S", line):
            last = next(reversed(found))
            found[last] = f"{found[last]} {line.strip()}".strip()
    return {name: said for name, said in found.items() if name != "-h, --help"}


def subcommands(text: str) -> list[str]:
    """Names of a command's subcommands, from its help."""
    nested = re.search(r"\{([\w,-]+)\}$", text.partition("\n")[0])
    return nested[1].split(",") if nested else []


def table(rows: dict[str, str]) -> str:
    """Options as Markdown."""
    lines = [f"| `{name}` | {said} |".replace("{None}|", "None or ") for name, said in rows.items()]
    return "\n".join(["| option | |", "|---|---|", *lines])


def variants(rows: dict[str, str]) -> Iterator[list[str]]:
    """Arguments that choose another value of a deciding option than the default."""
    for option in DECIDING:
        for name, said in rows.items():
            if choices := re.fullmatch(option + r" \{(.*)\}", name):
                default = said.rpartition("default: ")[2].rstrip(")")
                yield from ([option, choice] for choice in choices[1].split(",") if choice != default)


def section(module: str, *subcommand: str) -> str:
    """One command, its subcommands, and what its deciding options change."""
    text = help_text(module, *subcommand)
    about = re.split(r"\n (?:positional arguments|options)\n", text.partition("\n")[2])[0].strip()
    rows = options(text)
    parts = [
        f"{'###' if subcommand else '##'} {' '.join(['python -m', module, *subcommand])}",
        re.sub(r"\n{3,}", "\n\n", about),
    ]
    if names := subcommands(text):
        return "\n\n".join([*parts, *(section(module, name) for name in names)])
    parts.append(table(rows))
    for arguments in variants(rows):
        other = options(help_text(module, *arguments))
        different = {
            name: said for name, said in other.items() if rows.get(name) != said and not name.startswith(arguments[0])
        }
        parts += [f"With `{' '.join(arguments)}`:", table(different)] if different else []
    return "\n\n".join(parts)


def page() -> str:
    """The whole reference."""
    return "\n\n".join([INTRODUCTION.strip(), *map(section, modules())]) + "\n"


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    PAGE.write_text(page())
    print(f"Written to {PAGE.relative_to(ROOT)}")
