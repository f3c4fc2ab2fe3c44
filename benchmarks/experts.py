"""What the expert itself earns: every demonstration the agent is not shown, under the reward of those it is.

`python -m benchmarks.experts Hopper-v5.npz` says what an imitator can hope for before anyone trains one. Where the
expert's other episodes earn next to nothing, the reward does not recognise the task, and no agent can learn it. And
where they earn less than blind play, which repeats the actions of the first demonstration shown whatever it sees, the
reward asks for something else than the task.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import tyro
from tqdm import tqdm
from vision_pwil.tasks.locomotion_task import Ablation, Expert, LocomotionTask, LocomotionTaskFactory

from benchmarks.report import write_report
from vision_pwil.demonstrations import Demonstrations, Episode, choose, read, subsample
from vision_pwil.envs.flat import FlatEnv
from vision_pwil.rewards.wasserstein import exact_w1
from vision_pwil.system import cli
from vision_pwil.system.errors import InputError
from vision_pwil.system.table import table
from vision_pwil.train_locomotion import ASSETS, Choice, defaults, require_dimensions

ABLATIONS: tuple[Ablation, ...] = ("none", "state", "l2", "support")
"""PWIL-nofill has PWIL's reward."""


@dataclass(frozen=True)
class Benchmark:
    """Let the expert's episodes earn each other's reward."""

    demos: Annotated[tuple[Path, ...], tyro.conf.Positional] = ()
    """Files of demonstrations, each named after its environment: Hopper-v5.npz. By default those that ship."""
    counts: tuple[int, ...] = (1, 4)
    """Demonstrations shown."""
    seeds: int = 3
    """Draws of the demonstrations shown; those of seeds 0, 1, ... of `train_locomotion`."""
    min_deviation: float = 0.0
    """That of `train_locomotion`; PWIL-L2 has none."""
    dimensions: tuple[int, ...] = ()
    """Those of `train_locomotion`: of the state, what the reward compares."""
    out: Path = Path("results/locomotion-experts")
    """Where the table goes."""


class Score(NamedTuple):
    """Of one episode that was not shown."""

    imitation_return: float
    w1: float


def arrays(episodes: Iterable[Episode]) -> tuple[np.ndarray, np.ndarray]:
    """All states and all actions of episodes that have both."""
    both = [(np.asarray(episode.states), np.asarray(episode.actions)) for episode in episodes]
    return np.concatenate([states for states, _ in both]), np.concatenate([actions for _, actions in both])


def task_of(env: str, shown: Demonstrations, ablation: Ablation, seed: int, benchmark: Benchmark) -> LocomotionTask:
    """The environment under the reward of the demonstrations shown."""
    config = defaults(Choice(env, ablation=ablation))
    points = arrays(subsample(shown, seed, config.subsample).episodes)
    expert = Expert(*points, ablation, config.alpha, config.beta, benchmark.min_deviation, benchmark.dimensions)
    return LocomotionTaskFactory(env, config.horizon, expert).build()


def scores(task: LocomotionTask, demonstrations: Demonstrations, shown: Demonstrations) -> Iterator[Score]:
    """The episodes not shown, one after the other."""
    assert task.expert is not None
    for episode in demonstrations.episodes:
        if any(episode is known for known in shown.episodes):
            continue
        pairs = np.hstack(arrays([episode]))
        rewards = task.rewarder.episode(task.expert.compared(pairs)).rewards
        yield Score(float(rewards.sum()), exact_w1(task.metric(pairs), task.atoms))


def blind(task: LocomotionTask, shown: Demonstrations, episodes: int) -> list[float]:
    """Imitation returns of the first demonstration's actions, played in fresh episodes without looking."""
    actions = task.env.bounds.to_policy(np.asarray(shown.episodes[0].actions))
    last = len(actions) - 1
    played = (task.rollout(lambda _, step: actions[min(step, last)], seed) for seed in range(episodes))
    return [trajectory.statistics["return"] for trajectory in played]


def span(values: np.ndarray) -> str:
    """Lowest and highest."""
    return f"{number(values.min())} to {number(values.max())}"


def number(value: float) -> str:
    """As many digits as are of interest."""
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.2g}" if value >= 0.01 else "0"


def main(config: Benchmark) -> None:
    """Score, write the table."""
    rows: list[tuple[object, ...]] = []
    summary = []
    files = config.demos or (ASSETS / "Hopper-v5.demos", ASSETS / "Reacher-v5.demos")
    cases = [(path, count, ablation) for path in files for count in config.counts for ablation in ABLATIONS]
    for path, count, ablation in tqdm(cases, unit="case", dynamic_ncols=True):
        env, demonstrations = path.stem, read(path)
        played = FlatEnv(env)
        played.require(demonstrations, actions=True)
        require_dimensions(config.dimensions, played)
        if count >= len(demonstrations):
            raise InputError(f"{path} has {len(demonstrations)} episodes, so --counts {count} leaves none to score.")
        found, blindly = [], []
        for seed in range(config.seeds):
            shown = choose(demonstrations, count, seed)
            task = task_of(env, shown, ablation, seed, config)
            found.append(list(scores(task, demonstrations, shown)))
            blindly.append(blind(task, shown, len(found[-1])))
        returns, distances = np.moveaxis(np.array(found), -1, 0)
        name = "PWIL" if ablation == "none" else f"PWIL-{ablation}"
        means = number(returns.mean()), number(float(np.mean(blindly)))
        rows.append((env, count, name, *map(span, returns), *means, span(distances)))
        summary.append({"env": env, "demonstrations": count, "ablation": ablation, "seeds": found, "blind": blindly})
    seeds = [f"seed {seed}" for seed in range(config.seeds)]
    lines = [
        "Imitation return of the episodes in the file that are not among those shown: lowest to highest for each seed,",
        "and the mean of all. The largest possible is alpha T: 5,000, on Reacher 250. W1 is of standardised pairs.",
        "Blind play repeats the actions of the first demonstration shown in as many fresh episodes: mean of all.",
        "",
        table(("environment", "shown", "reward", *seeds, "mean", "blind", "W1"), rows),
    ]
    title = "What the expert's episodes that are not shown earn"
    write_report(config.out, title, lines, {"cases": summary}, "benchmarks.experts")


if __name__ == "__main__":
    cli.run(main)
