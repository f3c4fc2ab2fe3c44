"""Scores of videos: progress, rewards and distances against independent computations, the command, LeRobot's table."""

import csv
import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import av
import numpy as np
import ot
import pyarrow.parquet as pq
import pytest
import torch

from tests.datasets import RATE, write_film, write_lerobot_v3
from vision_pwil.commands import score as command
from vision_pwil.demonstrations import Demonstrations, Episode, read
from vision_pwil.encoder import Encoder
from vision_pwil.rewards.pwil import Rewarder
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import read_json
from vision_pwil.tasks.scorecard import compare
from vision_pwil.tasks.scoring import VideoScore, VideoScorer, progress, score


def glowing(phases: np.ndarray, size: int = 84) -> np.ndarray:
    """Frames whose brightness is their phase: any encoder tells them apart, and orders them."""
    return np.broadcast_to((250 * phases).round().astype(np.uint8)[:, None, None, None], (len(phases), size, size, 3))


def rising(steps: int, power: float = 1.0) -> np.ndarray:
    return np.linspace(0, 1, steps) ** power


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    torch.manual_seed(0)
    return Encoder().eval().rescaled(10.0)


@pytest.fixture(scope="module")
def demonstrations() -> Demonstrations:
    shapes = [(30, 1.0), (40, 1.3), (35, 0.8), (26, 1.1), (33, 0.9)]
    episodes = (Episode(frames=glowing(rising(*shape)), name=f"{n}") for n, shape in enumerate(shapes))
    return Demonstrations(tuple(episodes), rate=10.0)


def test_progress_by_hand() -> None:
    shown = [np.array([[0.0], [1.0], [2.0]]), np.array([[0.0], [2.0]]), np.array([[9.0], [0.0], [9.0], [9.0], [9.0]])]
    points = np.array([[0.1], [0.9], [2.5]])
    # Nearest frames: 0, 1, 2 of 0..2; 0, 0, 1 of 0..1; 1, 1, 1 of 0..4. The median outvotes the third.
    assert progress(points, shown) == pytest.approx([0.0, 0.25, 1.0])


def test_progress_is_the_phase_of_a_video_of_any_pace(encoder, demonstrations) -> None:
    linear = Demonstrations(tuple(Episode(frames=glowing(rising(steps))) for steps in (30, 40, 35)))
    found = VideoScorer(encoder, linear).score(glowing(rising(25, 1.5))).progress
    assert found == pytest.approx(rising(25, 1.5), abs=0.03)


def test_frame_by_frame_says_what_the_whole_says(encoder, demonstrations) -> None:
    scorer, video = VideoScorer(encoder, demonstrations), glowing(rising(28, 1.2))
    whole = scorer.score(video)
    for _ in range(2):  # a second video begins anew
        scorer.reset()
        steps = [scorer.step(frame) for frame in video]
        assert [step.reward for step in steps] == pytest.approx(whole.rewards, rel=1e-4)
        assert [step.progress for step in steps] == pytest.approx(whole.progress, abs=0.05)
    scorer.reset()
    camera = glowing(rising(28, 1.2), size=120)[:, :, :100]  # another size is fitted as readers do
    assert [scorer.step(frame).reward for frame in camera] == pytest.approx(whole.rewards, rel=1e-4)
    with pytest.raises(InputError, match="horizon of 40"):
        for frame in video:
            scorer.step(frame)


def test_rewards_and_distance_are_those_of_padded_copies(encoder, demonstrations) -> None:
    """The absorbing end is weight on one atom; here it is written out as copies of the last frame."""
    video, horizon = glowing(rising(28, 1.2)), 40
    embedded = [encoder.embed(np.asarray(episode.frames)) for episode in demonstrations.episodes]
    atoms = np.concatenate([np.vstack([e, *[e[-1:]] * (horizon - len(e))]) for e in embedded])
    points = encoder.embed(video)
    points = np.vstack([points, *[points[-1:]] * (horizon - len(points))])
    rewards = Rewarder.for_embeddings(atoms, horizon).episode(points).rewards
    scored = VideoScorer(encoder, demonstrations).score(video)
    assert scored.rewards == pytest.approx(rewards[:28], rel=1e-6)
    assert scored.imitation_return == pytest.approx(rewards.sum(), rel=1e-6)
    costs = ot.dist(points.astype(float), atoms.astype(float), "euclidean")
    assert scored.w1 == pytest.approx(ot.emd2(ot.unif(horizon), ot.unif(len(atoms)), costs), rel=1e-4)
    assert score(video, encoder, demonstrations).w1 == scored.w1


def test_a_demonstration_is_compared_with_the_others(encoder, demonstrations) -> None:
    first, *others = demonstrations.episodes
    scorer = VideoScorer(encoder, demonstrations)
    alone = VideoScorer(encoder, Demonstrations(tuple(others)), horizon=scorer.horizon)
    left_out = scorer.without(np.asarray(first.frames)).score(np.asarray(first.frames))
    assert left_out.w1 == alone.score(np.asarray(first.frames)).w1 > scorer.score(np.asarray(first.frames)).w1
    assert scorer.without(glowing(rising(12))) is scorer
    with pytest.raises(InputError, match="only demonstration"):
        VideoScorer(encoder, Demonstrations((first,))).without(np.asarray(first.frames))


def test_completed_and_order_by_hand() -> None:
    def of(*values: float) -> VideoScore:
        return VideoScore(np.array(values), np.zeros(len(values)), 0.0, 0.0)

    assert (of(0.1, 0.5, 0.9).completed, of(0.1, 0.5, 0.9).order) == pytest.approx((0.8, 1.0))
    assert (of(0.9, 0.5, 0.1).completed, of(0.9, 0.5, 0.1).order) == pytest.approx((-0.8, -1.0))
    assert (of(0.3, 0.3).completed, of(0.3, 0.3).order, of(0.3).order) == (0.0, 0.0, 0.0)


def test_frozen_cut_and_reversed_videos_rank_below(encoder, demonstrations) -> None:
    phases = rising(32, 1.05)
    spoiled = {
        "whole": phases,
        "reversed": phases[::-1],
        "frozen": phases.clip(max=0.5),
        "cut": phases[:16],
        "still": np.zeros(32),
    }
    videos = Demonstrations(tuple(Episode(frames=glowing(each), name=name) for name, each in spoiled.items()))
    card = compare(encoder, demonstrations, [videos])
    ranked = [line.name for line in card.ranked if line.kind == "video"]
    assert ranked[0] == "whole" and set(ranked[3:]) == {"reversed", "still"}
    worst = min(line.score for line in card.lines if line.kind == "held-out demonstration")
    assert worst > max(line.score for line in card.lines if line.kind == "video" and line.name != "whole")
    assert np.mean([line.likeness for line in card.held_out]) == pytest.approx(1.0)
    by_name = {line.name: line for line in card.lines}
    assert by_name["reversed"].likeness > by_name["frozen"].likeness  # the return alone hardly sees order
    assert by_name["cut"].scored.w1 == pytest.approx(by_name["frozen"].scored.w1, rel=0.1)  # an end is waited out


def test_the_command_writes_a_ranking_films_a_plot_and_a_page(encoder, tmp_path: Path, capsys) -> None:
    encoder.save(tmp_path / "encoder.safetensors")
    for number, steps in enumerate((30, 40, 35, 26, 33)):
        write_film(tmp_path / "shown" / f"{number}.mp4", glowing(rising(steps), 96))
    write_film(tmp_path / "new" / "whole.mp4", glowing(rising(32), 96))
    write_film(tmp_path / "new" / "back.mp4", glowing(rising(32)[::-1], 96))
    one = tmp_path / "half.mp4"
    write_film(one, glowing(rising(16) / 2, 96))
    options = ["--encoder", f"{tmp_path}/encoder.safetensors", "--demos", f"{tmp_path}/shown"]
    command.main([*options, str(tmp_path / "new"), str(one), "--out", f"{tmp_path}/out", "--film-size", "96"])
    rows = list(csv.DictReader((tmp_path / "out" / "ranking.csv").read_text().splitlines()))
    assert [row["rank"] for row in rows] == [str(n + 1) for n in range(len(rows))]
    ranks = {row["video"]: int(row["rank"]) for row in rows}
    assert ranks["whole.mp4"] < ranks["half.mp4"] < ranks["back.mp4"] == len(rows)
    assert sum(row["kind"] == "held-out demonstration" for row in rows) == 2
    assert "whole.mp4" in capsys.readouterr().out

    kept = {video["video"]: video for video in read_json(tmp_path / "out" / "scores.json")["videos"]}
    with av.open(str(tmp_path / "out" / kept["half.mp4"]["film"])) as film:
        pictures = [frame.to_ndarray(format="rgb24") for frame in film.decode(video=0)]
        assert film.streams.video[0].average_rate == RATE
    assert len(pictures) == 16
    bar = pictures[-1][-3]  # a row near the lower edge: green to where the video is, dark beyond
    assert np.mean(bar[:, 1] > 100) == pytest.approx(kept["half.mp4"]["progress"][-1], abs=0.03)
    for name in ("progress.png", "report.html"):
        assert (tmp_path / "out" / name).stat().st_size > 10_000


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Five episodes, their steps in two tables in the wrong order, each frame with its place in the whole."""
    lengths = (12, 10, 11, 13, 12)
    write_lerobot_v3(tmp_path / "set", lengths)
    starts = np.cumsum([0, *lengths])
    for path in (tmp_path / "set" / "data").rglob("*.parquet"):
        table = pq.read_table(path)
        index = starts[table["episode_index"].to_numpy()] + table["frame_index"].to_numpy()
        pq.write_table(table.set_column(table.column_names.index("index"), "index", [index]), path)
    return tmp_path / "set"


def write_table(encoder: Encoder, dataset: Path, out: Path, *more: str) -> Path:
    encoder.save(out / "encoder.safetensors")
    options = ["--encoder", f"{out}/encoder.safetensors", "--camera", "front", "--out", f"{out}/out", "--no-films"]
    command.main([*options, "--demos", str(dataset), "--lerobot", f"{out}/progress.parquet", *more])
    return out / "progress.parquet"


def test_lerobots_table_has_a_row_for_every_frame(encoder, dataset: Path, tmp_path: Path, capsys) -> None:
    table = pq.read_table(write_table(encoder, dataset, tmp_path))
    assert {field.name: str(field.type) for field in table.schema} == {
        "index": "int64",
        "episode_index": "int64",
        "frame_index": "int64",
        "progress_sparse": "float",
    }
    assert table["index"].to_pylist() == list(range(58))
    assert table["frame_index"].to_pylist() == [n for length in (12, 10, 11, 13, 12) for n in range(length)]
    values = np.split(table["progress_sparse"].to_numpy(), np.cumsum([12, 10, 11, 13]))
    shown = read(dataset, camera="front")
    held_out = {video["video"] for video in read_json(tmp_path / "out" / "scores.json")["videos"]
                if video["kind"] == "held-out demonstration"}  # fmt: skip
    atoms = [encoder.embed(np.asarray(e.frames)) for e in shown.episodes if e.name not in held_out]
    for episode, found in zip(shown.episodes, values, strict=True):
        points = encoder.embed(np.asarray(episode.frames))
        others = [atom for atom in atoms if not np.array_equal(atom, points)]
        assert found == pytest.approx(progress(points, others), abs=1e-6)
        assert found.min() >= 0 and found.max() <= 1
    printed = capsys.readouterr().out
    assert "--sample_weighting.type=rabc" in printed and f"--rabc_progress_path={tmp_path}/progress.parquet" in printed


def test_a_camera_is_asked_of_those_that_have_several(encoder, dataset: Path, tmp_path: Path, capsys) -> None:
    encoder.save(tmp_path / "encoder.safetensors")
    write_film(tmp_path / "new.mp4", glowing(rising(12), 96))
    options = ["--encoder", f"{tmp_path}/encoder.safetensors", "--demos", str(dataset), "--out", f"{tmp_path}/out"]
    with pytest.raises(SystemExit):
        command.main([*options, str(tmp_path / "new.mp4")])
    assert "choose one with --camera" in capsys.readouterr().err
    command.main([*options, "--camera", "wrist", "--no-films", str(tmp_path / "new.mp4")])
    assert "new.mp4" in capsys.readouterr().out


def test_lerobots_table_needs_one_whole_dataset(encoder, dataset: Path, tmp_path: Path, capsys) -> None:
    for videos, words in (
        ([dataset, dataset / "meta"], "name one"),
        ([tmp_path / "nothing.mp4"], "is not the folder of one"),
    ):
        with pytest.raises(SystemExit):
            write_table(encoder, dataset, tmp_path, *map(str, videos))
        assert words in capsys.readouterr().err
    assert not (tmp_path / "progress.parquet").exists()


@pytest.mark.slow
def test_lerobots_own_loader_takes_the_table(encoder, dataset: Path, tmp_path: Path) -> None:
    """In an environment of its own, which borrows torch, pandas and pyarrow from this one."""
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = environment / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet"]
    for words in (["--no-deps", "lerobot==0.4.4"], ["pandas", "huggingface_hub"]):
        if subprocess.run([*install, *words], capture_output=True).returncode:
            pytest.skip("lerobot cannot be installed here")
    table = write_table(encoder, dataset, tmp_path)
    code = f"""
import json, torch
from lerobot.utils.rabc import RABCWeights
loader = RABCWeights({str(table)!r}, chunk_size=3, device=torch.device("cpu"))
weights, _ = loader.compute_batch_weights({{"index": torch.arange(58)}})
print(json.dumps([loader.get_stats(), weights.tolist()]))
"""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, env=clean)
    assert done.returncode == 0, done.stderr
    stats, weights = json.loads(done.stdout.splitlines()[-1])
    values = np.split(pq.read_table(table)["progress_sparse"].to_numpy(), np.cumsum([12, 10, 11, 13]))
    gains = np.concatenate([each[(np.arange(len(each)) + 3).clip(max=len(each) - 1)] - each for each in values])
    assert stats["num_frames"] == 58 and stats["delta_mean"] == pytest.approx(gains.mean(), abs=1e-5)
    assert (np.array(weights)[gains > 0.02] > 0).all() and (np.array(weights)[gains < -1e-6] == 0).all()
