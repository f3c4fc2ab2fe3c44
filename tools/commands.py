"""Write docs/commands.md from the `--help` of every command: `python tools/commands.py`."""

import ast
import contextlib
import io
import os
import re
import runpy
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "commands.md"
WIDTH = 120
"""Of the terminal that the commands think they print to; in a much wider one options stand in two columns."""
PROGRAM = "vision-pwil"
DECIDING = ("--env", "--agent", "--recipe", "--reward", "--ablation")
"""Options that decide the defaults of others, and which others there are."""
DOOR, HOPPER = "--env vision_pwil/AdroitDoor-v0", "--env Hopper-v5"
VARIANTS = {
    "vision-pwil train": (
        DOOR,
        HOPPER,
        *("--env ID --recipe paper", "--env ID --agent d4pg", "--env ID --agent td3", "--env ID --reward task"),
        *(f"{HOPPER} --agent td3", f"{HOPPER} --agent dac", f"{HOPPER} --agent bc"),
        *(f"{HOPPER} --ablation {name}" for name in ("state", "l2", "nofill", "support")),
    ),
    "vision-pwil audit": (DOOR, HOPPER),
    "vision-pwil encoder train": ("--recipe paper",),
}
"""Values of deciding options to document: each line is compared with the same line without its last option."""
SAME = {
    "vision-pwil encoder crossvalidate": "vision-pwil encoder train",
    "python -m vision_pwil.tcc.train": "vision-pwil encoder train",
    "python -m vision_pwil.train_door": f"vision-pwil train {DOOR}",
    "python -m vision_pwil.train_locomotion": f"vision-pwil train {HOPPER}",
}
"""Commands that take the options of another one; --env may have another default."""
INTRODUCTION = """# Commands

What `--help` says, as `python tools/commands.py` wrote it. `vision-pwil` and `python -m vision_pwil` are one program;
the second also finds modules in the current folder. `--env`, `--agent`, `--recipe`, `--reward` and `--ablation` decide
the defaults of other options, or which others there are: what differs is listed below the command. Bad input ends a
command with one sentence and exit status 2, Ctrl-C with 130; a training of an agent that was asked to stop has saved
its state and ends with 0.
"""

Words = Sequence[str]


def commands() -> list[tuple[str, ...]]:
    """Every command as it is typed, without its subcommands: the program's, then modules of the package, benchmarks."""
    from vision_pwil.commands import COMMANDS

    paths = [*(ROOT / "vision_pwil").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
    runnable = [path.relative_to(ROOT) for path in paths if runs(path.read_text())]
    modules = sorted(".".join(path.with_suffix("").parts) for path in runnable if path.stem != "__main__")
    modules.sort(key=lambda module: not module.startswith("vision_pwil"))
    return [*((PROGRAM, name) for name in COMMANDS), *(("python", "-m", module) for module in modules)]


def runs(source: str) -> bool:
    """Whether a module does something when it is run; one that holds such a text in a string does not count."""
    tests = [ast.unparse(node.test) for node in ast.parse(source).body if isinstance(node, ast.If)]
    return "__name__ == '__main__'" in tests


def plain(words: Words) -> tuple[str, ...]:
    """A command line with the program under one name."""
    return (PROGRAM, *words[3:]) if tuple(words[:3]) == ("python", "-m", "vision_pwil") else tuple(words)


def help_text(*words: str) -> str:
    """What a command line prints with --help, in this process: one import serves all commands."""
    module, arguments = ("vision_pwil", words[1:]) if words[0] == PROGRAM else (words[2], words[3:])
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
    nested = re.search(r"\{([\w,-]+)\}(?: \[OPTIONS\])?$", text.partition("\n")[0])
    return nested[1].split(",") if nested else []


def table(rows: dict[str, str]) -> str:
    """Options as Markdown."""
    lines = [f"| `{name}` | {said} |".replace("{None}|", "None or ") for name, said in rows.items()]
    return "\n".join(["| option | |", "|---|---|", *lines])


def news(words: Words, known: Words) -> dict[str, str]:
    """The options of a command line that are not those of another one."""
    before = options(help_text(*known))
    return {name: said for name, said in options(help_text(*words)).items() if before.get(name) != said}


def section(*words: str) -> str:
    """One command, its subcommands, and what its deciding options change."""
    line, text = " ".join(words), help_text(*words)
    about = re.split(r"\n (?:positional arguments|options)\n", text.partition("\n")[2])[0].strip()
    nested = words[0] == PROGRAM and len(words) > 2
    parts = [f"{'###' if nested else '##'} {line}", re.sub(r"\n{3,}", "\n\n", about)]
    if line in SAME:
        other = {name: said for name, said in news(words, SAME[line].split()).items() if name != "--env STR"}
        parts.append(f"Options and defaults are those of `{SAME[line]}`{', but for:' if other else '.'}")
        return "\n\n".join([*parts, *([table(other)] if other else [])])
    if names := subcommands(text):
        return "\n\n".join([*parts, *(section(*words, name) for name in names)])
    parts.append(table(options(text)))
    for variant in VARIANTS.get(line, ()):
        *before, option, _ = arguments = variant.split()
        different = news([*words, *arguments], [*words, *before])
        different = {name: said for name, said in different.items() if name.split()[0] != option}
        parts += [f"With `{variant}`:", table(different)] if different else []
    return "\n\n".join(parts)


def page() -> str:
    """The whole reference."""
    return "\n\n".join([INTRODUCTION.strip(), *(section(*words) for words in commands())]) + "\n"


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    PAGE.write_text(page())
    print(f"Written to {PAGE.relative_to(ROOT)}")
