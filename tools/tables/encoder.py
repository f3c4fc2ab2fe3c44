"""The tables of results/tcc and results/tcc-sweep."""

from collections.abc import Sequence

import numpy as np

from tools.records import RESULTS, column, read_json, read_rows, summary
from tools.tables.markdown import table

AUDITS = {
    "audit": "without composites, 1,500 updates",
    "composites": "composites, 1,000 updates",
    "default": "composites, 1,500 updates: the default",
}
"""Encoders of the human videos, by the folder of their audit."""


def folds() -> str:
    """Cross-validation."""
    names = ("tau_train", "tau_validation")
    rows: list[Sequence[object]] = [
        (row["fold"], row["held_out"], *(f"{float(row[name]):.3f}" for name in names))
        for row in read_rows(RESULTS / "tcc" / "folds.csv")
    ]
    mean = summary("tcc")["mean_of_finished"]
    rows.append(("**mean**", "", *(f"**{mean[name]:.3f}**" for name in names)))
    return table(("fold", "held-out videos", "tau, training", "tau, validation"), rows)


def audits() -> str:
    """What three encoders pay for, and their tau."""
    found = [read_json(RESULTS / "tcc" / folder / "audit.json") for folder in AUDITS]
    rows: list[Sequence[object]] = []
    for group in dict.fromkeys(score["group"] for score in found[0]["scores"]):
        returns = [[score["imitation_return"] for score in a["scores"] if score["group"] == group] for a in found]
        rows.append((group, *(f"{np.mean(each):.0f} ({min(each):.0f} to {max(each):.0f})" for each in returns)))
    for name, what in (("separation", "idle play"), ("over_pantomime", "pantomime"), ("over_reversed", "reversed")):
        rows.append((f"worst demonstration over best {what}", *(f"**{audit[name]:.2f}**" for audit in found)))
    taus = [summary("tcc")["encoder"], *(summary(f"tcc/{folder}")["best"] for folder in list(AUDITS)[1:])]
    for name in ("training", "validation"):
        key = "tau_train" if name == "training" else "tau_validation"
        rows.append((f"tau, {name}", *(f"{tau[key]:.3f}" for tau in taus)))
    return table(("imitation return: mean (lowest to highest)", *AUDITS.values()), rows)


def sweep() -> str:
    """The part of the paper's grid that was run, one seed each."""
    rows = []
    for row in read_rows(RESULTS / "tcc-sweep" / "ranking.csv"):
        names = ("batch_size", "subsampling", "learning_rate")
        trial = "_".join(f"{name.replace('_', '-')}-{row[name]}" for name in names) + "_seed-0"
        last = column(f"tcc-sweep/trials/{trial}", "tau_validation")[-1]
        taus = (f"{float(tau):.3f}" for tau in (row["tau_validation"], row["tau_train"], last))
        rows.append((row["rank"], *(row[name] for name in names), row["updates"], *taus))
    header = "rank", "pairs in a batch", "every n-th frame", "learning rate", "updates", "best validation tau"
    return table((*header, "training tau then", "last validation tau"), rows)
