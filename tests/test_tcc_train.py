"""Training on synthetic videos with a known phase: it aligns them, goes on exactly, and its commands work."""

import csv
import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from tests.videos import ball_videos, phases
from vision_pwil.demonstrations import Demonstrations, Episode
from vision_pwil.encoder import Encoder
from vision_pwil.tcc.alignment import kendall_tau, nearest, typical_distance
from vision_pwil.tcc.learner import Learner, learning_rate
from vision_pwil.tcc.recipes import RECIPES, Recipe
from vision_pwil.tcc.session import train
from vision_pwil.tcc.settings import TrainConfig

SMALL = replace(Recipe(), updates=6, subsampling=8)


@pytest.fixture(scope="module")
def demos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demos") / "ball.demos"
    Demonstrations(tuple(Episode(frames=video) for video in ball_videos(6))).save(path)
    return path


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", *map(str, arguments)]


def test_videos_it_has_not_seen_align_by_their_phase() -> None:
    torch.set_num_threads(1)
    videos = ball_videos(12)
    learner = Learner(videos[:8], replace(Recipe(), updates=40, subsampling=4), seed=0)
    assert kendall_tau([learner.product.embed(video) for video in videos[8:]]) < 0.7
    for _ in range(40):
        learner.update()
    embedded = [learner.product.embed(video) for video in videos]
    assert kendall_tau(embedded[:8]) > 0.95
    assert kendall_tau(embedded[8:]) > 0.95
    truth = phases(12, seed=0)
    for i, j in ((8, 9), (9, 10), (10, 11)):
        matched = truth[j][nearest(embedded[i], embedded[j])]
        assert np.abs(matched - truth[i]).mean() < 0.1
        assert spearmanr(matched, truth[i]).statistic > 0.95


def test_the_papers_recipe_learns_too() -> None:
    torch.set_num_threads(1)
    videos = ball_videos(6)
    learner = Learner(videos, replace(RECIPES["paper"], learning_rate=1e-3, subsampling=4), seed=0)
    losses = [learner.update()["cycle"] for _ in range(20)]
    assert np.mean(losses[-5:]) < np.mean(losses[:5]) - 0.1


def test_the_cosine_rises_then_falls() -> None:
    recipe = replace(Recipe(), updates=1000, learning_rate=1.0)
    rates = [learning_rate(recipe, update) for update in range(1000)]
    assert rates[0] == pytest.approx(0.01) and max(rates) == pytest.approx(rates[99], abs=0.01)
    assert rates[499] == pytest.approx(0.51, abs=0.01) and rates[-1] == pytest.approx(0.02, abs=0.001)


def test_going_on_is_exact(tmp_path: Path, demos: Path) -> None:
    """Two halves are the whole, to the last bit, and other settings are refused."""
    config = TrainConfig(demos, tmp_path / "whole", settings=SMALL, validation=2, iteration=3, threads=1)
    whole = train(config)
    half = TrainConfig(demos, tmp_path / "halves", settings=SMALL, validation=2, iteration=3, threads=1, patience=0)
    assert train(half).learner.updates == 3  # no iteration may pass without a better tau: stops after the first
    resumed = train(replace(half, patience=None))
    assert resumed.learner.updates == 6
    for name, tensor in whole.learner.tensors().items():
        assert torch.equal(tensor, resumed.learner.tensors()[name]), name
    assert [row["tau_validation"] for row in whole.rows] == [row["tau_validation"] for row in resumed.rows]
    best = Encoder.load(tmp_path / "halves" / "encoder.safetensors")
    assert best.provenance == Encoder.load(tmp_path / "whole" / "encoder.safetensors").provenance
    assert best.provenance.tau_validation == max(row["tau_validation"] for row in whole.rows)
    videos = [best.embed(video) for video in ball_videos(6)]
    held_out = [videos[i] for i in best.provenance.validation]
    training = [videos[i] for i in range(6) if i not in best.provenance.validation]
    assert typical_distance(held_out, training) == pytest.approx(0.25, rel=1e-3)
    assert best.provenance.demonstrations == Demonstrations.load(demos).checksum


def test_the_commands(tmp_path: Path, demos: Path) -> None:
    options = ("--demos", demos, "--out", tmp_path / "run", "--updates", 4, "--iteration", 2, "--validation", 2)
    done = subprocess.run(command("vision_pwil.tcc.train", *options), capture_output=True, text=True, check=True)
    assert "Finished: validation tau" in done.stdout and f"tensorboard --logdir {tmp_path}\n" in done.stdout
    rows = list(csv.DictReader((tmp_path / "run" / "curve.csv").open()))
    assert [float(row["updates"]) for row in rows] == [2, 4]
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["finished"]
    assert list((tmp_path / "run").glob("events*"))
    encoder = tmp_path / "run" / "encoder.safetensors"
    look = ("--encoder", encoder, "--demos", demos, "--out", tmp_path / "pictures")
    done = subprocess.run(
        command("vision_pwil", "encoder", "evaluate", *look), capture_output=True, text=True, check=True
    )
    assert f"held out videos: {Encoder.load(encoder).provenance.tau_validation:.4f}" in done.stdout
    assert {"tau_all.png", "tau_held_out.png", "tau_training.png"} < {
        path.name for path in (tmp_path / "pictures").iterdir()
    }
    folds = ("--demos", demos, "--out", tmp_path / "folds", "--updates", 1, "--validation", 2, "--recipe", "paper")
    done = subprocess.run(
        command("vision_pwil", "encoder", "crossvalidate", *folds), capture_output=True, text=True, check=True
    )
    assert len(list(csv.DictReader((tmp_path / "folds" / "folds.csv").open()))) == 3
    assert (tmp_path / "folds" / "curves.png").exists()
    config = json.loads((tmp_path / "folds" / "fold-2" / "config.json").read_text())
    assert config["settings"]["learning_rate"] == 1e-4 and config["fold"] == 2


def test_ctrl_c_saves_and_the_same_command_goes_on(tmp_path: Path, demos: Path) -> None:
    options = ("--demos", demos, "--out", tmp_path, "--updates", 10_000, "--iteration", 5_000, "--validation", 2)
    process = subprocess.Popen(
        command("vision_pwil.tcc.train", *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("events*")) and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, output = process.communicate(timeout=60)
    assert process.returncode == 130 and b"the same command goes on" in output
    assert (tmp_path / "checkpoint.safetensors").exists()


def test_bad_input_is_one_sentence(tmp_path: Path, demos: Path) -> None:
    options = ("--demos", demos, "--out", tmp_path, "--validation", 5)
    done = subprocess.run(command("vision_pwil.tcc.train", *options), capture_output=True, text=True)
    assert done.returncode == 2 and "error: Of 6 videos, 5 cannot be held out" in done.stderr
    assert "Traceback" not in done.stderr
    done = subprocess.run(
        command("vision_pwil.tcc.train", *options, "--device", "cdua"), capture_output=True, text=True
    )
    assert done.returncode == 2 and done.stderr.startswith("error: --device cdua is not a device")
