"""Draw `results/locomotion/curves.png`: the learning curves of every seed behind the locomotion figures."""

import hashlib

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image

from tools.headlines import LOCOMOTION
from tools.records import RESULTS, column, seed, seeds, summary
from vision_pwil.system.files import replacing

OUT = RESULTS / "locomotion" / "curves.png"


def fingerprint() -> str:
    """Of the curves to draw; the picture carries it, so that one drawn from other curves is noticed."""
    digest = hashlib.sha256()
    for setting in LOCOMOTION.values():
        for run in seeds(setting, counted=False):
            digest.update(run.encode() + (RESULTS / run / "curve.csv").read_bytes())
    return digest.hexdigest()


def drawn() -> str | None:
    """The fingerprint of the picture that is there."""
    if not OUT.exists():
        return None
    with Image.open(OUT) as picture:
        return picture.info.get("Description")


def draw() -> None:
    """Draw it anew, on white, so that it reads in a dark theme too."""
    figure = Figure(figsize=(11, 6.4), dpi=110, facecolor="white", layout="constrained")
    lines: dict[str, Line2D] = {}
    for axes, (env, setting) in zip(figure.subplots(2, 3).flat, LOCOMOTION.items(), strict=True):
        lines |= panel(axes, env, seeds(setting, counted=False))
    figure.legend(lines.values(), lines.keys(), loc="outside upper center", ncols=len(lines), frameon=False)
    figure.supxlabel("million environment steps", fontsize=11)
    figure.supylabel("task return of an evaluation, 10 episodes", fontsize=11)
    with replacing(OUT) as temporary:
        figure.savefig(temporary, metadata={"Description": fingerprint(), "Software": None})


def panel(axes: Axes, env: str, runs: list[str]) -> dict[str, Line2D]:
    """One environment: a line for each seed, the expert dashed."""
    expert = summary(runs[0])["expert_return"]
    lines = {"expert": axes.axhline(expert, color="black", linestyle="--", linewidth=1)}
    for run in runs:
        steps = [step / 1e6 for step in column(run, "step")]
        (line,) = axes.plot(steps, column(run, "task_return"), color=f"C{seed(run)}", linewidth=1.3)
        lines[f"seed {seed(run)}"] = line
    if expert < 0:  # Reacher's first policies throw the arm about; what is of interest lies near the expert
        axes.set_ylim(-25, 0)
    axes.set_title(env, fontsize=11)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    return lines
