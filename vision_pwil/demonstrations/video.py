"""Plain video: files that people film or download, and folders of numbered images; frames become 84x84 RGB.

A folder is read in one of three ways: its videos are the episodes; or its sub-folders of images are; or, when it holds
images itself, it is one episode. Frames are resized by area averaging, without keeping the aspect ratio.
"""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import imageio_ffmpeg
import numpy as np
from PIL import Image, ImageSequence

from vision_pwil.demonstrations.episode import Array, Demonstrations, Episode
from vision_pwil.demonstrations.parsing import MAX_BYTES, parsing
from vision_pwil.system.errors import InputError

SIZE = 84
FILMS = {".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm", ".mpg", ".mpeg"}
ANIMATIONS = {".gif", ".webp", ".apng"}
IMAGES = {".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff"}
SUFFIXES = FILMS | ANIMATIONS
_MAX_FRAMES = MAX_BYTES // (SIZE * SIZE * 3)


def _shrink(image: Image.Image) -> Array:
    return np.asarray(image.convert("RGB").resize((SIZE, SIZE), Image.Resampling.BOX))


def _film(path: Path) -> Iterator[Array]:
    # Only local files: a "video" that is really a playlist must not make ffmpeg open connections.
    frames = imageio_ffmpeg.read_frames(path, input_params=["-protocol_whitelist", "file,pipe"])
    size = next(frames)["size"]
    for frame in frames:
        yield _shrink(Image.frombytes("RGB", size, frame))


@contextmanager
def _open(path: Path) -> Iterator[Image.Image]:
    """An image of a size that a camera makes: pillow's warning of decompression bombs is an error here."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        with Image.open(path) as image:
            yield image


def _animation(path: Path) -> Iterator[Array]:
    with _open(path) as image:
        for frame in ImageSequence.Iterator(image):
            yield _shrink(frame)


def _stack(frames: Iterator[Array]) -> Episode:
    stacked = []
    for frame in frames:
        stacked.append(frame)
        if len(stacked) > _MAX_FRAMES:
            raise InputError(f"it has more than the {_MAX_FRAMES:,} frames that are accepted.")
    if not stacked:
        raise InputError("it has no frames.")
    return Episode(frames=np.stack(stacked))


def _read_film(path: Path) -> Episode:
    with parsing(path, "video"):
        return _stack(_film(path) if path.suffix.lower() in FILMS else _animation(path))


def _read_images(paths: list[Path]) -> Episode:
    def frames() -> Iterator[Array]:
        for path in paths:
            with parsing(path, "image"), _open(path) as image:
                yield _shrink(image)

    return _stack(frames())


def _files(folder: Path, suffixes: set[str]) -> list[Path]:
    """The files with these suffixes in the order a person counts: 2 before 10."""
    found = [path for path in folder.iterdir() if path.suffix.lower() in suffixes and path.name[0] != "."]
    return sorted(found, key=_count)


def _count(path: Path) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", path.name)]


def read_file(path: Path) -> Demonstrations:
    """One video, one episode."""
    return Demonstrations((_read_film(path),), source=path.name)


def read_folder(folder: Path) -> Demonstrations:
    """All videos, or all sub-folders of images, or the images themselves as one episode."""
    if films := _files(folder, SUFFIXES):
        return Demonstrations(tuple(map(_read_film, films)), source=folder.name)
    if images := _files(folder, IMAGES):
        return Demonstrations((_read_images(images),), source=folder.name)
    inner = [_files(child, IMAGES) for child in sorted(folder.iterdir(), key=_count) if child.is_dir()]
    if episodes := [_read_images(images) for images in inner if images]:
        return Demonstrations(tuple(episodes), source=folder.name)
    raise InputError("the folder holds no videos, no images, and no folders of images.")
