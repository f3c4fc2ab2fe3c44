"""Damage and kills: `python -m benchmarks.robustness` mutates every format that is read, and kills every kind of run.

A damaged file must give one sentence or what the undamaged one gives (where a format has no checksum, other content);
never a traceback, a crash, a hang, or a changed run. A killed run must end in the same bits as an undisturbed one, and
leave no process behind. What is done is kept in `--work`, and the same command goes on from there.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from tqdm import tqdm

from benchmarks import kills, mutations
from benchmarks.report import commit, write_report
from vision_pwil.system import cli
from vision_pwil.system.settings import Settings, Whole
from vision_pwil.system.table import table


@dataclass(frozen=True)
class Robustness(Settings):
    """Mutate files, kill runs, and count what comes of it."""

    files: Annotated[tuple[Path, ...], tyro.conf.Positional] = ()
    """Files or folders of demonstrations to mutate beside those that are made here."""
    mutations: Whole = 10_000
    """Files to damage, every format in turn."""
    kills: Whole = 100
    """Runs to kill with SIGKILL, every kind in turn."""
    seed: Whole = 0
    """Of the damage and of the moments."""
    work: Path = Path("runs/robustness")
    """Where runs and records are kept, to go on from after an interruption; not after the code has changed."""
    out: Path = Path("results/robustness")
    """Where the tables go."""


def kept(path: Path) -> list[dict[str, Any]]:
    """The records so far; a line that was being written when a process died is not one."""
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]


def keep(path: Path, records: Iterable[dict[str, Any]], at: str) -> Iterator[dict[str, Any]]:
    """Append records as they come, each with the commit that it was made at."""
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = "".join(f"{json.dumps(record)}\n" for record in kept(path))
    path.write_text(whole)
    with path.open("a", buffering=1) as file:
        for record in ({**each, "commit": at} for each in records):
            file.write(json.dumps(record) + "\n")
            yield record


def main(config: Robustness) -> None:
    """Mutate, kill, write the tables."""
    damaged, killed = config.work / "mutations.jsonl", config.work / "kills.jsonl"
    known, at = kept(damaged), commit()
    done = {(record["format"], record["index"]) for record in known}
    fresh = mutations.run(config.mutations, config.seed, config.files, done)
    known += tqdm(keep(damaged, fresh, at), "mutations", max(config.mutations - len(done), 0), dynamic_ncols=True)
    ended = kept(killed)
    fresh = kills.run(config.kills, config.seed, config.work, ended)
    ended += tqdm(keep(killed, fresh, at), "killed runs", unit="run", dynamic_ncols=True)

    by_format: dict[str, Counter[str]] = {}
    for record in known:
        by_format.setdefault(record["format"], Counter())[record["outcome"]] += 1
    rows = [(name, c.total(), *(c[outcome] for outcome in mutations.OUTCOMES)) for name, c in by_format.items()]
    everything = sum(by_format.values(), Counter())
    rows.append(("all", everything.total(), *(everything[outcome] for outcome in mutations.OUTCOMES)))
    runs = []
    for name in dict.fromkeys(record["case"] for record in ended):
        own = [record for record in ended if record["case"] == name]
        sums = (sum(record[key] for record in own) for key in ("kills", "aimed", "same", "orphans"))
        runs.append((name, len(own), *sums))
    escaped = sum(everything[outcome] for outcome in mutations.FAULTS)
    inexact = sum(record["kills"] for record in ended if not record["same"])
    given = sum(record["kills"] for record in ended)
    lines = [
        f"{everything.total():,} damaged files were read: {escaped} faults. {given} times a training was killed: "
        f"{inexact} times it ended otherwise than undisturbed.",
        "",
        "Damaged files, and what came of reading them. Only formats without a checksum may give other content.",
        "",
        table(("file", "mutations", *mutations.OUTCOMES), rows),
        "",
        "Killed runs: SIGKILL at random moments, or aimed at a file being written; then continued to the end and",
        "compared bit for bit with an undisturbed run. Orphans are processes that were alive a minute after a kill.",
        "",
        table(("command", "runs", "kills", "aimed", "same in the end", "orphans"), runs),
    ]
    commits = {
        what: sorted({record["commit"] for record in records}) for what, records in (("files", known), ("runs", ended))
    }
    lines += ["", *(f"The {what} were made at {', '.join(found)}." for what, found in commits.items())]
    faults = [record for record in known if record["outcome"] in mutations.FAULTS]
    summary = {
        "seed": config.seed,
        "mutations": everything.total(),
        "escaped": escaped,
        "kills": given,
        "kills_inexact": inexact,
        "commits": commits,
        "formats": {name: dict(c) for name, c in by_format.items()},
        "faults": faults,
        "runs": ended,
    }
    write_report(config.out, "Damage and kills", lines, summary, "benchmarks.robustness")


if __name__ == "__main__":
    cli.run(main)
