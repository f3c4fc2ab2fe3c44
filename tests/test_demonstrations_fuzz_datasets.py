"""Datasets of many files, one of them damaged: reading gives Demonstrations or one sentence that names the place."""

import json
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.datasets import (
    write_lerobot_v2,
    write_lerobot_v3,
    write_minari_file,
    write_minari_tables,
    write_robomimic,
)
from vision_pwil.demonstrations import Demonstrations, read
from vision_pwil.system.errors import InputError

WRITERS: dict[str, Callable[[Path], None]] = {
    "lerobot-v3": write_lerobot_v3,
    "lerobot-v3-av1": lambda path: write_lerobot_v3(path, codec="libsvtav1"),
    "lerobot-v3-images": lambda path: write_lerobot_v3(path, kind="image"),
    "lerobot-v2": write_lerobot_v2,
    "robomimic.hdf5": write_robomimic,
    "minari-hdf5": lambda path: write_minari_file(path, jpeg=True, episodes=2),
    "minari-arrow": lambda path: write_minari_tables(path, "arrow", jpeg=True, episodes=2),
    "minari-parquet": lambda path: write_minari_tables(path, "parquet", jpeg=False, episodes=2),
}

fuzz = settings(
    derandomize=True, deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(autouse=True)
def limited(tmp_path, monkeypatch):
    monkeypatch.setenv("VISION_PWIL_MAX_MEMORY", "500MB")
    monkeypatch.setenv("VISION_PWIL_CACHE", str(tmp_path / "cache"))


def outcome(path: Path) -> Demonstrations | InputError:
    """What reading gives; anything else propagates and fails the test."""
    options = {"camera": "front"} if "robo" in path.name else {}
    try:
        return read(path, **options)
    except InputError as error:
        text = str(error)
        assert text.endswith(".") and "\n" not in text and text.startswith(str(path)), text
        return error


def written(folder: Path, name: str) -> dict[Path, bytes]:
    """The files of a good dataset."""
    WRITERS[name](folder / name)
    assert isinstance(outcome(folder / name), Demonstrations)
    return {path: path.read_bytes() for path in [folder / name, *(folder / name).rglob("*")] if path.is_file()}


@pytest.mark.parametrize("name", WRITERS)
def test_damaged_files(tmp_path, name):
    files = written(tmp_path, name)
    refused = 0

    @fuzz
    @given(st.data())
    def check(data):
        nonlocal refused
        path = data.draw(st.sampled_from(sorted(files)))
        content = bytearray(files[path])
        positions = st.integers(0, len(content) - 1)
        # Half of the damage goes to the first and last kilobyte, where the formats keep their structure.
        ends = st.one_of(positions, positions.map(lambda p: min(p, 1023)), positions.map(lambda p: -1 - p % 1024))
        kind = data.draw(st.sampled_from(["truncated", "flipped", "spliced"]))
        if kind == "truncated":
            del content[data.draw(positions) :]
        elif kind == "flipped":
            for position, bit in data.draw(st.lists(st.tuples(ends, st.integers(0, 7)), min_size=1, max_size=8)):
                content[max(position, -len(content))] ^= 1 << bit
        else:
            start = data.draw(positions)
            content[start : start + data.draw(st.integers(0, 64))] = data.draw(st.binary(max_size=64))
        path.write_bytes(content)
        refused += isinstance(outcome(tmp_path / name), InputError)
        path.write_bytes(files[path])

    check()
    assert refused > 10


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.parametrize("name", ["lerobot-v3", "lerobot-v2", "minari-hdf5", "minari-arrow"])
def test_metadata_that_say_anything(tmp_path, name):
    """Valid JSON with one value replaced, wherever it lies."""
    files = {path: json.loads(data) for path, data in written(tmp_path, name).items() if path.suffix == ".json"}

    @fuzz
    @given(st.data())
    def check(data):
        path = data.draw(st.sampled_from(sorted(files)))
        content = json.loads(json.dumps(files[path]))
        place, value = content, data.draw(JSON)
        while True:
            key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
            inner = json.loads(place[key]) if key == "observation_space" else place[key]
            if not inner or not isinstance(inner, dict | list) or data.draw(st.booleans()):
                break
            place[key] = place = inner
        place[key] = value
        path.write_text(json.dumps(content))
        outcome(tmp_path / name)
        path.write_text(json.dumps(files[path]))

    check()


@pytest.mark.parametrize("harm", ["zero", "wraps", "sizes"])
@pytest.mark.parametrize("name", ["minari-hdf5", "robomimic.hdf5"])
def test_a_heap_in_which_hdf5_would_walk_for_ever(tmp_path, name, harm):
    """Values of different lengths (pictures, text) lie in heaps; HDF5 goes through one by the sizes in it."""
    path = next(path for path in written(tmp_path, name) if path.suffix == ".hdf5")
    content = bytearray(path.read_bytes())
    heap = content.index(b"GCOL")
    if harm == "sizes":  # numbers of 4 bytes: heaps then look otherwise
        content[14 if content[8] < 2 else 10] = 4
    else:
        number, size = {"zero": (0, 0), "wraps": (1, 2**64 - 16)}[harm]
        content[heap + 16 : heap + 32] = struct.pack("<HHIQ", number, 0, 0, size)
    path.write_bytes(content)
    found = outcome(tmp_path / name)
    assert isinstance(found, InputError) or found.rate is None  # robomimic's text tells the rate only
