"""What a run left becomes a folder of records, from which the figures are made."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tools import headlines, keep_ablations, records
from tools.keep import Keep, command_line, main
from vision_pwil.commands import train
from vision_pwil.commands.evaluate import Evaluate, evaluate
from vision_pwil.demonstrations import ASSETS, read
from vision_pwil.door_env import ENV_ID
from vision_pwil.system import cli
from vision_pwil.system.board import Board
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import read_json
from vision_pwil.system.run import Run, read_curve
from vision_pwil.tasks import presets
from vision_pwil.tasks.auditing import write_audit
from vision_pwil.tasks.imitation import imitate
from vision_pwil.tasks.settings import Choice, ImitationConfig
from vision_pwil.verdict.audit import BehaviourScore, judge
from vision_pwil.verdict.behaviour import FROZEN, HELD_OUT, REVERSED

RETURNS = np.array([100.0, 300.0])


@pytest.fixture
def revision(tmp_path_factory, monkeypatch):
    """A repository to be in, and its one commit."""
    monkeypatch.chdir(tmp_path_factory.mktemp("repository"))
    author = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    for words in (["init", "-q"], [*author, "commit", "-q", "--allow-empty", "-m", "m"]):
        subprocess.run(["git", *words], check=True)
    head = ["git", "rev-parse", "--short=10", "HEAD"]
    return subprocess.run(head, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A short run, real: a clone of Hopper's expert, whose file says what it earned."""
    folder = tmp_path_factory.mktemp("runs")
    shown = read(ASSETS / "Hopper-v5.demos").episodes[:2]
    arrays = {"observations": [e.states for e in shown], "actions": [e.actions for e in shown]}
    np.savez(
        folder / "Hopper-v5.npz",
        **{name: np.concatenate(parts) for name, parts in arrays.items()},
        episode_lengths=[len(episode) for episode in shown],
        returns=RETURNS,
    )
    usual = presets.defaults(Choice("Hopper-v5", "bc"))
    training = replace(usual.training, steps=20, seed=1, evaluation_interval=10, evaluation_episodes=2)
    config = replace(usual, demos=folder / "Hopper-v5.npz", run=folder / "clone", training=training)
    outcome = imitate(config)
    assert outcome.finished
    return outcome.run


@pytest.fixture
def played(run, tmp_path):
    """The same after `vision-pwil evaluate --best`."""
    shutil.copytree(run, tmp_path / "played")
    evaluate(Evaluate(tmp_path / "played", episodes=1, best=True, video=False))
    return tmp_path / "played"


def test_a_run_becomes_a_folder_and_the_folder_figures(played, tmp_path, revision, monkeypatch):
    results = tmp_path / "results"
    folder = results / "locomotion" / "Hopper-v5-bc-seed1"
    other = [BehaviourScore(group, 3.0, 1.5, 0, 0.1, False) for group in (REVERSED, FROZEN)]
    write_audit(judge([BehaviourScore(HELD_OUT, 9.0, 0.5, 0, 1.0, True), *other], median_cost=1.0), played)
    main(Keep(played, folder, "it fell"))

    summary = json.loads((folder / "summary.json").read_text())
    assert summary["command"] == (
        "vision-pwil train --env Hopper-v5 --agent bc --demos Hopper-v5.npz "
        "--steps 20 --seed 1 --evaluation-interval 10 --evaluation-episodes 2"
    )
    assert (summary["commit"], summary["seed"], summary["note"]) == (revision, 1, "it fell")
    curve = read_curve(played)
    assert [row["step"] for row in curve] == [0, 10, 20]
    assert (summary["first"], summary["last"]) == (curve[0], curve[-1])
    assert summary["expert_return"] == RETURNS.mean()
    assert summary["chosen"] == read_json(played / "evaluation-best.json") and summary["evaluation"] is None
    for name in ("curve.csv", "audit.json", "audit.png"):
        assert (folder / name).read_bytes() == (played / name).read_bytes()
    assert (folder / "panels.png").stat().st_size > 1_000
    stills = np.asarray(Image.open(folder / "stills.png"))
    assert stills.shape[1] == 1_680 and stills.std() > 10

    shutil.copytree(records.RESULTS / "locomotion-experts", results / "locomotion-experts")
    monkeypatch.setattr(records, "RESULTS", results)
    assert records.held_out_w1().of("locomotion/Hopper-v5-bc-seed1") == 0.5
    found = headlines.locomotion("Hopper-v5", records.seeds("locomotion/Hopper-v5-bc"))
    figures = {figure.name: figure.value for figure in found}
    gained = np.mean([row["task_return"] for row in curve])
    assert figures["locomotion.Hopper-v5.share"] == pytest.approx(gained / RETURNS.mean())
    assert figures["locomotion.Hopper-v5.seeds"] == 1
    assert figures["locomotion.Hopper-v5.w1_ratio"] > 1


def test_a_run_that_was_not_played_has_no_stills(run, tmp_path, revision):
    folder = tmp_path / "results" / "clone"
    main(Keep(run, folder, commit=revision[:7]))
    assert {path.name for path in folder.iterdir()} == {"summary.json", "curve.csv", "panels.png"}
    summary = json.loads((folder / "summary.json").read_text())
    assert (summary["commit"], summary["evaluation"], summary["chosen"]) == (revision, None, None)


def test_a_commit_that_is_not_there_is_refused(run, tmp_path, revision):
    with pytest.raises(InputError, match="no commit 56f5b83"):
        main(Keep(run, tmp_path / "results", commit="56f5b83"))
    assert not (tmp_path / "results").exists()


def as_kept(config: ImitationConfig) -> dict:
    """As config.json holds it."""
    return {**json.loads(json.dumps(asdict(config), default=str)), "checksums": {"demonstrations": "a", "encoder": "b"}}


def spoken(words: Sequence[str]) -> ImitationConfig:
    """What `vision-pwil train` understands."""
    heard: list[ImitationConfig] = []
    start = train.configured(words, Choice(env="", agent=""))
    cli.run(cli.starting_from(heard.append, start), args=words)
    return ImitationConfig(**vars(heard[0]))


def door() -> ImitationConfig:
    usual = presets.defaults(Choice(ENV_ID))
    return replace(
        usual,
        demos=Path("human.pickle"),
        video=False,
        task=replace(usual.task, beta=2.0, ending="last"),
        training=replace(usual.training, seed=4),
        settings=replace(usual.settings, hidden=(64, 32), normalize=False),
    )


def reacher() -> ImitationConfig:
    usual = presets.defaults(Choice("Reacher-v5", "td3", ablation="support"))
    return replace(usual, num_demos=None, task=replace(usual.task, dimensions=(8, 9)))


CONFIGS = {
    f"--env {ENV_ID} --agent sac --demos human.pickle --no-video --ending last --beta 2.0 --seed 4 --hidden 64 32 "
    "--no-normalize": door(),
    "--env Reacher-v5 --agent td3 --ablation support --num-demos None --dimensions 8 9": reacher(),
    f"--env {ENV_ID} --agent sac --recipe paper": presets.defaults(Choice(ENV_ID, recipe="paper")),
    "--env CartPole-v1 --agent sac --reward sinkhorn": presets.defaults(Choice("CartPole-v1", reward="sinkhorn")),
    "--env Ant-v5 --agent d4pg --reward task": presets.defaults(Choice("Ant-v5", "d4pg", reward="task")),
}


@pytest.mark.parametrize("words", CONFIGS)
def test_the_command_says_what_differs_and_makes_the_settings_again(words):
    config = CONFIGS[words]
    assert sorted(command_line(as_kept(config)).split(" --")) == sorted(f"vision-pwil train {words}".split(" --"))
    assert spoken(words.split()) == config


def test_openings_are_counted_from_the_board(tmp_path, revision):
    config = replace(presets.defaults(Choice(ENV_ID)), demos=Path("folder/d.demos"))
    with Run(tmp_path / "run", as_kept(config)):
        board = Board(tmp_path / "run", 0)
        for step, opened in ((300, 0.0), (600, 1.0), (900, 0.0), (1_000, 1.0), (1_300, 1.0)):
            board.scalars("train", {"opened": opened, "return": float(step)}, step)
        board.close()
    assert keep_ablations.openings(tmp_path / "run", 1_000) == (4, 2, 600, 700.0)
    assert keep_ablations.openings(tmp_path / "run", 400) == (1, 0, None, 300.0)

    keep_ablations.main(keep_ablations.KeepAblations((tmp_path / "run",), 1_000, revision, tmp_path / "out"))
    (kept,) = json.loads((tmp_path / "out" / "summary.json").read_text())["runs"]
    assert (kept["opened"], kept["command"]) == (2, f"vision-pwil train --env {ENV_ID} --agent sac --demos d.demos")
