"""Tau by cross-validation: the same training for every fold, since the videos that select an encoder flatter it.

`vision-pwil encoder crossvalidate --demos ... --out ...` takes every option of `vision-pwil encoder train`.
"""

import csv
from dataclasses import replace
from statistics import mean, stdev

from vision_pwil.system.errors import InputError
from vision_pwil.system.files import replacing
from vision_pwil.system.run import Row
from vision_pwil.tcc.settings import TrainConfig

COLUMNS = ("fold", "held_out", "best_updates", "tau_train", "tau_validation", "tau_train_last", "tau_validation_last")


def crossvalidate(config: TrainConfig) -> list[dict[str, float | str]]:
    """Train on every fold; one row each. "Last" is the encoder after the last update, which no video chose."""
    from vision_pwil.tcc import pictures  # import slowly, and --help needs none of it
    from vision_pwil.tcc.sampling import held_out_count
    from vision_pwil.tcc.session import train
    from vision_pwil.tcc.videos import read_videos

    rows: list[dict[str, float | str]] = []
    curves: dict[str, list[Row]] = {}
    demonstrations = read_videos(config.demos, config.reading)
    size = config.validation or held_out_count(len(demonstrations))
    if size == 0:
        raise InputError(f"Folds need four videos or more, and {config.demos} has {len(demonstrations)}.")
    for fold in range(len(demonstrations) // size):
        session = train(replace(config, fold=fold, out=config.out / f"fold-{fold}"), demonstrations)
        best, last = session.best, session.rows[-1]
        assert best is not None  # a session that ended has measured tau
        values = (best["updates"], best["tau_train"], best["tau_validation"], last["tau_train"], last["tau_validation"])
        rows.append(dict(zip(COLUMNS, (fold, " ".join(map(str, session.held_out)), *values), strict=True)))
        with replacing(config.out / "folds.csv") as temporary, temporary.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)
        curves[f"fold {fold}"] = session.rows
        pictures.save(pictures.curves(curves), config.out / "curves.png")
    return rows


def main(config: TrainConfig) -> None:
    """Cross-validate, and say what came out."""
    rows = crossvalidate(config)
    for name in COLUMNS[3:]:
        taus = [float(row[name]) for row in rows]
        if len(taus) > 1:
            print(f"{name}: mean {mean(taus):.4f}, standard deviation {stdev(taus):.4f}, least {min(taus):.4f}")
    print(f"The folds are in {config.out / 'folds.csv'}, their curves in {config.out / 'curves.png'}.")
