"""Clips: the pictures of one episode, wherever they lie; decoded and resized in parallel, and kept by their content."""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event

import numpy as np
from PIL import Image

from vision_pwil.demonstrations.cache import cache_folder, cached
from vision_pwil.demonstrations.episode import Array, Demonstrations, Episode
from vision_pwil.demonstrations.options import Options
from vision_pwil.demonstrations.parsing import plain
from vision_pwil.demonstrations.pictures import stack
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import parsing, sha256
from vision_pwil.system.memory import Allowance
from vision_pwil.system.progress import progress

_VERSION = 1  # of what decoding gives: raised when the same file would give other frames


@dataclass(frozen=True)
class Clip:
    """The pictures of one episode."""

    path: Path
    """The file or folder, for complaints."""
    files: tuple[Path, ...]
    """All files whose content decides the pictures."""
    part: tuple[object, ...]
    """Which part of the files it is, as JSON holds it."""
    pictures: Callable[[int], Iterable[Image.Image]]
    """The pictures in order, decoded with so many threads."""


def decode(clips: Sequence[Clip], options: Options) -> list[Array]:
    """The frames of each clip; what was decoded before comes from the cache folder."""
    cores = len(os.sched_getaffinity(0))
    allowance, stop, sums = Allowance(), Event(), _Checksums()

    def frames(clip: Clip) -> Array:
        taken = 0

        def take(size: int) -> None:
            nonlocal taken
            taken += size
            allowance.take(size)

        with parsing(clip.path, "video"):
            key = json.dumps([_VERSION, [sums[file] for file in clip.files], clip.part, options.size, options.fit])
            name = hashlib.sha256(key.encode()).hexdigest()[:32]
            fresh = partial(_decoded, clip, options, max(1, cores // len(clips)), take, stop)
            kept = np.asarray(cached(cache_folder() / "frames" / f"{name}.demos", fresh).episodes[0].frames)
            allowance.take(kept.nbytes - taken)  # what came from the cache counts too
            return kept

    with ThreadPoolExecutor(min(cores, len(clips))) as pool:
        try:
            return list(progress(pool.map(frames, clips), desc="decoding", unit="video", total=len(clips), leave=False))
        except BaseException:  # also Ctrl-C: do not wait for films that no one needs
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise


def _decoded(clip: Clip, options: Options, threads: int, take: Callable[[int], None], stop: Event) -> Demonstrations:
    def pictures() -> Iterator[Image.Image]:
        for picture in clip.pictures(threads):
            if stop.is_set():
                raise InputError("reading it was given up.")
            yield picture

    return Demonstrations((Episode(frames=stack(pictures(), options, take)),), source=clip.path.name)


class _Checksums(dict[Path, str]):
    """Checksums of files, each computed once."""

    def __missing__(self, path: Path) -> str:
        self[path] = sha256(plain(path))
        return self[path]
