"""Small files that would fill the memory: what they hold is counted as it will lie there, over all episodes."""

import pickle
import re
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.datasets import flat_frames, write_film, write_lerobot_v3, write_robomimic
from vision_pwil.demonstrations import Demonstrations, Episode, read
from vision_pwil.system import memory
from vision_pwil.system.errors import InputError

LIMIT = 64 * 2**20
SENTENCE = (
    r"it would take [\d,.]+ [MG]iB of memory, and 64\.0 MiB are allowed: "
    r"raise the limit with VISION_PWIL_MAX_MEMORY, or with --max-memory of `inspect`, if it really is that large\.$"
)


@pytest.fixture(autouse=True)
def limited(monkeypatch):
    monkeypatch.setenv("VISION_PWIL_MAX_MEMORY", "64MB")


def one_array_many_times(path: Path) -> None:
    array = np.zeros((1000, 137), np.int8)
    path.write_bytes(pickle.dumps([{"observations": array, "actions": array}] * 20_000))


def bytes_that_become_floats(path: Path) -> None:
    claimed = np.zeros((60 * 2**20 // 64, 64), np.int8)
    np.savez_compressed(path, observations=claimed, actions=claimed[:, :1], episode_lengths=[len(claimed)])


def hard_links(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("observed", data=np.zeros((20_001, 50)), compression="gzip")
        file.create_dataset("done", data=np.zeros((20_000, 1)), compression="gzip")
        for number in range(1000):
            group = file.create_group(f"episode_{number}")
            group["observations"], group["actions"] = file["observed"], file["done"]


def hard_links_of_pictures(path: Path) -> None:
    write_robomimic(path)
    with h5py.File(path, "a") as file:
        demo = file["data/demo_0/obs"]
        del demo["front_image"]
        demo.create_dataset("front_image", (4_000, 84, 84, 3), np.uint8, chunks=(10, 84, 84, 3))


def numbers_said_once(path: Path) -> None:
    """A Parquet file says a number that repeats once, with a count."""
    write_lerobot_v3(path)
    rows = 3_000_000
    columns = {
        name: pa.array(np.zeros(rows, np.int64)) for name in ("episode_index", "frame_index", "timestamp", "task_index")
    }
    pq.write_table(pa.table(columns), path / "data" / "chunk-000" / "file-001.parquet", compression="zstd")


def a_list_said_once(path: Path) -> None:
    write_lerobot_v3(path)
    table = pq.read_table(path / "data" / "chunk-000" / "file-001.parquet").slice(0, 2)
    states = pa.ListArray.from_arrays([0, 10_000_000, 20_000_000], np.zeros(20_000_000, np.float32))
    table = table.set_column(table.column_names.index("observation.state"), "observation.state", states)
    pq.write_table(table, path / "data" / "chunk-000" / "file-001.parquet", compression="zstd")


BOMBS = {
    "a.pickle": one_array_many_times,
    "a.npz": bytes_that_become_floats,
    "a.hdf5": hard_links,
    "robomimic.hdf5": hard_links_of_pictures,
    "lerobot": numbers_said_once,
    "lerobot-list": a_list_said_once,
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused_before_they_go_off(tmp_path, name):
    path = tmp_path / name
    BOMBS[name](path)
    size = sum(file.stat().st_size for file in [path, *path.rglob("*")] if file.is_file())
    assert size < 3_000_000
    options = {"camera": "front"} if "robo" in name else {}
    code = f"""
import resource
from vision_pwil.demonstrations import read
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    read({str(path)!r}, **{options!r})
except ValueError as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    sentence, kilobytes = shown.stdout.splitlines()
    assert re.search(SENTENCE, sentence), sentence
    assert 1024 * int(kilobytes) < 3 * LIMIT


def test_a_long_film_is_refused_while_it_is_decoded(tmp_path, monkeypatch):
    write_film(tmp_path / "a.mp4", flat_frames(0, 60))
    read(tmp_path / "a.mp4")
    monkeypatch.setenv("VISION_PWIL_MAX_MEMORY", "1MB")  # 60 frames are 1.2 MiB
    for fit in ("crop", "pad"):  # kept already, and not
        with pytest.raises(InputError, match=r"1\.0 MiB are allowed"):
            read(tmp_path / "a.mp4", fit=fit)


def test_all_episodes_count_together(tmp_path, monkeypatch):
    steps = np.ones((10_000, 10))
    Demonstrations((Episode(steps),) * 3).save(tmp_path / "a.demos")  # 2.3 MiB
    assert len(read(tmp_path / "a.demos")) == 3
    monkeypatch.setenv("VISION_PWIL_MAX_MEMORY", "2MB")
    with pytest.raises(InputError, match=r"2\.0 MiB are allowed"):
        read(tmp_path / "a.demos")


def test_numbers_whose_squares_overflow_are_refused(tmp_path):
    for value in (1e308, -1e308, 1e200, 2e19):
        states = np.zeros((4, 2))
        states[2, 1] = value
        with pytest.raises(InputError, match=r"states hold .* at step 2, and numbers beyond 1\.8e\+19 overflow"):
            Episode(states)
    with pytest.raises(InputError, match="initial qpos"):
        Episode(np.zeros((1, 1)), initial_state={"qpos": np.array([1e308])})
    largest = Episode(np.array([[1.8e19], [-1.8e19]], np.float32))
    assert np.isfinite(np.square(largest.states)).all()
    np.savez(tmp_path / "a.npz", observations=states, actions=np.zeros((4, 1)), episode_lengths=[4])
    with pytest.raises(InputError, match=r"a\.npz: in episode 0, the states hold 2e\+19 at step 2"):
        read(tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("text", "size"),
    [("1000", 1000), ("500MB", 500 * 2**20), ("8 GB", 2**33), ("1.5gib", 3 * 2**29), ("2T", 2**41), ("1k", 1024)],
)
def test_amounts_of_memory(text, size):
    assert memory.parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "-1", "much", "nan", "1e9", "8 GBs", "1" * 50])
def test_what_is_no_amount_of_memory(text, monkeypatch):
    with pytest.raises(InputError, match="not an amount of memory: write it as 500MB or 8GB"):
        memory.set_limit(text)


def test_half_of_the_machine_unless_told_otherwise(monkeypatch):
    memory.set_limit("3GB")
    assert memory.limit() == 3 * 2**30
    monkeypatch.delenv("VISION_PWIL_MAX_MEMORY")
    installed = int(
        next(line for line in Path("/proc/meminfo").read_text().splitlines() if "MemTotal" in line).split()[1]
    )
    assert 0 < memory.limit() <= installed * 1024 // 2
