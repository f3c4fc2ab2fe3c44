"""Minari datasets in each of its storages."""

import hashlib
import shutil

import numpy as np
import pytest

from tests.datasets import minari_observations, write_minari_file, write_minari_tables
from tests.shared import DATA, needs_shared
from vision_pwil.demonstrations import read
from vision_pwil.system.errors import InputError


def short(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


# What minari 0.5.4 gives for these datasets: SHA-256 of observations[:-1] and of actions, for both episodes.
STATES = ["349baed89c9287f2", "9836b8405cdefa05"]
ACTIONS = ["cae70071dc50b537", "8ae9ef43c38a52ec"]
PICTURES = ["738d70b303945c80", "b3f61e07092d3b74"]


@needs_shared
@pytest.mark.parametrize("name", ["minari-hopper-hdf5", "minari-hopper-arrow", "minari-rgb-hdf5"])
def test_what_minari_wrote_reads_as_minari_reads_it(name):
    folder = DATA / "formats" / name
    (inner,) = folder.glob("hopper/*-v0")
    for path in (folder, inner):
        demonstrations = read(path, size=None)
        assert demonstrations.env_id == "Hopper-v5" and demonstrations.source == inner.name
        assert [len(episode) for episode in demonstrations.episodes] == [30, 30]
        assert [short(episode.states) for episode in demonstrations.episodes] == STATES
        assert [short(episode.actions) for episode in demonstrations.episodes] == ACTIONS
        if "rgb" in name:
            assert [short(episode.frames) for episode in demonstrations.episodes] == PICTURES
            assert demonstrations.state_parts == (("state", 11),) and demonstrations.camera == "rgb"


@pytest.mark.parametrize("jpeg", [True, False])
@pytest.mark.parametrize("storage", ["arrow", "parquet", "hdf5"])
def test_dicts_tuples_and_pictures(tmp_path, storage, jpeg):
    if storage == "hdf5":
        write_minari_file(tmp_path / "toy-v0", jpeg)
    else:
        write_minari_tables(tmp_path / "toy-v0", storage, jpeg)
    demonstrations = read(tmp_path / "toy-v0", size=None)
    assert demonstrations.env_id == "Toy-v0" and demonstrations.camera == "view"
    assert demonstrations.state_parts == (("goal", 2), ("pair/0", 4), ("pair/1", 1))
    assert [episode.name for episode in demonstrations.episodes] == [str(k) for k in range(11)]
    for number, episode in enumerate(demonstrations.episodes):
        parts = minari_observations(number, 2 + number)
        flat = [parts[name].reshape(3 + number, -1) for name in ("goal", "pair/0", "pair/1")]
        assert np.array_equal(episode.states, np.concatenate(flat, axis=1)[:-1])
        assert np.array_equal(episode.actions, np.full((2 + number, 1), float(number)))
        assert episode.absorbing == (number == 1)
        difference = np.abs(episode.frames.astype(int) - parts["view"][:-1])
        assert difference.max() <= (3 if jpeg else 0)  # one colour survives JPEG almost whole
        if storage != "hdf5":  # of the second episode from the options of the reset, else from the infos
            assert np.array_equal(episode.initial_state["qpos"], [2.0] * 4 if number == 2 else [10.0 * number] * 4)


def test_a_file_without_its_metadata(tmp_path):
    write_minari_file(tmp_path / "toy-v0", jpeg=False, episodes=2)
    whole = read(tmp_path / "toy-v0", size=None)
    shutil.move(tmp_path / "toy-v0" / "data" / "main_data.hdf5", tmp_path / "alone.hdf5")
    alone = read(tmp_path / "alone.hdf5", size=None)
    assert alone.cameras == ("view",)
    for left, right in zip(whole.episodes, alone.episodes, strict=True):
        assert np.array_equal(left.states, right.states) and np.array_equal(left.frames, right.frames)


def test_several_datasets_are_named(tmp_path):
    for name in ("one-v0", "two-v0"):
        write_minari_tables(tmp_path / "space" / name, "arrow", jpeg=True, episodes=1)
    with pytest.raises(InputError, match="several Minari datasets, space/one-v0, space/two-v0"):
        read(tmp_path)


def test_a_missing_part_is_named(tmp_path):
    write_minari_tables(tmp_path / "toy-v0", "parquet", jpeg=True, episodes=2)
    (tmp_path / "toy-v0" / "data" / "1" / "part-0.parquet").unlink()
    with pytest.raises(InputError, match=r"data/1: it holds no Arrow and no Parquet file"):
        read(tmp_path / "toy-v0")
