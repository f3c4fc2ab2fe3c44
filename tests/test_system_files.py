"""Run files notice damage: every flipped bit and every cut gives one sentence or leaves what is read as it was."""

import csv
import json
import math
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from vision_pwil.system import checkpoint
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import parsing, read_json, replacing, require_file, write_json, write_text
from vision_pwil.system.run import Run, read_curve, write_curve

VALUES = {"step": 7, "state": {"big": 2**120, "small": 1e-300}, "name": "Zürich"}
TENSORS = {"w": torch.arange(6.0).reshape(2, 3), "b": torch.tensor(True), "none": torch.empty(0), "n": torch.tensor(5)}
ROWS = [{"step": 0, "return": 1.5, "w1": -2e-9}, {"step": 100, "return": 12.25, "w1": 3.0}]


def flips_and_cuts(content: bytes) -> Iterator[bytes]:
    for bit in range(8 * len(content)):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        yield bytes(flipped)
    for length in range(len(content)):
        yield content[:length]


def same(one: Any, two: Any) -> bool:
    """Equal to the last bit, types included."""
    if isinstance(one, torch.Tensor):
        return one.dtype == two.dtype and one.shape == two.shape and bool((one == two).all())
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same(one[name], two[name]) for name in one)
    if isinstance(one, list | tuple):
        return len(one) == len(two) and all(map(same, one, two))
    return type(one) is type(two) and one == two


def write_checkpoint(path: Path) -> None:
    checkpoint.save(path, TENSORS, VALUES)


def write_rows(path: Path) -> None:
    write_curve(path.parent, ROWS)
    (path.parent / "curve.csv").rename(path)


def read_rows(path: Path) -> list[dict[str, float]]:
    path.rename(path.parent / "curve.csv")
    return read_curve(path.parent)


KINDS: dict[str, tuple[Callable, Callable, Any]] = {
    "json": (lambda path: write_json(path, VALUES), read_json, VALUES),
    "checkpoint": (write_checkpoint, checkpoint.load, (TENSORS, VALUES)),
    "curve": (write_rows, read_rows, ROWS),
}


@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_told_or_harmless(tmp_path, kind):
    write, read, expected = KINDS[kind]
    path = tmp_path / "file"
    write(path)
    content = path.read_bytes()
    assert same(read(path), expected)
    told = total = 0
    for damaged in flips_and_cuts(content):
        path.write_bytes(damaged)
        total += 1
        try:
            assert same(read(path), expected), damaged
        except InputError as error:
            told += 1
            assert str(error).startswith(str(tmp_path)) and str(error).endswith(".")
    assert told > 0.9 * total  # a flip in white space, say, changes nothing that is read


def test_a_file_of_another_version_says_so(tmp_path):
    save_file({"x": torch.zeros(2)}, tmp_path / "old.safetensors", {"values": "{}"})
    with pytest.raises(InputError, match=r"old\.safetensors: it has no checksum.* make it again"):
        checkpoint.load(tmp_path / "old.safetensors")
    (tmp_path / "config.json").write_text('{"steps": 5}')
    with pytest.raises(InputError, match="no checksum"):
        read_json(tmp_path / "config.json")
    (tmp_path / "curve.csv").write_text("step,return\n0,1.0\n")
    with pytest.raises(InputError, match="no checksum"):
        read_curve(tmp_path)


def test_other_tools_read_the_files(tmp_path):
    write_curve(tmp_path, ROWS)
    with (tmp_path / "curve.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["return"]) for row in rows] == [1.5, 12.25]
    assert np.genfromtxt(tmp_path / "curve.csv", delimiter=",", names=True)["w1"].tolist() == [-2e-9, 3.0]
    write_json(tmp_path / "x.json", VALUES)
    assert json.loads((tmp_path / "x.json").read_text())["state"]["big"] == 2**120
    write_checkpoint(tmp_path / "x.safetensors")
    assert same(load_file(tmp_path / "x.safetensors"), TENSORS)


def test_rows_that_are_gone_are_missed(tmp_path):
    write_curve(tmp_path, ROWS)
    lines = (tmp_path / "curve.csv").read_text().splitlines(keepends=True)
    for kept in ([0], [0, 1], [0, 2], [0, 2, 1], [0, 1, 1, 2]):
        (tmp_path / "curve.csv").write_text("".join(lines[i] for i in kept))
        with pytest.raises(InputError):
            read_curve(tmp_path)


def test_no_number_in_json_is_a_surprise(tmp_path):
    write_json(tmp_path / "a.json", {"nan": math.nan, "nested": [{"inf": -math.inf}], "fine": 1.0})
    assert read_json(tmp_path / "a.json") == {"nan": None, "nested": [{"inf": None}], "fine": 1.0}
    for text in (
        '{"x": NaN}',
        '{"x": -Infinity}',
        '{"x": 1e999}',
        "[1]",
        '"x"',
        "{" * 100_000,
        f'{{"x": {"9" * 5000}}}',
    ):
        (tmp_path / "b.json").write_text(text)
        with pytest.raises(InputError, match=r"b\.json"):
            read_json(tmp_path / "b.json")
    with pytest.raises(ValueError):
        checkpoint.save(tmp_path / "c.safetensors", {}, {"step": math.nan})
    assert not (tmp_path / "c.safetensors").exists()


def test_a_huge_file_is_not_read(tmp_path):
    with (tmp_path / "x.json").open("wb") as file:
        file.truncate(2**40)  # sparse
    with pytest.raises(InputError, match="larger than 64 MB"):
        read_json(tmp_path / "x.json")


@pytest.mark.parametrize("read", [read_json, checkpoint.load])
def test_only_files_are_opened(tmp_path, read):
    os.mkfifo(tmp_path / "pipe")  # opening it would wait for a writer
    with pytest.raises(InputError, match="pipe or device"):
        read(tmp_path / "pipe")
    with pytest.raises(InputError, match="folder"):
        read(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        read(tmp_path / "nothing")


def test_a_full_disk_leaves_the_old_file_and_names_it(tmp_path):
    """A limit on the size of files stands for the disk: writing fails in the middle, with an OSError."""
    path = tmp_path / "x.safetensors"
    write_checkpoint(path)
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(OSError) as caught:
            checkpoint.save(path, {"w": torch.zeros(10_000)}, {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.filename == str(path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


KILLED = """
import os, signal, sys
from vision_pwil.system.files import replacing
with replacing(sys.argv[1]) as temporary:
    temporary.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_run_clears_away_what_a_killed_process_left(tmp_path):
    target = tmp_path / "pending" / "000000000010.safetensors"
    subprocess.run([sys.executable, "-c", KILLED, target], check=False)
    assert len(list(target.parent.iterdir())) == 1 and not target.exists()
    write_text(tmp_path / "kept", "whole")
    with Run(tmp_path, {"steps": 5}):
        assert list(target.parent.iterdir()) == []
        assert (tmp_path / "kept").read_text() == "whole"


def test_complaints_name_the_file_once(tmp_path):
    with pytest.raises(InputError, match=r"^x: it is bad$"), parsing("x", "thing"):
        raise InputError("it is bad")
    with pytest.raises(InputError, match=r"^x/y is bad$"), parsing("x", "thing"):
        raise InputError("x/y is bad")
    with pytest.raises(InputError, match=r"^x is not a readable thing: 'step'\.$"), parsing("x", "thing"):
        raise KeyError("step")
    with pytest.raises(InputError, match="folder"):
        require_file(tmp_path)


def test_a_failed_write_leaves_nothing(tmp_path):
    with pytest.raises(RuntimeError), replacing(tmp_path / "x.txt") as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
