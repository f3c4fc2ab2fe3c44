"""Every headline figure: what it says, what is aimed at, and from which records in `results/` it comes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tools.records import RESULTS, Source, difference, expert_w1, field, held_out_w1, last_ten, ratio, seeds

DOOR = {
    "human": "door/human-shared",
    "shipped": "door/embedded",
    "near": "door/near-human",
    "smooth": "door/smooth",
}
"""The settings whose seeds are listed; those of the first three are the door's figures."""
LOCOMOTION = {
    "Hopper-v5": "locomotion/Hopper-v5-d4pg",
    "HalfCheetah-v5": "locomotion/HalfCheetah-v5-d4pg-nofill-normalized",
    "Walker2d-v5": "locomotion/Walker2d-v5-d4pg-normalized",
    "Ant-v5": "locomotion/Ant-v5-d4pg-deviation0.5",
    "Humanoid-v5": "locomotion/Humanoid-v5-d4pg-nofill-beta2",
    "Reacher-v5": "locomotion/Reacher-v5-d4pg-fingertip-sigma0.05",
}
"""The setting of each environment whose seeds are its figures."""
SHARES = {"Hopper-v5": 0.9, "HalfCheetah-v5": 0.9, "Walker2d-v5": 0.9, "Ant-v5": 0.9, "Humanoid-v5": 5_000 / 10_089}
"""Targets: shares of the expert's return; on Humanoid a return of 5,000."""
DRAWN = {
    "door": ("AdroitHandDoor-v1", "the door", 40),
    "hammer": ("AdroitHandHammer-v1", "hammer", 20),
    "relocate": ("AdroitHandRelocate-v1", "relocate", 20),
    "fetch": ("FetchPush-v4", "FetchPush", 20),
}
"""Environments that the renderer is timed on, what they are called, and how many times faster it should be."""

AGGREGATES: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": lambda numbers: float(np.mean(numbers)),
    "lowest": min,
    "number": len,
}
FORMATS: dict[str, Callable[[float], str]] = {
    "share": lambda value: f"{100 * value:.3g}%",
    "times": "{:.3g} times".format,
    "steps a second": "{:.0f} steps a second".format,
    "seconds": "{:.0f} s".format,
    "tau": "{:.3g}".format,
    "correlation": "{:.2g}".format,
    "return": "{:.1f}".format,
    "count": "{:,.0f}".format,
}
"""How a value is shown, by its unit."""


@dataclass(frozen=True)
class Figure:
    """One headline figure."""

    name: str
    """Its parts separated by dots."""
    says: str
    """What it is about, in one line that a person can read."""
    unit: str
    """A key of FORMATS."""
    runs: Sequence[str]
    """Folders in `results/`: every seed of the setting."""
    source: Source
    """The number of one run."""
    target: float | None = None
    """What is aimed at."""
    at_most: bool = False
    """Whether the target is an upper bound."""
    aggregate: str = "mean"
    """How the runs' numbers become one: a key of AGGREGATES."""
    missing: str = "not measured yet"
    """Why there is no value, where there is none."""

    @property
    def each(self) -> list[float | None]:
        """The numbers of the runs, in their order."""
        return [self.source.of(run) for run in self.runs]

    @property
    def value(self) -> float | None:
        """None where there is no run, or one lacks the record."""
        numbers = [number for number in self.each if number is not None]
        if not numbers or len(numbers) < len(self.runs):
            return None
        return AGGREGATES[self.aggregate](numbers)

    def show(self, value: float | None) -> str:
        """A number in the figure's unit."""
        return "-" if value is None else FORMATS[self.unit](value)

    @property
    def shown(self) -> str:
        """The value, and every seed's where there are several."""
        several = len(self.runs) > 1 and self.aggregate == "mean" and self.value is not None
        return self.show(self.value) + (f" ({', '.join(map(self.show, self.each))})" if several else "")

    @property
    def aim(self) -> str:
        """The target in words."""
        if self.target is None:
            return "-"
        return f"{'at most' if self.at_most else 'at least'} {self.show(self.target)}"

    def record(self) -> dict[str, Any]:
        """As it stands in figures.json."""
        value = self.value
        return {
            "sentence": f"{self.says}: {self.missing if value is None else self.shown}",
            "value": value,
            "unit": self.unit,
            "target": self.target,
            "target_is": None if self.target is None else "at most" if self.at_most else "at least",
            "runs": list(self.runs),
            "each": self.each,
            "how": f"{self.aggregate} {'of runs with' if self.aggregate == 'number' else 'over the runs of'} "
            f"{self.source.how}",
        }


def door(name: str, what: str, runs: list[str], wanted: int) -> Iterator[Figure]:
    """The door, over all seeds of a setting."""
    opened, nearness = field("evaluation", "mean", "opened"), ratio(field("evaluation", "mean", "w1"), held_out_w1())
    lacking = "unknown, since no audit of the reward that these runs were trained with was kept"
    yield Figure(f"door.{name}.seeds", f"{what}, seeds", "count", runs, opened, wanted, aggregate="number")
    yield Figure(f"door.{name}.opened.mean", f"{what}, episodes that open it", "share", runs, opened, 0.95)
    yield Figure(f"door.{name}.opened.min", f"{what}, the worst seed", "share", runs, opened, 0.85, aggregate="lowest")
    what = f"{what}, W1 over that of held-out demonstrations"
    yield Figure(f"door.{name}.w1_ratio", what, "times", runs, nearness, 1.5, at_most=True, missing=lacking)


def locomotion(env: str, runs: list[str]) -> Iterator[Figure]:
    """One environment, one demonstration, over all seeds of a setting."""
    what, name = f"{env.removesuffix('-v5')}, one demonstration", f"locomotion.{env}"
    gained, expert, nearness = last_ten("task_return"), field("expert_return"), ratio(last_ten("w1"), expert_w1())
    yield Figure(f"{name}.seeds", f"{what}, seeds", "count", runs, gained, aggregate="number")
    if env in SHARES:
        share = ratio(gained, expert)
        yield Figure(f"{name}.share", f"{what}, share of the expert's return", "share", runs, share, SHARES[env])
        yield Figure(
            f"{name}.w1_ratio", f"{what}, W1 over that of the expert's other episodes", "times", runs, nearness
        )
    else:
        gap = difference(expert, gained)
        yield Figure(f"{name}.gap", f"{what}, return below the expert's", "return", runs, gap, 2.0, at_most=True)


def encoder() -> Iterator[Figure]:
    """The encoder of the human videos, and what its metric tells apart."""
    runs, what = ["tcc/default"], "encoder of the human videos, worst held-out demonstration over best"
    tau, folds = field("best", "tau_validation"), field("mean_of_finished", "tau_validation")
    separation, pantomime, ranks = (
        field(name, file="audit.json") for name in ("separation", "over_pantomime", "spearman")
    )
    yield Figure("tcc.tau", "encoder of the human videos, Kendall's tau, held-out", "tau", runs, tau, 0.95)
    yield Figure("tcc.folds.tau", "the same without composites, mean of 5 folds", "tau", ["tcc"], folds, 0.91)
    yield Figure("tcc.separation", f"{what} idle play", "times", runs, separation, 1.5)
    yield Figure("tcc.pantomime", f"{what} pantomime (the hand alone, door shut)", "times", runs, pantomime, 3.0)
    what = "encoder of the human videos, rank correlation of reward and progress"
    yield Figure("tcc.spearman", what, "correlation", runs, ranks, 0.9)


def speed() -> Iterator[Figure]:
    """What the benchmarks measured, each beside its peer in the same run."""
    episode, step = (field("microseconds_a_step", "door", f"times_faster_{kind}") for kind in ("episode", "online"))
    what = "greedy coupling at door scale, a whole episode, speed against numpy's argmin and delete"
    yield Figure("rewarder.episode.times", what, "times", ["rewarder"], episode, 40)
    yield Figure("rewarder.step.times", "the same step by step", "times", ["rewarder"], step, 15)

    frames = "84x84 frames of {}, speed against Gymnasium's render(), in processor time".format
    for name, (env, says, target) in DRAWN.items():
        drawn = field("rows", env, "simplified meshes: the default", "times_less_work")
        yield Figure(f"rendering.{name}.times", frames(says), "times", ["rendering"], drawn, target)
    what, replayed = "replaying and rendering the 25 human demonstrations", field("seconds", "replay, render and keep")
    yield Figure("demonstrations.seconds", what, "seconds", ["door-demonstrations"], replayed)

    what, rate = "the door's default recipe, evaluations included", field("steps_per_second", "default")
    yield Figure("door.steps_per_second", what, "steps a second", ["door-speed"], rate, 600)
    what = "the door by the paper's recipe, speed against Gymnasium's rendering, stable-baselines3 and numpy"
    yield Figure("door.times", what, "times", ["door-speed"], field("times_faster"), 15)

    rows = ("vision_pwil", "matrix products alone", "SBX")
    ours, products, sbx = (field("milliseconds", "256", row) for row in rows)
    what, over = "time of a SAC update of batch 256 over that of its matrix products alone", ratio(ours, products)
    yield Figure("sac.update_over_products", what, "times", ["sac"], over, 1.5, at_most=True)
    what, over = "time of a SAC update of batch 256 over that of SBX (JAX)", ratio(ours, sbx)
    yield Figure("sac.update_over_sbx", what, "times", ["sac"], over, 1.0, at_most=True)
    what, share = "an encoder update, frames a second over bare convolutions'", field("recipes", "default", "ratio")
    yield Figure("tcc.throughput", what, "share", ["tcc/throughput"], share, 0.7)
    for agent in ("td3", "sac"):
        what = f"locomotion with {agent.upper()}, steps a second against stable-baselines3"
        faster = field("steps_a_second", agent, "times_faster")
        yield Figure(f"locomotion.{agent}.times", what, "times", ["locomotion-speed/idle"], faster, 2)


def videos() -> Iterator[Figure]:
    """Tasks learned from video files alone, over all seeds."""
    for name, key, says, wanted in (
        ("door", "opened", "the door, from mp4 files alone", None),  # within 5 points of the door from states
        ("hammer", "success", "hammer, from videos alone", 0.8),
        ("relocate", "success", "relocate, from videos alone", 0.5),
        ("door_embedding", "opened", "the door, by a policy that sees the embedding and its joints only", 0.8),
    ):
        done = field("evaluation", "mean", key)
        yield Figure(f"videos.{name}.{key}", says, "share", seeds(f"videos/{name}"), done, wanted)
    what, tau = "encoder of a real robot's videos (g1), Kendall's tau, held-out", field("best", "tau_validation")
    yield Figure("videos.g1.tau", what, "tau", seeds("g1"), tau, 0.93)


def robustness() -> Iterator[Figure]:
    """What an attack on readers and on running trainings came to."""
    for key, says, wanted in (
        ("mutations", "damaged files given to the readers", 10_000),
        ("escaped", "of these, answered by neither one sentence nor the right result", 0),
        ("kills", "trainings killed outright and continued", 100),
        ("kills_inexact", "of these, with other bits in the end", 0),
    ):
        runs = ["robustness"] if (RESULTS / "robustness" / "summary.json").exists() else []
        yield Figure(f"robustness.{key}", says, "count", runs, field(key), wanted, at_most=wanted == 0)


def headlines() -> dict[str, Figure]:
    """All of them, by name."""
    found = [*door("human", "the door from 25 human videos", seeds(DOOR["human"]), 10)]
    found += door("near", "the door from 25 human videos, from near and smoothly", seeds(DOOR["near"]), 10)
    found += door("shipped", "the door from the videos that ship (`make door`)", seeds(DOOR["shipped"]), 5)
    found += encoder()
    for env, setting in LOCOMOTION.items():
        found += locomotion(env, seeds(setting))
    return {figure.name: figure for figure in (*found, *videos(), *speed(), *robustness())}
