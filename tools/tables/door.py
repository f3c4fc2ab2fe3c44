"""The tables of results/door/README.md."""

import re

from tools.headlines import DOOR
from tools.records import seed, seeds, summary
from tools.tables.markdown import link, table, thousands

PIECES = {
    "--action-repeat 1": "holding an action for 4 steps",
    "--no-time-feature": "the time t/T in the observation",
    "--n-step 1": "3-step returns",
    "--no-normalize": "normalised observations",
    "--no-critic-layer-norm": "layer normalisation in the critics",
    "--noise-exponent 0.0": "pink exploration noise (white instead)",
    "--ending last": "the shared absorbing state",
    "--absorbing last": "the shared absorbing state",
}
"""Pieces of the recipe, by the option that left each out; of the last one also by the name it had before."""

EARLIER = {
    "door/human-composites-seed0": "encoder with composites",
    "door/human-gamma-seed0": "the same, discount 0.995",
    "door/human-plain-seed0": "encoder without composites, the highest tau",
    "door/human-ending-seed0": "encoder to which the last frame counts as later",
    "door/human-seed0": "an early encoder, settings changed twice",
}
"""Runs whose absorbing steps lie at each episode's own last frame, and what sets them apart."""


def setting(name: str) -> str:
    """Every seed of a setting."""
    rows = []
    for run in seeds(DOOR[name]):
        evaluation = summary(run)["evaluation"]
        mean = evaluation["mean"]
        opened = f"**{mean['opened']:.0%}** of {evaluation['episodes']}", f"{mean['success']:.0%}"
        rest = f"{mean['steps']:.0f}", f"{mean['return']:.0f}", f"{mean['w1']:.2f}", f"{mean['greedy_w1']:.2f}"
        rows.append((link(run), seed(run), thousands(evaluation["step"]), *opened, *rest))
    header = "run", "seed", "steps", "opened", "1.35 rad", "steps an episode", "imitation return", "W1", "greedy bound"
    return table(header, rows)


def ablations() -> str:
    """The recipe with one piece left out."""
    rows = []
    for run in summary("door/ablations")["runs"]:
        left_out = [piece for option, piece in PIECES.items() if option in run["command"]]
        drawn = re.search(r"--seed (\d+)", run["command"])
        opened, first = f"{run['opened']} of {run['episodes']}", run["first_opening"]
        cells = opened, "-" if first is None else thousands(first), f"{run['last_return']:.0f}"
        rows.append((*(left_out or ["nothing"]), drawn[1] if drawn else 0, *cells))
    header = "left out", "seed", "training episodes that opened", "first opening", "return, last 20k steps"
    return table(header, rows)


def earlier() -> str:
    """Runs from before the shared absorbing state."""
    rows = []
    for run, what in EARLIER.items():
        evaluation = summary(run)["evaluation"]
        mean = evaluation.get("mean", evaluation)
        opened = f"{mean['opened']:.0%} of {evaluation['episodes']}"
        rest = f"{mean['door_angle']:.2f}", f"{mean['return']:.0f}", f"{mean['w1']:.2f}"
        rows.append((link(run), what, thousands(evaluation["step"]), opened, *rest))
    return table(("run", "what", "steps", "opened", "mean angle, rad", "imitation return", "W1"), rows)
