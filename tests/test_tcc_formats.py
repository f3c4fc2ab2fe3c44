"""The training command on datasets of every format with pictures: cameras, subsets, fits, and very few videos."""

import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.datasets import write_lerobot_v3, write_robomimic
from tests.shared import DATA, needs_shared
from vision_pwil.commands import audit, encoder
from vision_pwil.demonstrations import read
from vision_pwil.encoder import Encoder
from vision_pwil.system.run import read_curve
from vision_pwil.tcc import train

FEW = ("--updates", "2", "--iteration", "1", "--subsampling", "8", "--batch-size", "1")


def trained(demos: Path, out: Path, *options: str) -> tuple[Encoder, str]:
    """What the command learned, started as a user starts it."""
    words = ["--demos", str(demos), "--out", str(out), *FEW, *options]
    done = subprocess.run(
        [sys.executable, "-m", "vision_pwil.tcc.train", *words], capture_output=True, text=True, check=True
    )
    return Encoder.load(out / "encoder.safetensors"), done.stdout


def learned_from(encoder: Encoder, frames: list[np.ndarray]) -> bool:
    """Whether these are its training videos: it knows the mean of their mean frames."""
    return np.allclose(encoder.mean.permute(1, 2, 0), np.mean([video.mean(axis=0) for video in frames], axis=0))


@needs_shared
@pytest.mark.parametrize(
    "name, camera",
    [
        ("lerobot-native-v3.0-video", None),
        ("lerobot-native-v3.0-image", None),
        ("robomimic-image.hdf5", "agentview"),
        ("robomimic-image.hdf5", "robot0_eye_in_hand"),
        ("minari-rgb-hdf5", None),
    ],
)
def test_what_other_libraries_wrote_is_learned_from(
    name: str, camera: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two or three videos each: all are trained on, and the last encoder is kept."""
    found, said = trained(DATA / "formats" / name, tmp_path / "run", *(["--camera", camera] if camera else []))
    shown = read(DATA / "formats" / name, camera=camera)
    assert learned_from(found, [np.asarray(episode.frames) for episode in shown.episodes])
    assert found.provenance.demonstrations == shown.identity and found.provenance.updates == 2
    assert found.provenance.validation == () and found.provenance.tau_validation is None
    assert "no video is held out" in said
    assert [[*row] for row in read_curve(tmp_path / "run")] == [["updates", "tau_train", "seconds"]] * 2
    (look,) = (line.partition(": ")[2] for line in said.splitlines() if line.startswith("See the alignment"))
    encoder.main(shlex.split(look)[2:])
    told = capsys.readouterr().out
    assert f"training videos: {found.provenance.tau_train:.4f}" in told and "held out" not in told


@needs_shared
@pytest.mark.slow
def test_a_real_robots_videos_are_learned_from(tmp_path: Path) -> None:
    found, said = trained(DATA / "g1", tmp_path / "run", "--subsampling", "24")
    shown = [np.asarray(episode.frames) for episode in read(DATA / "g1").episodes]
    held_out = found.provenance.validation
    assert len(held_out) == 4 and "validation tau" in said
    assert learned_from(found, [frames for number, frames in enumerate(shown) if number not in held_out])


def test_a_camera_a_size_and_a_fit_are_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_lerobot_v3(tmp_path / "set", lengths=(6, 4, 5, 6, 5))
    arguments = ["--demos", str(tmp_path / "set"), *FEW, "--threads", "1"]
    with pytest.raises(SystemExit):
        train.main([*arguments, "--out", str(tmp_path / "none")])
    assert "choose one with --camera" in capsys.readouterr().err
    reading = ["--camera", "wrist", "--size", "40", "--fit", "pad"]
    train.main([*arguments, "--out", str(tmp_path / "run"), *reading])
    assert " ".join(reading) in capsys.readouterr().out  # in the command that it says to go on with
    found = Encoder.load(tmp_path / "run" / "encoder.safetensors")
    shown = read(tmp_path / "set", camera="wrist", size=40, fit="pad")
    held_out = found.provenance.validation
    kept = [np.asarray(e.frames) for number, e in enumerate(shown.episodes) if number not in held_out]
    assert len(kept) == 3 and learned_from(found, kept)
    with pytest.raises(SystemExit):  # another camera is another run
        train.main([*arguments, "--out", str(tmp_path / "run"), "--camera", "front", *reading[2:]])
    assert "holds a run made from other demonstrations" in capsys.readouterr().err

    path = ["--encoder", str(tmp_path / "run" / "encoder.safetensors"), "--demos", str(tmp_path / "set"), *reading]
    encoder.main(["evaluate", *path, "--out", str(tmp_path / "alignment")])
    assert f"held out videos: {found.provenance.tau_validation:.4f}" in capsys.readouterr().out
    audit.main([*path, "--out", str(tmp_path / "audit")])
    assert (tmp_path / "audit" / "audit.json").exists()


def test_folds_of_a_subset_need_four_videos(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_robomimic(tmp_path / "a.hdf5")
    reading = ["--camera", "front", "--filter", "train", "--size", "40"]
    with pytest.raises(SystemExit):
        encoder.main(["crossvalidate", "--demos", str(tmp_path / "a.hdf5"), "--out", str(tmp_path / "folds"), *reading])
    assert "Folds need four videos or more" in capsys.readouterr().err
