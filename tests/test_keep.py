"""What a run left becomes a folder of records."""

import json
import subprocess
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import tyro
from PIL import Image
from vision_pwil.tasks.locomotion_task import Expert, LocomotionTaskFactory

from tools import keep_ablations
from tools.keep import Keep, command_line, main
from vision_pwil import train_door, train_locomotion
from vision_pwil.agents.d4pg import D4PG, D4PGConfig
from vision_pwil.system import choices
from vision_pwil.system.board import Board
from vision_pwil.system.checkpoint import save_policy
from vision_pwil.system.errors import InputError
from vision_pwil.system.run import Run


@pytest.fixture
def revision(tmp_path_factory, monkeypatch):
    """A repository to be in, and its one commit."""
    monkeypatch.chdir(tmp_path_factory.mktemp("repository"))
    author = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    for words in (["init", "-q"], [*author, "commit", "-q", "--allow-empty", "-m", "m"]):
        subprocess.run(["git", *words], check=True)
    head = ["git", "rev-parse", "--short=10", "HEAD"]
    return subprocess.run(head, capture_output=True, text=True, check=True).stdout.strip()


def make_run(folder, name, agent, steps, task_return):
    np.savez(folder / "Hopper-v5.npz", returns=np.array([10.0, 30.0]))
    config = train_locomotion.defaults(train_locomotion.Choice("Hopper-v5", agent))
    config = replace(config, demos=str(folder / "Hopper-v5.npz"), run=name, num_demos=4)
    config = replace(config, training=replace(config.training, steps=steps, seed=3))
    with Run(folder / name, {**asdict(config), "checksum": "abc"}) as run:
        first = {"step": 0, "return": 1.0, "task_return": 99.0, "steps": 5.0, "w1": 9.0, "greedy_w1": 9.5}
        run.write_curve([first, {**first, "step": steps, "task_return": task_return, "w1": 1.25, "greedy_w1": 1.5}])
    return run.path


def test_a_run_becomes_a_folder(tmp_path, revision):
    run, folder = make_run(tmp_path, "d4pg", "d4pg", 50_000, 18.25), tmp_path / "results" / "d4pg"
    chosen = {"step": 40_000, "episodes": 50, "mean": {"task_return": 19.5}}
    (run / "evaluation-best.json").write_text(json.dumps(chosen))
    (run / "audit.json").write_text("{}")
    expert = Expert(np.zeros((2, 11)), np.zeros((2, 3)))
    LocomotionTaskFactory("Hopper-v5", 20, expert).save(run / "task.safetensors")
    policy = D4PG(11, 3, D4PGConfig(), seed=0).policy()
    save_policy(run / "best.safetensors", policy, {"agent": "d4pg", "step": 40_000})
    main(Keep(run, folder, "it fell"))

    summary = json.loads((folder / "summary.json").read_text())
    assert summary["command"] == (
        "python -m vision_pwil.train_locomotion --env Hopper-v5 --agent d4pg --num-demos 4 --demos Hopper-v5.npz "
        "--steps 50000 --seed 3"
    )
    assert (summary["commit"], summary["seed"], summary["note"]) == (revision, 3, "it fell")
    assert (summary["first"]["step"], summary["last"]["task_return"], summary["expert_return"]) == (0, 18.25, 20.0)
    assert summary["chosen"] == chosen and summary["evaluation"] is None
    for name in ("curve.csv", "audit.json"):
        assert (folder / name).read_text() == (run / name).read_text()
    assert (folder / "panels.png").stat().st_size > 1_000
    stills = np.asarray(Image.open(folder / "stills.png"))
    assert stills.shape[1] == 1_680 and stills.std() > 10


def test_a_run_that_was_not_played_has_no_stills(tmp_path, revision):
    folder = tmp_path / "results" / "clone"
    main(Keep(make_run(tmp_path, "clone", "bc", 20_000, 7.0), folder, commit=revision[:7]))
    assert {path.name for path in folder.iterdir()} == {"summary.json", "curve.csv", "panels.png"}
    summary = json.loads((folder / "summary.json").read_text())
    assert (summary["commit"], summary["evaluation"], summary["chosen"]) == (revision, None, None)


def test_a_commit_that_is_not_there_is_refused(tmp_path, revision):
    run = make_run(tmp_path, "clone", "bc", 20_000, 7.0)
    with pytest.raises(InputError, match="no commit 56f5b83"):
        main(Keep(run, tmp_path / "results", commit="56f5b83"))
    assert not (tmp_path / "results").exists()


def test_a_run_at_the_door_names_its_command():
    config = replace(
        train_door.RECIPES["default"],
        demos=Path("elsewhere/human.pickle"),
        beta=2.0,
        video=False,
        training=replace(train_door.RECIPES["default"].training, seed=4),
        agent=replace(train_door.RECIPES["default"].agent, hidden=(64, 32)),
    )
    kept = {**json.loads(json.dumps(asdict(config), default=str)), "checksums": {"demonstrations": "a", "encoder": "b"}}
    words = command_line(kept)
    assert words == (
        "python -m vision_pwil.train_door --demos human.pickle --beta 2.0 --no-video --seed 4 --hidden 64 32"
    )
    spoken: list[train_door.TrainDoor] = []
    command = choices.command(
        spoken.append, train_door.Choice, lambda choice: train_door.RECIPES[choice.recipe], words.split()[3:]
    )
    tyro.cli(command, args=words.split()[3:], config=(tyro.conf.OmitArgPrefixes,))
    assert [replace(each, demos=config.demos) for each in spoken] == [config]


def test_openings_are_counted_from_the_board(tmp_path, revision):
    with Run(tmp_path / "run", {**asdict(train_door.RECIPES["default"]), "checksums": {}} | {"demos": "d", "run": "r"}):
        board = Board(tmp_path / "run" / "tensorboard", 0)
        for step, opened in ((300, 0.0), (600, 1.0), (900, 0.0), (1_000, 1.0), (1_300, 1.0)):
            board.scalars("train", {"opened": opened, "return": float(step)}, step)
        board.close()
    assert keep_ablations.outcome(tmp_path / "run", 1_000) == (4, 2, 600, 700.0)
    assert keep_ablations.outcome(tmp_path / "run", 400) == (1, 0, None, 300.0)

    keep_ablations.main(keep_ablations.Keep((tmp_path / "run",), 1_000, revision, tmp_path / "out"))
    (kept,) = json.loads((tmp_path / "out" / "summary.json").read_text())["runs"]
    assert (kept["opened"], kept["command"]) == (2, "python -m vision_pwil.train_door --demos d")
