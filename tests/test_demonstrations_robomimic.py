"""robomimic's HDF5 files."""

import hashlib

import h5py
import numpy as np
import pytest

from tests.datasets import colour, write_robomimic
from tests.shared import DATA, needs_shared
from vision_pwil.demonstrations import read
from vision_pwil.system.errors import InputError

FILE = DATA / "formats" / "robomimic-image.hdf5"


@needs_shared
@pytest.mark.parametrize("camera", ["agentview_image", "robot0_eye_in_hand_image"])
def test_what_robomimic_wrote(camera):
    demonstrations = read(FILE, camera=camera)
    assert [(episode.name, len(episode)) for episode in demonstrations.episodes] == [
        ("demo_0", 42),
        ("demo_1", 38),
        ("demo_2", 45),
    ]
    assert demonstrations.rate == 20 and demonstrations.cameras == ("agentview_image", "robot0_eye_in_hand_image")
    with h5py.File(FILE) as file:
        for episode in demonstrations.episodes:
            demo = file["data"][episode.name]
            assert np.array_equal(episode.actions, demo["actions"])
            assert np.array_equal(episode.frames, demo["obs"][camera])
            start = 0
            for name, width in demonstrations.state_parts:
                assert np.array_equal(episode.states[:, start : start + width], demo["obs"][name])
                start += width
            assert start == episode.states.shape[1] == 27


@needs_shared
def test_the_same_scene_as_lerobot_recorded():
    """The LeRobot dataset beside it holds the same pictures, which lerobot 0.4.4 reads with these checksums."""
    sums = [hashlib.sha256(e.frames.tobytes()).hexdigest()[:16] for e in read(FILE, camera="agentview").episodes]
    assert sums == ["d513b72f7a6a71dc", "bb65e5cfbc5f2368", "63cae7b9fb6ce166"]


def test_order_cameras_and_states(tmp_path):
    write_robomimic(tmp_path / "a.hdf5")
    demonstrations = read(tmp_path / "a.hdf5", camera="wrist")
    assert [episode.name for episode in demonstrations.episodes] == [f"demo_{k}" for k in range(11)]
    assert demonstrations.state_parts == (("grip", 1), ("pos", 3))
    for number, episode in enumerate(demonstrations.episodes):
        steps = len(episode)
        positions = np.arange(3.0 * steps).reshape(steps, 3) + number
        assert np.array_equal(episode.states, np.column_stack([np.full(steps, -1.0), positions]))
        for step, frame in enumerate(episode.frames):
            assert (frame == colour(number % 4, step, 1)).all()


def test_filters(tmp_path):
    write_robomimic(tmp_path / "a.hdf5")
    chosen = read(tmp_path / "a.hdf5", camera="front", filter="train")
    assert [episode.name for episode in chosen.episodes] == ["demo_2", "demo_10"]
    with pytest.raises(InputError, match="no filter 'test'; there are train, valid"):
        read(tmp_path / "a.hdf5", camera="front", filter="test")
    with pytest.raises(InputError, match="several cameras, front_image and wrist_image"):
        read(tmp_path / "a.hdf5")


def test_a_file_without_observations_says_what_to_run(tmp_path):
    with h5py.File(tmp_path / "a.hdf5", "w") as file:
        file["data/demo_0/actions"] = np.zeros((3, 2))
        file["data/demo_0/states"] = np.zeros((3, 9))
    with pytest.raises(InputError, match=r"demo_0 has no observations: extract them with .*dataset_states_to_obs"):
        read(tmp_path / "a.hdf5")
