"""Headline figures come from the records, and everything that shows them shows what the records say."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from tools import curves, figures, records
from tools.headlines import DOOR, LOCOMOTION, Figure, headlines
from vision_pwil.system.errors import InputError

RESULTS = Path(__file__).resolve().parents[1] / "results"
NAMES = [
    *(
        f"door.{kind}.{key}"
        for kind in ("human", "shipped")
        for key in ("seeds", "opened.mean", "opened.min", "w1_ratio")
    ),
    "door.steps_per_second",
    "sac.update_over_products",
    "sac.update_over_sbx",
    *("videos.door.opened", "videos.hammer.success", "videos.relocate.success", "videos.door_embedding.opened"),
    "videos.g1.tau",
    *(f"rendering.{env}.times" for env in ("door", "hammer", "relocate", "fetch")),
    *(
        f"locomotion.{env}-v5.{key}"
        for env in ("Ant", "HalfCheetah", "Hopper", "Humanoid", "Walker2d")
        for key in ("share", "seeds", "w1_ratio")
    ),
    "locomotion.Reacher-v5.gap",
    *(f"robustness.{key}" for key in ("mutations", "escaped", "kills", "kills_inexact")),
]
"""Figures that must be there, measured or not."""


@pytest.fixture(scope="module")
def kept() -> dict:
    return json.loads((RESULTS / "figures.json").read_text())


def test_files_hold_what_the_records_say() -> None:
    stale = [path.name for path, text in figures.texts().items() if not path.exists() or path.read_text() != text]
    assert not stale, "write them anew: make figures"
    assert curves.drawn() == curves.fingerprint(), "draw the curves anew: make figures"


def test_every_figure_names_its_runs_and_can_be_traced(kept: dict) -> None:
    assert set(NAMES) <= set(kept)
    for name, figure in kept.items():
        assert all((RESULTS / run / "summary.json").exists() for run in figure["runs"]), name
        assert figure["how"] and "\n" not in figure["sentence"] and figure["unit"], name
        if figure["value"] is None:
            assert None in figure["each"] or not figure["runs"], name
        else:
            assert len(figure["each"]) == len(figure["runs"]) > 0, name
            aggregate = {"mean": np.mean, "lowest": np.min, "number": np.size}[figure["how"].split()[0]]
            assert figure["value"] == pytest.approx(aggregate(figure["each"])), name


def test_figures_agree_with_a_reading_by_hand(kept: dict) -> None:
    opened = [json.loads((RESULTS / f"door/human-shared-seed{n}/summary.json").read_text()) for n in range(3)]
    assert kept["door.human.opened.mean"]["value"] == pytest.approx(
        np.mean([each["evaluation"]["mean"]["opened"] for each in opened])
    )
    for env, setting in LOCOMOTION.items():
        if env == "Reacher-v5":
            continue
        shares, ratios = [], []
        experts = json.loads((RESULTS / "locomotion-experts/summary.json").read_text())["cases"]
        case = next(c for c in experts if c["env"] == env and c["demonstrations"] == 1 and c["ablation"] == "none")
        for run in kept[f"locomotion.{env}.share"]["runs"]:
            assert run.startswith(setting)
            summary = json.loads((RESULTS / run / "summary.json").read_text())
            curve = np.genfromtxt(RESULTS / run / "curve.csv", delimiter=",", names=True)[-10:]
            shares.append(curve["task_return"].sum() / 10 / summary["expert_return"])
            ratios.append(curve["w1"].mean() / np.array(case["seeds"])[summary["seed"], :, 1].mean())
        assert kept[f"locomotion.{env}.share"]["value"] == pytest.approx(np.mean(shares))
        assert kept[f"locomotion.{env}.w1_ratio"]["value"] == pytest.approx(np.mean(ratios))
    gap = kept["locomotion.Reacher-v5.gap"]
    assert gap["each"][0] == pytest.approx(-3.531 + 4.964, abs=0.01)


@pytest.mark.parametrize("setting", [*DOOR.values(), *LOCOMOTION.values()])
def test_no_seed_of_a_setting_is_left_out(setting: str) -> None:
    """Whatever ran with the same command, but for its seed, counts, or is named with the reason why not."""

    def asked_for(run: str) -> str:
        command = str(records.summary(run).get("command"))
        return re.sub(r" --(seed \d+|evaluation-interval \d+|no-audit|no-video)", "", command)

    counted = records.seeds(setting)
    same = [run for run in records.all_runs(setting.partition("/")[0]) if asked_for(run) == asked_for(counted[0])]
    assert sorted(same) == sorted([*counted, *(run for run in records.NOT_COUNTED if run.startswith(setting))])
    assert len({records.seed(run) for run in counted}) == len(counted)


def keep(folder: Path, **summary: object) -> None:
    folder.mkdir(parents=True)
    (folder / "summary.json").write_text(json.dumps(summary))


def test_a_setting_is_all_of_its_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "RESULTS", tmp_path)
    for name, seed, opened in (("a", 0, 1.0), ("a-seed10", 10, 0.5), ("a-seed2", 2, 0.0), ("a-other", 0, 0.9)):
        keep(tmp_path / "door" / name, seed=seed, evaluation={"opened": opened})
    runs = records.seeds("door/a")
    assert runs == ["door/a", "door/a-seed2", "door/a-seed10"]

    source = records.field("evaluation", "opened")
    mean = Figure("x", "opened", "share", runs, source, 0.9)
    assert (mean.value, mean.shown, mean.aim) == (0.5, "50% (100%, 0%, 50%)", "at least 90%")
    assert Figure("x", "opened", "share", runs, source, aggregate="lowest").value == 0.0

    keep(tmp_path / "door" / "a-seed3", seed=3)
    lacking = Figure("x", "opened", "share", records.seeds("door/a"), source).record()
    assert lacking["value"] is None and lacking["sentence"] == "opened: not measured yet"


def test_what_is_typed_between_marks_does_not_last() -> None:
    found = headlines()
    page = (RESULTS / "tcc" / "README.md").read_text()
    assert figures.filled(page.replace("0.954", "0.999"), found) == page
    assert figures.filled("tau <!-- figures:tcc.tau -->?<!-- end -->.", found).startswith(
        "tau <!-- figures:tcc.tau -->0.9"
    )
    with pytest.raises(InputError, match=r"no figure and no table 'tcc\.tua'"):
        figures.filled("<!-- figures:tcc.tua --><!-- end -->", found)
