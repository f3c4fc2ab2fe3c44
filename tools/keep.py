"""Keep what a run learned in a folder of `results/`.

    python -m tools.keep RUN results/door/NAME [--note "..."]

The folder gets `summary.json` (command, commit, machine, seed, outcome), the curve, the audit, the paper's panels, and
stills of the policy that `vision-pwil evaluate` has played. `make figures` then writes every table that shows the run.
"""

import json
import shlex
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from PIL import Image

from benchmarks.report import commit, machine
from vision_pwil.commands import plot
from vision_pwil.demonstrations.returns import expert_return
from vision_pwil.system import cli
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import read_json, replacing, write_text
from vision_pwil.system.run import BEST, EVALUATIONS, LATEST, flatten, read_curve
from vision_pwil.tasks import presets
from vision_pwil.tasks.playback import Playback
from vision_pwil.tasks.settings import Choice, ImitationConfig

STILLS, WIDTH = 7, 1680
COPIED = ("curve.csv", "audit.json", "audit.png")
ABOUT = ("env", "agent", "recipe", "reward", "ablation", "num_demos", "checksums")
"""Settings that a summary repeats."""


@dataclass(frozen=True)
class Keep:
    """Keep a run."""

    run: Annotated[Path, tyro.conf.Positional]
    """Run directory, best after `vision-pwil evaluate` has played its policy."""
    folder: Annotated[Path, tyro.conf.Positional]
    """Where to: a folder in `results/`, with -seedN at the end of its name where a setting has several seeds."""
    note: str = ""
    """What else should be known of the run: why it ended early or failed."""
    commit: str | None = None
    """Of the code that ran; by default that of the work tree."""


def usual(config: Mapping[str, Any]) -> tuple[list[str], ImitationConfig]:
    """The command that makes a run's choices, and the settings that it has by default."""
    choice = Choice(config["env"], config["agent"])
    words = ["vision-pwil train", f"--env {choice.env}", f"--agent {choice.agent}"]
    for name in ("recipe", "ablation", "reward"):  # an ablation may bring its reward
        if getattr(presets.defaults(choice), name) != config[name]:
            choice = replace(choice, **{name: config[name]})
            words.append(f"--{name} {config[name]}")
    return words, presets.defaults(choice)


def command_line(config: Mapping[str, Any]) -> str:
    """The command that gave a run its settings: its choices, and what differs from their defaults."""
    words, settings = usual(config)
    return " ".join([*words, *options(config, json.loads(json.dumps(asdict(settings), default=str)))])


def options(config: Mapping[str, Any], defaults: Mapping[str, Any]) -> Iterator[str]:
    """The options that make settings out of the defaults; of files only the name, since folders are one machine's."""
    given = flatten(config)
    for name, default in flatten(defaults).items():
        value = given[name]
        if name in ("run", "training.checkpoint_seconds") or value == default:
            continue
        option = f"--{name.rpartition('.')[2].replace('_', '-')}"
        if isinstance(value, bool):
            yield option if value else option.replace("--", "--no-", 1)
        elif name in ("demos", "encoder") and value is not None:
            yield shlex.join([option, Path(value).name])
        else:
            yield shlex.join([option, *map(str, value if isinstance(value, list) else [value])])


def summarize(run: Path, note: str, at: str) -> dict[str, Any]:
    """What a run was and where it came to.

    `evaluation` is what its last policy did when played, `chosen` what the one with the highest imitation return did in
    episodes of its own; each None where `vision-pwil evaluate` has not played it.
    """
    config, curve = read_json(run / "config.json"), read_curve(run)
    if not curve:
        raise InputError(f"{run} has no evaluation yet: wait for the first.")
    played = {name: run / EVALUATIONS[policy] for name, policy in (("evaluation", LATEST), ("chosen", BEST))}
    return {
        "command": command_line(config),
        "commit": at,
        "machine": machine(),
        **{name: config[name] for name in ABOUT},
        "seed": config["training"]["seed"],
        "steps_asked_for": config["training"]["steps"],
        "evaluation_episodes": config["training"]["evaluation_episodes"],
        "expert_return": expert_return(config["demos"]) if config["demos"] else None,
        "first": curve[0],
        "last": curve[-1],
        **{name: read_json(path) if path.exists() else None for name, path in played.items()},
        "note": note,
    }


def stills(run: Path, policy: str, episode: int) -> Image.Image:
    """An episode in large frames side by side: all of it where it can succeed, else a tenth of a second apart."""
    playback = Playback(run, policy)
    frames, rate = playback.film(episode)
    if playback.task.config.success is not None:
        chosen = frames[np.linspace(0, len(frames) - 1, STILLS).astype(int)]
    else:
        chosen = frames[len(frames) // 2 :: max(1, round(rate / 10))][:STILLS]
    picture = Image.fromarray(np.concatenate(chosen, axis=1))
    return picture.resize((WIDTH, round(picture.height * WIDTH / picture.width)))


def main(config: Keep) -> None:
    """Write the folder."""
    run, folder = config.run, config.folder
    summary = summarize(run, config.note, commit(config.commit))
    folder.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        if (run / name).exists():
            shutil.copyfile(run / name, folder / name)
    plot.draw(plot.Plot((run,), folder / "panels.png"))
    if summary["chosen"] or summary["evaluation"]:
        policy, episode = (BEST, summary["evaluation_episodes"]) if summary["chosen"] else (LATEST, 0)
        with replacing(folder / "stills.png") as temporary:
            stills(run, policy, episode).save(temporary)
    write_text(folder / "summary.json", json.dumps(summary, indent=2) + "\n")
    print(f"Kept in {folder}. Write the tables anew: make figures")


if __name__ == "__main__":
    cli.run(main)
