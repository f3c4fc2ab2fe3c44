"""Damaged files: every format that is read, mutated, and read again by a process that may neither grow nor hang."""

import hashlib
import json
import multiprocessing
import os
import resource
import shutil
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.formats import FORMATS, PLAIN
from vision_pwil.demonstrations import Demonstrations
from vision_pwil.system.errors import InputError

MEMORY = 2 * 2**30
"""Bytes that a reader may take beyond what it starts with."""
PATIENCE = 300.0
"""Seconds after which a reader hangs."""
OUTCOMES = ("same", "sentence", "other content", "silent change", "escaped", "crashed", "hung")
"""What can come of a damaged file. Other content is no fault of a reader where the format has no checksum."""
FAULTS = OUTCOMES[3:]


def damage(path: Path, rng: np.random.Generator) -> None:
    """Write a file anew, damaged."""
    path.write_bytes(mutate(path.read_bytes(), rng))


def mutate(content: bytes, rng: np.random.Generator) -> bytes:
    """Damage of one kind: bits flipped, the end cut off, bytes inserted, a block doubled, zeroed or moved."""
    changed, size = bytearray(content), len(content)

    def place() -> int:
        """Half of the damage goes to the first and last kilobyte, where formats keep their structure."""
        near = int(rng.integers(min(1024, size)))
        return (int(rng.integers(size)), int(rng.integers(size)), near, size - 1 - near)[rng.integers(4)]

    start, length = place(), int(rng.integers(1, 256))
    kind = rng.integers(6)
    if kind == 0:
        for _ in range(rng.integers(1, 9)):
            changed[place()] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        del changed[start:]
    elif kind == 2:
        changed[start:start] = rng.bytes(length)
    elif kind == 3:
        changed[start:start] = changed[start : start + length]
    elif kind == 4:
        changed[start : start + length] = bytes(len(changed[start : start + length]))
    else:
        block = changed[start : start + length]
        del changed[start : start + length]
        target = int(rng.integers(len(changed) + 1))
        changed[target:target] = block
    return bytes(changed)


def digest(content: Any) -> str:
    """What was read, in one word: equal words, equal content."""
    if isinstance(content, Demonstrations):
        return content.checksum
    if isinstance(content, torch.Tensor | np.ndarray):
        array = np.ascontiguousarray(content)
        return hashlib.sha256(f"{array.dtype}{array.shape}".encode() + array.tobytes()).hexdigest()
    if isinstance(content, torch.nn.Module):
        return digest(content.state_dict())
    if isinstance(content, dict):
        return digest(sorted([str(name), digest(value)] for name, value in content.items()))  # in any order
    if isinstance(content, list | tuple):
        return hashlib.sha256(json.dumps([digest(item) for item in content]).encode()).hexdigest()
    return repr(content)


def _serve(connection: Any, cache: str) -> None:
    """Read files on request, under a limit on memory; what it keeps for the next time goes to a folder that goes."""
    os.environ["VISION_PWIL_CACHE"] = cache
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, taken + MEMORY))
    torch.set_num_threads(1)
    while True:
        name, path = connection.recv()
        try:
            connection.send(("read", digest(FORMATS.get(name, PLAIN).read(path))))
        except InputError as error:
            connection.send(("sentence", str(error)))
        except BaseException:
            connection.send(("escaped", traceback.format_exc(limit=-3)))


class Reader:
    """A process that reads files; another takes its place where it crashes or hangs."""

    def __init__(self) -> None:
        self._cache = tempfile.TemporaryDirectory()
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other, self._cache.name), daemon=True)
        self._process.start()
        other.close()

    def outcome(self, name: str, path: Path, original: str | None, checked: bool) -> tuple[str, str]:
        """One of OUTCOMES, and details where it is a fault."""
        try:
            self._connection.send((name, path))
            if not self._connection.poll(PATIENCE):
                self._end()
                self._start()
                return "hung", ""
            kind, words = self._connection.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self._process.join()
            status = f"status {self._process.exitcode}"
            self._start()
            return "crashed", status
        if kind == "sentence" and ("\n" in words or not words.endswith(".")):
            return "escaped", f"no sentence: {words}"
        if kind != "read":
            return kind, words if kind == "escaped" else ""
        if original is None or words == original:
            return "same", words
        return ("silent change" if checked else "other content"), ""

    def _end(self) -> None:
        self._process.kill()
        self._process.join()

    def close(self) -> None:
        """End the process, and remove what it kept."""
        self._end()
        self._cache.cleanup()


def run(count: int, seed: int, files: tuple[Path, ...], done: set[tuple[str, int]]) -> Iterator[dict[str, Any]]:
    """Mutate and read `count` times, every format in turn, but for those `done`; yields a record of each.

    In a folder the damage goes to one of its files.
    """
    sources = {**dict.fromkeys(FORMATS), **{path.name: path for path in files}}
    round_of_all = [name for name in sources for _ in range(FORMATS.get(name, PLAIN).turns)]
    for name, source in sources.items():
        turns = (index for index in range(count) if round_of_all[index % len(round_of_all)] == name)
        if numbers := [index for index in turns if (name, index) not in done]:
            reader = Reader()  # each format has one, so that none reads in what another left of the memory
            try:
                yield from _mutated(reader, name, source, numbers, seed)
            finally:
                reader.close()


def _mutated(reader: Reader, name: str, source: Path | None, numbers: list[int], seed: int) -> Iterator[dict[str, Any]]:
    """Mutations of one format by their numbers; `source` is where it was given."""
    form = FORMATS.get(name, PLAIN)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        if source is None:
            form.make(path)
        else:
            (shutil.copytree if source.is_dir() else shutil.copy)(source, path)
        parts = sorted(part for part in path.rglob("*") if part.is_file() and part.stat().st_size) or [path]
        kind, original = reader.outcome(name, path, None, form.checked)
        if kind != "same":
            raise InputError(f"{name} cannot be read as it is: {kind} {original}")
        for index in numbers:
            rng = np.random.default_rng((seed, index))
            part = parts[rng.integers(len(parts))]
            content = part.read_bytes()
            (form.damage or damage)(part, rng)
            kind, details = reader.outcome(name, path, original, form.checked)
            part.write_bytes(content)
            yield {"format": name, "index": index, "outcome": kind, "details": details * (kind in FAULTS)}
        if reader.outcome(name, path, original, form.checked)[0] != "same":  # else sentences mean nothing
            raise InputError(f"{name} cannot be read any more after its mutations.")
