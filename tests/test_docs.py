"""The documentation holds: links lead somewhere, commands have their options, code compiles, worked examples run."""

import ast
import functools
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise, takewhile
from pathlib import Path

import pytest

from tools import commands, pages
from tools.pages import blocks

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    path for pattern in ("*.md", "docs/*.md", "results/**/*.md", "notebooks/*.md") for path in ROOT.glob(pattern)
)
RECORDS = ("table.md", "all-runs.md")
"""Written by benchmarks and tools: the commands in them are those of the commit that they name."""
WRITTEN = [page for page in PAGES if page != commands.PAGE and page.name not in RECORDS]  # by people
EXAMPLES = {
    "own-environment.md": [],
    "own-videos.md": ["own-environment.md"],
    "library.md": ["own-environment.md", "own-videos.md"],
}
"""Pages whose every block runs, with the pages whose files they build on."""
TARGETS = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)


def command_lines(page: str) -> Iterator[list[str]]:
    """The words of each command in blocks and in `code`; a line that ends in a backslash goes on."""
    shell = [block.text for block in blocks(page) if block.language in ("", "sh")]
    inline = [code for code in re.findall(r"`([^`\n]+)`", page) if re.match(r"(vision-pwil|python|make) ", code)]
    for line in "\n".join([*shell, *inline]).replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        while words and re.match(r"\w+=", words[0]):  # variables before a command
            words.pop(0)
        if words and words[0] in (commands.PROGRAM, "python", "make"):
            yield words


@functools.cache
def help_text(*words: str) -> str:
    return commands.help_text(*words)


@functools.cache
def known_commands() -> list[tuple[str, ...]]:
    return commands.commands()


def complaint(typed: list[str]) -> str | None:
    """What is wrong with a documented command line, if anything."""
    words = commands.plain([*takewhile(lambda word: word != "--", typed)])  # what follows is for others
    if words[0] == "make":
        return next((f"no target {word}" for word in words[1:] if "=" not in word and word not in TARGETS), None)
    if words[0] == "python" and (words[1] != "-m" or not words[2].startswith(("vision_pwil", "benchmarks"))):
        return None
    if words in [(commands.PROGRAM,), (commands.PROGRAM, "--help"), (commands.PROGRAM, "--version")]:
        return None
    command = next((known for known in known_commands() if words[: len(known)] == known), None)
    if command is None:
        return f"no command {words[1] if words[0] == commands.PROGRAM else words[2]}"
    arguments = words[len(command) :]
    if names := commands.subcommands(help_text(*command)):
        if arguments and arguments[0] not in [*names, "--help"]:
            return f"no subcommand {arguments[0]}"
        command, arguments = (*command, *arguments[:1]), arguments[1:]
    deciding = [word for pair in pairwise(arguments) if pair[0] in commands.DECIDING for word in pair]
    known = re.findall(r"--[a-z][\w-]*", " ".join(commands.options(help_text(*command, *deciding))))
    named = [word.partition("=")[0] for word in arguments if word.startswith("--")]
    return next((f"no option {option}" for option in named if option not in [*known, "--help"]), None)


def links(page: str) -> list[str]:
    prose = re.sub(r"^```.*?^```$|`[^`\n]+`", "", page, flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"\]\(([^)\s]+)\)", prose)


def anchors(page: str) -> set[str]:
    """The names that a heading has as the end of a link."""
    headings = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(link: str, page: Path) -> bool:
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    if not target.exists():
        return True
    return bool(anchor) and anchor not in anchors(target.read_text())


def test_no_run_directory_serves_two_trainings() -> None:
    """Who follows one page after the other is never told that a directory holds another run."""
    used: dict[str, set[str]] = {}
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for words in command_lines(page.read_text()):
            line = " ".join(words)
            if re.search(r" train |[.]train_", line):
                for folder in re.findall(r"--(?:run|out) (runs/\S+)", line):
                    used.setdefault(folder, set()).add(line)
        for folder in re.findall(r'(?:run|out)="(runs/[^"]+)"', page.read_text()):
            used.setdefault(folder, set()).add(page.name)
    assert len(used) > 8
    assert {folder: lines for folder, lines in used.items() if len(lines) > 1} == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    local = [link for link in links(page.read_text()) if not link.startswith(("https://", "http://"))]
    assert not [link for link in local if broken(link, page)]


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_named_in_the_text_exist(page: Path) -> None:
    named = re.findall(r"`((?:vision_pwil|tests|tools|benchmarks|docs|results)/[\w./-]+)`", page.read_text())
    environments = ("vision_pwil/AdroitDoor-v0",)
    assert not [path for path in named if not (ROOT / path).exists() and path not in environments]


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_have_their_options(page: Path) -> None:
    wrong = [(" ".join(words), complaint(words)) for words in command_lines(page.read_text())]
    assert not [line for line in wrong if line[1]]


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_compiles_and_its_imports_exist(page: Path) -> None:
    for block in blocks(page.read_text()):
        for node in ast.parse(block.text).body if block.language == "python" else ():
            if isinstance(node, ast.Import | ast.ImportFrom) and not re.search(r"\b(cross|draw)\b", ast.unparse(node)):
                exec(compile(ast.Module([node], []), page.name, "exec"), {})  # cross and draw are the pages' own


def test_a_wrong_page_is_found_out() -> None:
    page = """
```sh
python -m vision_pwil.train_door --steps 10 --recipe paper   # --not-an-option
OMP_NUM_THREADS=1 python -m vision_pwil.train_door \\
    --stepz 10
vision-pwil train --env Hopper-v5 --agent sac --polyak 0.01
vision-pwil train --env Hopper-v5 --polyak 0.01
python -m vision_pwil train --env Hopper-v5 --polyak 0.01
vision-pwil encoder evaluates
make door STEPS=10
make doors
```

    vision-pwil trains
    python -m vision_pwil.nothing
    vision-pwil demonstrations render a b --sheet c
    vision-pwil demonstrations render a b --only-absorbing
    vision-pwil demonstrations rendered
    vision-pwil sweep door-seeds -- --any

and `python -m benchmarks.sac --batches 3`.
"""
    assert [complaint(words) for words in command_lines(page)] == [
        None,
        "no option --stepz",
        None,
        "no option --polyak",
        "no option --polyak",
        "no subcommand evaluates",
        None,
        "no target doors",
        "no command trains",
        "no command vision_pwil.nothing",
        None,
        "no option --only-absorbing",
        "no subcommand rendered",
        None,
        "no option --batches",
    ]
    readme = ROOT / "README.md"
    assert not broken("docs/choices.md#the-door", readme)
    assert broken("docs/choices.md#the-window", readme) and broken("docs/nothing.md", readme)
    assert links("[a](b.md) `[c](d.md)` ![e](f.png)\n```sh\n[g](h)\n```\n") == ["b.md", "f.png"]


def test_the_command_reference_is_up_to_date() -> None:
    assert commands.PAGE.read_text() == commands.page(), "write it anew: python tools/commands.py"


def readme(word: str) -> str:
    """The README's example that has this word."""
    (example,) = (block.text for block in blocks((ROOT / "README.md").read_text()) if word in block.text)
    return example


def test_the_readmes_reward_pays_another_librarys_agent(tmp_path: Path) -> None:
    example = readme("stable_baselines3")
    short = example.replace("1_000_000", "150")  # steps, of which 50 are learned from
    assert short != example
    subprocess.run([sys.executable, "-c", short], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)


def test_the_readme_goes_from_videos_to_a_policy(tmp_path: Path) -> None:
    """Its very lines, with fewer updates and steps, on the videos of docs/own-videos.md."""
    for page in ("own-environment.md", "own-videos.md"):
        pages.save_scripts(ROOT / "docs" / page, tmp_path)
    few = "updates=30, iteration=30, subsampling=4, validation=3, threads=1"
    short = (
        "steps=120, random_steps=60, batch_size=8, hidden=(8,), evaluation_interval=80, evaluation_episodes=1, "
        "audit=False"
    )
    example = readme("pwil.train(").replace("updates=2_000", few).replace("steps=100_000", short)
    assert few in example and short in example and len(readme("pwil.train(").splitlines()) <= 16
    (tmp_path / "example.py").write_text(example)
    (tmp_path / "videos").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for script in ("draw.py", "example.py"):
        done = subprocess.run(
            [sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, done.stderr
    tau, verdict, *_, earned = done.stdout.splitlines()
    assert re.search(r"videos: -?[01]\.\d\d$", tau) and "separation" in verdict and "filmed in" in earned, done.stdout
    assert (tmp_path / "runs" / "library" / "policy.mp4").stat().st_size > 1000
    assert (tmp_path / "runs" / "library" / "evaluation.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("page", EXAMPLES)
def test_worked_examples_run(page: str, tmp_path: Path) -> None:
    pages.run(tmp_path, [ROOT / "docs" / name for name in (*EXAMPLES[page], page)], OMP_NUM_THREADS="1")
