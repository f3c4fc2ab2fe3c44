"""Untrusted files: whatever the bytes, reading gives Demonstrations or one sentence, and runs nothing."""

import contextlib
import io
import os
import pickle
import struct
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.test_demonstrations import make
from tests.test_demonstrations_readers import dapg, write_d4rl, write_minari
from tests.test_demonstrations_video import moving_square, write_mp4
from vision_pwil.demonstrations import Demonstrations, read
from vision_pwil.system.errors import InputError


def outcome(path: Path) -> Demonstrations | InputError:
    """What reading gives; anything else propagates and fails the test."""
    try:
        demonstrations = read(path)
    except InputError as error:
        text = str(error)
        assert text.endswith(".") and "\n" not in text and path.name in text, text
        return error
    for episode in demonstrations.episodes:
        assert len(episode) > 0
        for name, part in episode.parts():
            assert part.dtype == np.uint8 if name == "frames" else np.isfinite(part).all()
    return demonstrations


def gif(path: Path) -> None:
    first, *rest = moving_square(3, (40, 30))
    first.save(path, save_all=True, append_images=rest)


def npz(path: Path) -> None:
    arrays = {"observations": np.arange(12.0).reshape(6, 2), "actions": np.ones((6, 1)), "episode_lengths": [2, 4]}
    np.savez_compressed(path, **arrays)


WRITERS: dict[str, Callable[[Path], object]] = {
    "own.demos": lambda path: make((3, 2)).save(path),
    "flat.npz": npz,
    "d4rl.hdf5": write_d4rl,
    "minari.hdf5": lambda path: write_minari(path, episodes=2),
    "dapg.pickle": lambda path: path.write_bytes(pickle.dumps(dapg(1), protocol=2)),
    "new.pickle": lambda path: path.write_bytes(pickle.dumps(dapg(1), protocol=5)),
    "film.gif": gif,
    "film.mp4": lambda path: write_mp4(path, moving_square(3, (40, 30))),
}


@pytest.fixture(scope="module")
def originals(tmp_path_factory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("originals")
    for name, write in WRITERS.items():
        write(folder / name)
        assert isinstance(outcome(folder / name), Demonstrations)
    return {name: (folder / name).read_bytes() for name in WRITERS}


fuzz = settings(
    derandomize=True, deadline=None, max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("kind", ["truncated", "flipped", "spliced"])
def test_damaged_files(originals, tmp_path, name, kind):
    original = originals[name]
    positions = st.integers(0, len(original) - 1)
    # Half of the damage goes to the first and last kilobyte, where the formats keep their structure.
    ends = st.one_of(positions, st.integers(0, min(1023, len(original) - 1)), positions.map(lambda p: -1 - p % 1024))

    @fuzz
    @given(st.data())
    def check(data):
        content = bytearray(original)
        if kind == "truncated":
            del content[data.draw(positions) :]
        elif kind == "flipped":
            for position, bit in data.draw(st.lists(st.tuples(ends, st.integers(0, 7)), min_size=1, max_size=8)):
                content[max(position, -len(content))] ^= 1 << bit
        else:
            start = data.draw(positions)
            content[start : start + data.draw(st.integers(0, 64))] = data.draw(st.binary(max_size=64))
        (tmp_path / name).write_bytes(content)
        result = outcome(tmp_path / name)
        if name == "own.demos" and isinstance(result, Demonstrations):  # what the checksum lets through is the original
            assert result.checksum == make((3, 2)).checksum

    check()


@pytest.mark.parametrize("suffix", [".demos", ".npz", ".hdf5", ".pickle", ".gif", ".png"])
def test_random_bytes(tmp_path, suffix):
    magic = [b"", b"PK\x03\x04", b"\x89HDF\r\n\x1a\n", b"\x80\x03", b"GIF89a", b"\x89PNG\r\n\x1a\n"]

    @fuzz
    @given(st.sampled_from(magic), st.binary(max_size=300))
    def check(start, rest):
        path = tmp_path / f"random{suffix}"
        path.write_bytes(start + rest)
        assert isinstance(outcome(path), InputError)

    check()


# --- pickles that try to run code


class Call:
    """Pickles as a call of `function`."""

    def __init__(self, function, *arguments):
        self.reduced = (function, arguments)

    def __reduce__(self):
        return self.reduced


def payloads(marker: Path) -> dict[str, object]:
    touch = f"touch {marker}"
    code = f"open({str(marker)!r}, 'w').close()"
    array = np.empty(2, dtype=object)
    array[:] = [Call(os.system, touch), 1.0]
    episode = dapg(1)[0]
    return {
        "os.system": Call(os.system, touch),
        "eval": Call(eval, code),
        "exec": Call(exec, code),
        "Popen": Call(subprocess.getoutput, touch),
        "in a list": [Call(os.system, touch)],
        "as an episode's key": [{"observations": Call(os.system, touch), "actions": np.zeros((1, 1))}],
        "deep": [[{"a": ({"b": [Call(eval, code)]},)}]],
        "in an object array": array,
        "in an episode": [{**episode, "actions": array}],
        "as a call's argument": Call(np.dtype, Call(os.system, touch)),
        "state of an object": Call(getattr, Call(os.system, touch), "x"),
    }


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_malicious_pickles_run_nothing(tmp_path, protocol):
    marker = tmp_path / "marker"
    for name, payload in payloads(marker).items():
        data = pickle.dumps(payload, protocol=protocol)
        with contextlib.suppress(TypeError, AttributeError, ValueError):  # raised after the call was made
            pickle.loads(data)
        assert marker.exists(), f"{name} is no attack at all"
        marker.unlink()
        path = tmp_path / "evil.pickle"
        path.write_bytes(data)
        error = outcome(path)
        assert isinstance(error, InputError) and not marker.exists(), name
        assert "refused" in str(error) or "other than numbers" in str(error), error


def short(text: str) -> bytes:
    return b"\x8c" + bytes([len(text)]) + text.encode()


def test_every_way_of_calling_is_refused(tmp_path):
    marker = tmp_path / "m"
    command = f"touch {marker}".encode()
    text = b"X" + struct.pack("<I", len(command)) + command
    attacks = {
        "GLOBAL": b"\x80\x02cos\nsystem\n" + text + b"\x85R.",
        "STACK_GLOBAL": b"\x80\x04" + short("os") + short("system") + b"\x93" + text + b"\x85R.",
        "INST": b"(S'" + command + b"'\nios\nsystem\n.",
        "OBJ": b"(cos\nsystem\n" + text + b"o.",
        "NEWOBJ": b"\x80\x02cos\nsystem\n" + text + b"\x85\x81.",
        "NEWOBJ_EX": b"\x80\x04cos\nsystem\n" + text + b"\x85}\x92.",
        "BUILD": b"\x80\x02cnumpy\nndarray\n}X\x0c\x00\x00\x00__setstate__cos\nsystem\nsb" + text + b"b.",
        "dotted": b"\x80\x04" + short("numpy") + short("dtype.__init__.__globals__") + b"\x93.",
        "persistent": b"\x80\x02Pid\n.",
        "extension": b"\x80\x02\x82\x01.",
        "set": b"\x80\x04\x8f.",
        "numpy's own loader": b"\x80\x02cnumpy\nload\n" + text + b"\x85R.",
    }
    path = tmp_path / "evil.pickle"
    for name, data in attacks.items():
        path.write_bytes(data)
        assert isinstance(outcome(path), InputError), name
        assert not marker.exists(), name


OPCODES = [
    *(
        b"(",
        b"t",
        b"l",
        b"d",
        b"]",
        b"}",
        b")",
        b"a",
        b"e",
        b"s",
        b"u",
        b"0",
        b"1",
        b"2",
        b"R",
        b"b",
        b"o",
        b"\x81",
        b"\x92",
    ),
    *(
        b"\x85",
        b"\x86",
        b"\x87",
        b"\x88",
        b"\x89",
        b"N",
        b"K\x02",
        b"M\x00\x10",
        b"J\xff\xff\xff\x7f",
        b"\x94",
        b"\x93",
    ),
    *(b"q\x00", b"h\x00", b"q\x01", b"h\x01", b"r\xff\xff\xff\x7f", b"C\x03abc", b"X\x02\x00\x00\x00f8", b"U\x01<"),
    *(b"cnumpy\ndtype\n", b"cnumpy\nndarray\n", b"cnumpy.core.multiarray\n_reconstruct\n", b"c_codecs\nencode\n"),
    *(b"cnumpy._core.numeric\n_frombuffer\n", b"cos\nsystem\n", b"X\x0c\x00\x00\x00observations", b"G" + b"\x40" * 8),
]


def test_random_programs(tmp_path):
    """Sequences of whole opcodes reach further into the machine than random bytes do."""
    path = tmp_path / "program.pickle"

    @settings(fuzz, max_examples=600)
    @given(st.lists(st.sampled_from(OPCODES), max_size=40))
    def check(opcodes):
        path.write_bytes(b"\x80\x02" + b"".join(opcodes) + b".")
        assert isinstance(outcome(path), InputError)

    check()


# --- files that are small on disk and claim to be large


def test_bombs_are_refused_not_believed(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**12, 10**6)})
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("observations.npy", header.getvalue())
        file.writestr("actions.npy", header.getvalue())
        file.writestr("episode_lengths.npy", header.getvalue())
    assert "which is not what shape" in str(outcome(path))

    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file, file.open("a.npy", "w", force_zip64=True) as member:
        member.write(bytes(1000))
    data = bytearray(path.read_bytes())
    start = data.rindex(b"PK\x01\x02")  # the index claims 0xfffffff0 bytes, twice over the limit with a second member
    data[start + 24 : start + 28] = struct.pack("<I", 0xFFFFFFF0)
    path.write_bytes(data)
    assert isinstance(outcome(path), InputError)

    path = tmp_path / "bomb.hdf5"
    with h5py.File(path, "w") as file:  # a chunked array that was never written takes no space
        for name in ("observations", "actions"):
            file.create_dataset(name, shape=(10**10, 100), chunks=(1000, 100), dtype="f8")
    assert path.stat().st_size < 100_000
    assert "it would take 7,450.6 GiB of memory" in str(outcome(path))


def test_pickles_that_would_exhaust_the_interpreter(tmp_path):
    path = tmp_path / "bomb.pickle"
    bombs = {
        "a dict key nested 300,000 deep": b"\x80\x02}" + b")" + b"\x85" * 300_000 + b"Ns.",
        "a list nested 300,000 deep": b"\x80\x02" + b"]" * 300_000 + b"a" * 299_999 + b".",
        "bytes of 2**62": b"\x80\x04\x8e" + struct.pack("<Q", 2**62) + b"x.",
        "a memo of two thousand million": b"\x80\x02]r\xff\xff\xff\x7f.",
        "a frame of 2**62": b"\x80\x04\x95" + struct.pack("<Q", 2**62) + b"].",
        "a shape of 10**18": b"\x80\x02cnumpy\nndarray\n\x8a\x08" + struct.pack("<q", 10**18) + b"\x85R.",
        "a number of 300,000 digits": b"I" + b"9" * 300_000 + b"\n.",
        "an episode referred to 300,000 times": b"\x80\x02]}q\x00a(" + b"h\x00" * 300_000 + b"e.",
    }
    for name, data in bombs.items():
        path.write_bytes(data)
        assert isinstance(outcome(path), InputError), name


def test_arrays_of_objects_are_never_made(tmp_path):
    path = tmp_path / "objects.npz"
    np.savez(path, observations=np.array([[{}]]), actions=np.zeros((1, 1)), episode_lengths=[1])
    assert "only arrays of numbers" in str(outcome(path))
    path = tmp_path / "objects.pickle"
    for dtype in (object, "U3", [("a", "f8")], "M8[s]", "c16"):
        path.write_bytes(pickle.dumps([{"observations": np.zeros((1, 1), dtype), "actions": np.zeros((1, 1))}]))
        assert isinstance(outcome(path), InputError), dtype
