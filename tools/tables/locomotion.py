"""The tables of results/locomotion: README.md and all-runs.md."""

import re
from collections.abc import Mapping

from tools.headlines import LOCOMOTION, Figure
from tools.records import NOT_COUNTED, all_runs, column, expert_w1, last_ten, seed, seeds, summary
from tools.tables.markdown import link, number, table, thousands

RECIPES = {
    "Hopper-v5": "the paper's",
    "HalfCheetah-v5": "no prefill, normalised observations",
    "Walker2d-v5": "normalised observations",
    "Ant-v5": "minimum standard deviation 0.5",
    "Humanoid-v5": "no prefill, normalised observations, minimum standard deviation 0.2, beta 2, rates 4e-4, "
    "noise 0.1, batch 128",
    "Reacher-v5": "no prefill, normalised observations, fingertip and action compared, beta 1, rates 1e-4 and 4e-4, "
    "noise 0.05, batch 128, values up to 300",
}
"""How each setting differs from the paper's recipe."""

AGENTS = ("d4pg", "td3", "sac", "dac", "bc")


def settings(figures: Mapping[str, Figure]) -> str:
    """One row for each environment, every seed in it."""
    rows = []
    for env, name in LOCOMOTION.items():
        found = seeds(name)
        share, gap = figures.get(f"locomotion.{env}.share"), figures.get(f"locomotion.{env}.gap")
        near = share.show(share.value) if share else f"{gap.show(gap.value)} below" if gap else "-"
        cells = (
            (str(seed(run)) for run in found),
            (thousands(column(run, "step")[-1]) for run in found),
            (number(last_ten("task_return").of(run)) for run in found),
            [number(summary(found[0])["expert_return"])],
            [f"**{near}**"],
            (number(last_ten("w1").of(run)) for run in found),
            (number(expert_w1().of(run)) for run in found),
        )
        rows.append((env, RECIPES[env], *(" / ".join(cell) for cell in cells)))
    header = "task", "recipe", "seeds", "steps", "return", "expert's", "share of it", "W1", "expert's W1"
    return table(header, rows)


def best() -> str:
    """The policies that are best by imitation return, in episodes of their own."""
    rows = []
    for run in (run for name in LOCOMOTION.values() for run in seeds(name)):
        if chosen := summary(run).get("chosen"):
            gained, expert = chosen["mean"]["task_return"], summary(run)["expert_return"]
            share = f"{gained / expert:.0%}" if expert > 0 else f"{expert - gained:.1f} below"
            rows.append((summary(run)["env"], seed(run), thousands(chosen["step"]), number(gained), share))
    return table(("task", "seed", "policy of step", "return", "share of the expert's"), rows)


def not_counted() -> str:
    """Runs of these settings that the figures leave out, and why."""
    rows = [f"{link(run)} ({why})" for run, why in NOT_COUNTED.items() if run.startswith("locomotion/")]
    return "Not counted: " + "; ".join(rows) + "."


def runs() -> str:
    """Every run that is kept: by environment, the paper's agent first."""
    kept = {run: summary(run) for run in all_runs("locomotion")}
    rows = []
    for run in sorted(kept, key=lambda run: (kept[run]["env"], AGENTS.index(kept[run]["agent"]), run)):
        last = kept[run]["last"]
        figures = thousands(last["step"]), number(last["task_return"]), number(last["w1"])
        rows.append((link(run), *figures, options(kept[run]["command"]), kept[run]["note"]))
    return table(("run", "steps", "last return", "W1", "options", "note"), rows)


def options(command: str) -> str:
    """What a command of the past asked for besides environment, agent, demonstrations and threads."""
    text = re.sub(r"^.*?--env \S+ --agent \S+|--demos \S+|--threads \d+", "", command)
    text = re.sub(r"\b(\d+) \d+(?: \d+){8,} (\d+)\b", r"\1 ... \2", text)  # a list of many dimensions
    text = " ".join(text.split())
    return f"`{text}`" if text else "-"
