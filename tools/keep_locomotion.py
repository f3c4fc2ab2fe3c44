"""Keep what locomotion runs learned in `results/`, and write the table of all of them.

    python -m tools.keep_locomotion [RUN...] [--note "..."] [--out results/locomotion]

Each run gets a folder: `summary.json` (command, commit, machine, outcome), its curve and the paper's panels, and stills
of its best policy if `python -m vision_pwil.commands.evaluate RUN --best` has played it. The table in README.md, between its two
marks, is made from the summaries alone.
"""

import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from PIL import Image

from benchmarks.report import commit, machine
from vision_pwil import train_locomotion
from vision_pwil.commands import plot
from vision_pwil.commands.evaluate import EVALUATIONS, Player
from vision_pwil.system import cli
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import read_json, replacing, write_text
from vision_pwil.system.run import BEST, flatten, read_curve

BEGIN, END = "<!-- table -->\n", "<!-- end of table -->\n"
HEADER = (
    "| environment | agent | demonstrations | seed | steps | return | chosen | expert's return | W1 | greedy bound "
    "| command |\n|---|---|---|---|---|---|---|---|---|---|---|\n"
)
STILLS, WIDTH = 7, 1680
ORDER = ("d4pg", "td3", "sac", "dac", "bc")


@dataclass(frozen=True)
class Keep:
    """Keep runs of train_locomotion, and write the table anew."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional] = ()
    """Run directories; without any, only the table is written."""
    note: str = ""
    """Said of these runs: why one ended early or failed."""
    commit: str | None = None
    """Of the code that ran; by default that of the work tree."""
    out: Path = Path("results/locomotion")
    """Where a folder for each run, and README.md, are."""


def command_line(config: dict[str, Any]) -> str:
    """The command that gave a run its settings: the choices, and what differs from their defaults."""
    choice = train_locomotion.Choice(config["env"], config["agent"], config["ablation"])
    usual = flatten(json.loads(json.dumps(asdict(train_locomotion.defaults(choice)))))
    words = ["python -m vision_pwil.train_locomotion", f"--env {choice.env}", f"--agent {choice.agent}"]
    if choice.ablation != "none":
        words.append(f"--ablation {choice.ablation}")
    if config["demos"]:
        words.append(f"--demos {Path(config['demos']).name}")
    return " ".join([*words, *options(config, usual, ("demos", "run", "checksum"))])


def options(config: dict[str, Any], usual: dict[str, Any], left_out: tuple[str, ...]) -> Iterator[str]:
    """The options of a command that differ from what is usual."""
    for name, value in flatten(config).items():
        if name not in (*left_out, "training.checkpoint_seconds") and value != usual[name]:
            option = name.rpartition(".")[2].replace("_", "-")
            if isinstance(value, bool):
                yield f"--{option}" if value else f"--no-{option}"
            else:
                yield " ".join(map(str, [f"--{option}", *(value if isinstance(value, list) else [value])]))


def expert_return(demos: str | None) -> float | None:
    """Mean return of the demonstrations, where their file knows it."""
    if demos is None or not demos.endswith(".npz"):
        return None
    with np.load(demos) as arrays:
        return float(arrays["returns"].mean()) if "returns" in arrays else None


def summarize(run: Path, note: str, at: str) -> dict[str, Any]:
    """What a run was and where it came to: its last evaluation, the one with the highest task return, and what the
    policy with the highest imitation return did in episodes of its own, where `evaluate --best` has played it."""
    config, curve, chosen = read_json(run / "config.json"), read_curve(run), run / EVALUATIONS[BEST]
    if not curve:
        raise InputError(f"{run} has no evaluation yet: wait for the first.")
    return {
        "command": command_line(config),
        "commit": at,
        "machine": machine(),
        **{name: config[name] for name in ("env", "agent", "ablation", "num_demos")},
        "seed": config["training"]["seed"],
        "steps_asked_for": config["training"]["steps"],
        "evaluation_episodes": config["training"]["evaluation_episodes"],
        "expert_return": expert_return(config["demos"]),
        "first": curve[0],
        "last": curve[-1],
        "best": max(curve, key=lambda row: row["task_return"]),
        "chosen": read_json(chosen) if chosen.exists() else None,
        "note": note,
    }


def row(folder: str, summary: dict[str, Any]) -> str:
    """A line of the table."""
    name = summary["agent"] if summary["ablation"] == "none" else f"{summary['agent']}, {summary['ablation']}"
    last, expert = summary["last"], summary["expert_return"]
    cells = (
        f"[{summary['env']}]({folder}/summary.json)",
        name,
        summary["num_demos"],
        summary["seed"],
        f"{last['step'] / 1000:.0f}k",
        _number(last["task_return"]),
        _number(chosen["mean"]["task_return"]) if (chosen := summary.get("chosen")) else "-",
        "-" if expert is None else _number(expert),
        f"{last['w1']:.3g}",
        f"{last['greedy_w1']:.3g}",
        f"`{summary['command']}`" + (f" ({summary['note']})" if summary["note"] else ""),
    )
    return "| " + " | ".join(map(str, cells)) + " |\n"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def table(out: Path) -> str:
    """All runs kept in `out`: by environment, then the paper's agent first and its baselines last."""
    found = {path.parent.name: json.loads(path.read_text()) for path in sorted(out.glob("*/summary.json"))}
    ordered = sorted(found.items(), key=lambda item: (item[1]["env"], ORDER.index(item[1]["agent"]), item[0]))
    return HEADER + "".join(row(folder, summary) for folder, summary in ordered)


def stills(run: Path, episode: int) -> Image.Image:
    """The policy with the highest imitation return, in the middle of an episode, a tenth of a second between frames."""
    frames, rate = Player(run, BEST).film(episode)
    stride = max(1, round(rate / 10))
    return side_by_side(frames[len(frames) // 2 :: stride][:STILLS])


def side_by_side(frames: np.ndarray) -> Image.Image:
    """Frames as one picture."""
    picture = Image.fromarray(np.concatenate(frames, axis=1))
    return picture.resize((WIDTH, round(picture.height * WIDTH / picture.width)))


def main(config: Keep) -> None:
    """Keep the runs, write the table."""
    at = commit(config.commit)
    for run in config.runs:
        folder = config.out / run.resolve().name
        summary = summarize(run, config.note, at)
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(run / "curve.csv", folder / "curve.csv")
        plot.draw(plot.Plot((run,), folder / "panels.png"))
        if summary["chosen"]:
            with replacing(folder / "stills.png") as temporary:
                stills(run, summary["evaluation_episodes"]).save(temporary)
        write_text(folder / "summary.json", json.dumps(summary, indent=2) + "\n")
    page = config.out / "README.md"
    before, begin, rest = page.read_text().partition(BEGIN) if page.exists() else ("# Locomotion\n\n", BEGIN, END)
    if not begin or END not in rest:
        raise InputError(f"{page} has no place for the table: it belongs between {BEGIN!r} and {END!r}.")
    write_text(page, before + BEGIN + table(config.out) + END + rest.partition(END)[2])
    print(f"The table is in {page}.")


if __name__ == "__main__":
    cli.run(main)
