"""What W1 and the imitation return say of the door's demonstrations done faster, less exactly, or not to the end.

    python -m benchmarks.pace

Held-out demonstrations that ship with the package, changed in a known way, against all the others: how much of a
policy's distance is its pace, and at which `--pace` opening the door in haste stops paying more than never opening it.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.report import write_report
from vision_pwil.system import cli
from vision_pwil.system.progress import progress
from vision_pwil.system.table import table
from vision_pwil.tasks import presets
from vision_pwil.tasks.atoms import points_of, weighted
from vision_pwil.tasks.comparison import Comparison
from vision_pwil.tasks.door import ENV_ID
from vision_pwil.tasks.imitation import find_demonstrations, find_encoder
from vision_pwil.tasks.making import finishes, make_env
from vision_pwil.tasks.settings import Choice
from vision_pwil.verdict.behaviour import Behaviour, unfinished

PACES = (0.0, 1.0, 2.0, 4.0)
EVERY = 5
"""One demonstration in so many is held out in turn."""


def changed(points: np.ndarray, number: int, horizon: int) -> Iterator[Behaviour]:
    """A demonstration as it is, faster, with every frame moved by a fixed distance, and stopped before its end."""
    yield Behaviour("as shown", points, absorbed=True)
    for speed in (2, 3):
        yield Behaviour(f"{speed} times as fast", points[speed - 1 :: speed], absorbed=True)
    for distance, speed in ((1.0, 1), (1.5, 1), (1.5, 3)):
        path = points[speed - 1 :: speed]
        moved = path + distance * directions(path.shape, number)
        pace = "" if speed == 1 else f", {speed} times as fast"
        yield Behaviour(f"every frame {distance} away{pace}", moved, absorbed=True)
    for share in (0.8, 0.6):
        shown = points[: round(share * len(points))]
        yield unfinished(f"stopped at {share:.0%}, waiting there", shown, number, horizon)


def directions(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Random unit vectors, one a row."""
    vectors = np.random.default_rng(seed).normal(size=shape)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def main(out: Path = Path("results/door-pace")) -> None:
    """Print the table and write it, with the machine and the commit, to `out`."""
    config = presets.defaults(Choice(ENV_ID))
    env = make_env(config)
    demonstrations = find_demonstrations(config, env)
    episodes = points_of(demonstrations, "frames", find_encoder(config, demonstrations))
    ended, rows = finishes(demonstrations), dict[str, list[list[float]]]()
    for held_out in progress(range(0, len(episodes), EVERY), desc="scoring", unit="demonstration"):
        others = [number for number in range(len(episodes)) if number != held_out]
        shown, finished = [episodes[number] for number in others], [ended[number] for number in others]
        comparisons = [
            Comparison(
                config.reward,
                replace(config.task, pace=pace),
                weighted(shown, finished, env.horizon, config.task.ending, timed=pace > 0),
                env.horizon,
            )
            for pace in PACES
        ]
        for behaviour in changed(episodes[held_out], held_out, env.horizon):
            w1 = comparisons[0].score(behaviour.points, absorbed=behaviour.absorbed).w1
            paid = [each.pay(behaviour.points, absorbed=behaviour.absorbed).rewards.sum() for each in comparisons]
            rows.setdefault(behaviour.group, []).append([w1, *map(float, paid)])
    means = {name: np.mean(values, axis=0) for name, values in rows.items()}
    header = ("held-out demonstrations", "W1", *(f"return, pace {pace:g}" for pace in PACES))
    lines = [table(header, [(name, f"{w1:.2f}", *(f"{r:.0f}" for r in paid)) for name, (w1, *paid) in means.items()])]
    print(*lines, sep="\n")
    summary = {
        "held_out": len(range(0, len(episodes), EVERY)),
        "paces": PACES,
        "behaviours": {name: {"w1": values[0], "returns": list(values[1:])} for name, values in means.items()},
    }
    write_report(out, "What pace and precision are worth on the door", lines, summary, "benchmarks.pace")


if __name__ == "__main__":
    cli.run(main)
