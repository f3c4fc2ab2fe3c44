"""Does a reward rank behaviour? Asked before anyone spends hours of RL on it.

With atoms from the training demonstrations: the reward of behaviour whose worth is known. Demonstrations that were held
out; random play; doing nothing; held-out demonstrations played backwards, or stopped part of the way, or, where the
environment can do it, with the robot's motion and none of its effect. A reward that does not pay the first best cannot
teach the task, whatever its encoder's Kendall's tau.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from vision_pwil.system.files import replacing
from vision_pwil.system.progress import progress
from vision_pwil.system.settings import Settings
from vision_pwil.system.table import table
from vision_pwil.verdict.behaviour import FRACTIONS, FROZEN, OPEN_LOOP, PANTOMIME, POLICY, REVERSED, Behaviour, Scorer

SEPARATION, SPEARMAN = 1.5, 0.9
"""What a reward should reach: worst held-out return over best non-expert, and correlation of return with progress."""


@dataclass(frozen=True)
class BehaviourScore(Settings):
    """What the reward says of one behaviour."""

    group: str
    imitation_return: float
    w1: float
    demonstration: int
    fraction: float
    expert: bool


@dataclass(frozen=True)
class AuditReport:
    """The audit of one reward."""

    scores: list[BehaviourScore]
    separation: float
    """Worst held-out demonstration over best non-expert, by imitation return. Non-experts get nowhere: random play,
    doing nothing, and demonstrations frozen at their first tenth."""
    over_reversed: float
    """Worst held-out over best reversed demonstration. A coupling hardly sees the order of frames, only which are
    visited and for how long, so this is at most about horizon over length of a demonstration."""
    over_pantomime: float | None
    """Worst held-out demonstration over best pantomime of one, where the environment can do it: the robot moves as
    recorded, the scene does not. What an agent can earn by posing; nearer to 1, the reward will be hacked."""
    spearman: float
    """Rank correlation of return with the fraction shown, the mean over held-out demonstrations."""
    suggested_beta: float
    """Beta at which the median step of a held-out demonstration earns half of the largest reward."""
    verdict: Literal["ranks well", "ranks weakly", "cannot rank"]

    @property
    def sentence(self) -> str:
        """The verdict in plain words."""
        figures = (
            f"separation {self.separation:.2f} (good: {SEPARATION}), Spearman {self.spearman:.2f} (good: {SPEARMAN})"
        )
        return {
            "ranks well": f"This reward ranks behaviour well and can be trained on: {figures}.",
            "ranks weakly": f"This reward ranks behaviour weakly; expect slow learning or a hacked reward: {figures}.",
            "cannot rank": f"This reward cannot rank behaviour; do not train on it: {figures}.",
        }[self.verdict]

    def groups(self) -> dict[str, list[BehaviourScore]]:
        """Scores by group, in the order of appearance."""
        found: dict[str, list[BehaviourScore]] = {}
        for score in self.scores:
            found.setdefault(score.group, []).append(score)
        return found


def audit(behaviours: Sequence[Behaviour], scorer: Scorer) -> AuditReport:
    """Score every behaviour by the task's own reward, and judge the reward by what is known of them."""
    scores, held_out_costs = [], []
    for behaviour in progress(behaviours, desc="auditing", unit="episode", leave=False):
        scored = scorer.score(behaviour.points, absorbed=behaviour.absorbed)
        known = behaviour.demonstration, behaviour.fraction, behaviour.expert
        scores.append(BehaviourScore(behaviour.group, float(scored.rewards.sum()), scored.w1, *known))
        if behaviour.expert:
            held_out_costs.append(scored.costs[: len(behaviour.points)])
    return judge(scores, float(np.median(np.concatenate(held_out_costs))) * scorer.cost_scale)


def judge(scores: list[BehaviourScore], median_cost: float) -> AuditReport:
    """The figures and the verdict; `median_cost` is scale times the median greedy cost of held-out steps."""
    from scipy.stats import spearmanr  # imports slowly

    experts = [score.imitation_return for score in scores if score.expert]
    backwards = [score.imitation_return for score in scores if score.group == REVERSED]
    posing = [score.imitation_return for score in scores if score.group == PANTOMIME]
    idle = [score.imitation_return for score in scores if not score.expert and _gets_nowhere(score)]
    separation, over_reversed = min(experts) / max(idle), min(experts) / max(backwards)
    correlations = []
    for number in {score.demonstration for score in scores if score.group == FROZEN}:
        shown = [s for s in scores if s.demonstration == number and (s.group == FROZEN or s.expert)]
        correlations.append(spearmanr([s.fraction for s in shown], [s.imitation_return for s in shown]).statistic)
    spearman = float(np.mean(np.nan_to_num(correlations)))
    verdict: Literal["ranks well", "ranks weakly", "cannot rank"] = "ranks weakly"
    if separation >= SEPARATION and spearman >= SPEARMAN:
        verdict = "ranks well"
    elif separation <= 1 or spearman <= 0:
        verdict = "cannot rank"
    over_pantomime = min(experts) / max(posing) if posing else None
    beta = float(np.log(2) / max(median_cost, 1e-12))
    return AuditReport(scores, separation, over_reversed, over_pantomime, spearman, beta, verdict)


def _gets_nowhere(score: BehaviourScore) -> bool:
    if score.group == FROZEN:
        return score.fraction <= FRACTIONS[0]
    return score.group not in (REVERSED, PANTOMIME, OPEN_LOOP) and not score.group.startswith(POLICY)


def audit_table(report: AuditReport) -> str:
    """Imitation return and exact W1 of each group, lowest to highest."""
    rows = []
    for group, scores in report.groups().items():
        returns, w1 = [s.imitation_return for s in scores], [s.w1 for s in scores]
        rows.append(
            (group, len(scores), *(f"{f(returns):.0f}" for f in (np.min, np.mean, np.max)), f"{np.mean(w1):.3f}")
        )
    return table(("behaviour", "episodes", "return, lowest", "mean", "highest", "W1, mean"), rows)


def draw(report: AuditReport, path: Path) -> None:
    """One picture: returns and W1 of each group, and return against the fraction of a demonstration shown."""
    from matplotlib.figure import Figure

    groups = report.groups()
    figure = Figure(figsize=(13, 4), layout="constrained")
    returns, distances, progress = figure.subplots(1, 3)
    for row, scores in enumerate(groups.values()):
        colour = "tab:green" if scores[0].expert else "tab:gray"
        for axes, values in ((returns, [s.imitation_return for s in scores]), (distances, [s.w1 for s in scores])):
            axes.plot(values, [row] * len(values), "o", color=colour, alpha=0.5)
    returns.set(yticks=range(len(groups)), yticklabels=list(groups), xlabel="imitation return", title=report.verdict)
    distances.set(yticks=range(len(groups)), yticklabels=[], xlabel="exact W1 to the training demonstrations")
    for axes in (returns, distances):
        axes.invert_yaxis()
        axes.grid(axis="x", alpha=0.3)
    for number in sorted({s.demonstration for s in report.scores if s.group == FROZEN}):
        shown = sorted((s.fraction, s.imitation_return) for s in report.scores if _shows_progress(s, number))
        progress.plot(*zip(*shown, strict=True), "o-", markersize=3, label=f"demonstration {number}")
    progress.set(
        xlabel="fraction shown before freezing", ylabel="imitation return", title=f"Spearman {report.spearman:.2f}"
    )
    progress.legend(fontsize="small")
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=110)


def _shows_progress(score: BehaviourScore, number: int) -> bool:
    return score.demonstration == number and (score.group == FROZEN or score.expert)
