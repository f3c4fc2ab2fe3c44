"""LeRobot datasets: the real ones beside the project, and small ones with every trap of the format."""

import hashlib
import json
import os
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.datasets import CAMERAS, RATE, TASKS, colour, write_film, write_lerobot_v2, write_lerobot_v3
from tests.shared import DATA, needs_shared
from vision_pwil.demonstrations import read
from vision_pwil.system.errors import InputError

FRONT, WRIST = CAMERAS


def short(array: np.ndarray) -> str:
    return hashlib.sha256(array.tobytes()).hexdigest()[:16]


# What LeRobotDataset of lerobot 0.4.4 gives for these datasets, item by item: SHA-256 of states, actions and frames.
NATIVE = [
    ("0", 42, "lift the cube", "6116d8576a7c2696", "2c642057d2883260", "d97f3b21ff7da575", "d513b72f7a6a71dc"),
    ("1", 38, "pick the cube", "e10bf99fb29aa741", "3469751dfe5409fd", "d264167596ed885d", "bb65e5cfbc5f2368"),
    ("2", 45, "lift the cube", "85fa065c1896556f", "b2bede8edb656bcc", "c8fc7eafaef9024b", "63cae7b9fb6ce166"),
]


@needs_shared
@pytest.mark.parametrize("kind", ["video", "image"])
def test_what_lerobot_recorded_reads_as_lerobot_reads_it(kind):
    demonstrations = read(DATA / "formats" / f"lerobot-native-v3.0-{kind}", size=None)
    for episode, (name, steps, task, states, actions, video, image) in zip(
        demonstrations.episodes, NATIVE, strict=True
    ):
        assert (episode.name, len(episode), episode.task) == (name, steps, task)
        assert (short(episode.states), short(episode.actions)) == (states, actions)
        assert short(episode.frames) == (video if kind == "video" else image)
    assert demonstrations.rate == 20 and demonstrations.cameras == ("observation.images.agentview",)


@needs_shared
def test_a_real_robot():
    """20 of the 100 episodes of a version 2.1 dataset, AV1; the lengths and indices are those of its tables."""
    demonstrations = read(DATA / "g1")
    tables = [pq.read_table(path) for path in sorted((DATA / "g1" / "data").rglob("*.parquet"))]
    assert [int(episode.name) for episode in demonstrations.episodes] == [t["episode_index"][0].as_py() for t in tables]
    assert sum(map(len, demonstrations.episodes)) == 5814
    for episode, table in zip(demonstrations.episodes, tables, strict=True):
        assert np.array_equal(episode.states, np.array(table["observation.state"].to_pylist(), np.float32))
        assert np.array_equal(episode.actions, np.array(table["action"].to_pylist(), np.float32))
        assert episode.frames.shape == (table.num_rows, 84, 84, 3)
        assert episode.task == "Pick up the yellow bottle on the table."
    # As plain videos they give the same frames: a table's times are those of the film's frames.
    for episode in demonstrations.episodes[:2]:
        film = f"episode_{int(episode.name):06d}.mp4"
        (video,) = read(DATA / "g1" / "videos" / "chunk-000" / "observation.images.cam_high" / film).episodes
        assert video.name == film and np.array_equal(episode.frames, video.frames)


def check(episode, number: int, steps: int, camera: int, tolerance: int) -> None:
    assert len(episode) == steps
    assert np.array_equal(episode.states[:, 0], 100 * int(episode.name) + np.arange(steps))
    assert np.array_equal(episode.actions, -episode.states[:, :2])
    assert episode.task == TASKS[int(episode.name) % 2]
    for step, frame in enumerate(episode.frames):
        assert np.abs(frame.astype(int) - colour(number, step, camera)).max() <= tolerance


@pytest.mark.parametrize("codec", ["libx264", "libsvtav1"])
@pytest.mark.parametrize("camera", [FRONT, WRIST])
def test_many_episodes_in_one_film(tmp_path, codec, camera):
    write_lerobot_v3(tmp_path / "set", codec=codec)
    demonstrations = read(tmp_path / "set", camera=camera)
    assert (demonstrations.camera, demonstrations.cameras, demonstrations.rate) == (camera, CAMERAS, RATE)
    for number, (episode, steps) in enumerate(zip(demonstrations.episodes, (6, 4, 5), strict=True)):
        check(episode, number, steps, CAMERAS.index(camera), tolerance=4)


def test_pictures_in_the_table(tmp_path):
    write_lerobot_v3(tmp_path / "set", kind="image")
    for number, episode in enumerate(read(tmp_path / "set", camera="wrist").episodes):
        check(episode, number, (6, 4, 5)[number], 1, tolerance=0)


def test_version_2_keeps_its_own_indices(tmp_path):
    write_lerobot_v2(tmp_path / "set")
    demonstrations = read(tmp_path / "set", camera="front")
    assert [episode.name for episode in demonstrations.episodes] == ["3", "12"]
    for episode, steps in zip(demonstrations.episodes, (6, 4), strict=True):
        check(episode, int(episode.name) % 4, steps, 0, tolerance=4)
    camera = tmp_path / "set" / "videos" / "chunk-000" / FRONT
    assert [len(episode) for episode in read(camera).episodes] == [6, 4]
    assert len(read(camera / "episode_000012.mp4").episodes[0]) == 4


def test_several_cameras_and_unknown_ones_are_named(tmp_path):
    write_lerobot_v2(tmp_path / "set")
    with pytest.raises(InputError, match=rf"several cameras, {FRONT} and {WRIST}: choose one with --camera"):
        read(tmp_path / "set")
    with pytest.raises(InputError, match=f"no camera 'top'; there are {FRONT} and {WRIST}"):
        read(tmp_path / "set", camera="top")


def test_a_film_of_many_episodes_is_not_read_alone(tmp_path):
    write_lerobot_v3(tmp_path / "set")
    film = tmp_path / "set" / "videos" / FRONT / "chunk-000" / "file-002.mp4"
    for path in (film, film.parent, film.parent.parent):
        with pytest.raises(
            InputError, match=rf"belongs to the LeRobot dataset {tmp_path / 'set'}, .* give that folder"
        ):
            read(path)


def broken(folder, change) -> str:
    """The sentence after a change to a good dataset."""
    write_lerobot_v3(folder)
    change(folder)
    with pytest.raises(InputError) as caught:
        read(folder, camera=FRONT)
    assert str(caught.value).startswith(str(folder))
    return str(caught.value)


def set_info(**changes):
    def change(folder):
        path = folder / "meta" / "info.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return change


def table_without_a_step(folder):
    path = folder / "data" / "chunk-000" / "file-001.parquet"
    pq.write_table(pq.read_table(path).slice(1), path)


def times_that_the_film_has_not(folder):
    path = folder / "meta" / "episodes" / "chunk-000" / "file-000.parquet"
    table = pq.read_table(path)
    name = f"videos/{FRONT}/from_timestamp"
    pq.write_table(table.set_column(table.column_names.index(name), name, pa.array([9.0, 9.0, 9.0])), path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_info(codebase_version="v1.6"), "version v1.6, and versions 2 and 3 are read"),
        (set_info(fps=0), "0.0 frames a second"),
        (set_info(features={"../../x": {"dtype": "video"}}), "has the name of a path"),
        (lambda folder: shutil.rmtree(folder / "data"), "no Parquet files under data"),
        (lambda folder: (folder / "data" / "chunk-000" / "file-001.parquet").unlink(), "lists episode 0, of which no"),
        (lambda folder: shutil.rmtree(folder / "videos"), "file-002.mp4 does not exist"),
        (lambda folder: shutil.rmtree(folder / "meta" / "episodes"), "lists no episodes"),
        (table_without_a_step, "steps of episode 0 are not numbered from 0 on"),
        (times_that_the_film_has_not, r"file-002.mp4: it has no frame at 9.000 s"),
    ],
)
def test_incomplete_datasets_say_what_is_missing(tmp_path, change, message):
    assert message in broken(tmp_path / "set", change)


@pytest.mark.parametrize("write", [write_lerobot_v2, write_lerobot_v3])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path, write):
    write(tmp_path / "set")
    for path in sorted(path for path in (tmp_path / "set").rglob("*.*") if path.is_file() and "wrist" not in str(path)):
        data = path.read_bytes()
        path.unlink()
        os.mkfifo(path)
        with pytest.raises(InputError, match=r"is not a file|no videos|has no camera"):
            read(tmp_path / "set", camera=FRONT)
        path.unlink()
        path.write_bytes(data)
    assert len(read(tmp_path / "set", camera=FRONT)) > 1


def test_names_of_cameras_never_lead_out_of_the_folder(tmp_path):
    write_lerobot_v2(tmp_path / "set")
    write_film(tmp_path / "secret" / "episode_000003.mp4", np.zeros((6, 32, 48, 3), np.uint8))
    set_info(features={"../../../secret": {"dtype": "video"}})(tmp_path / "set")
    with pytest.raises(InputError, match="has the name of a path"):
        read(tmp_path / "set")
