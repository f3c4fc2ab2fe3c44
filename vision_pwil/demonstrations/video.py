"""Plain video: files that people film or download, and folders of numbered images.

A folder is read in one of three ways: its videos are the episodes; or its sub-folders of images are; or, when it holds
images itself, it is one episode.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from PIL import Image, ImageSequence

from vision_pwil.demonstrations import films
from vision_pwil.demonstrations.clips import Clip, decode
from vision_pwil.demonstrations.episode import Demonstrations
from vision_pwil.demonstrations.options import Options
from vision_pwil.demonstrations.parsing import each
from vision_pwil.demonstrations.pictures import open_picture
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import parsing

_ANIMATIONS = {".gif", ".webp", ".apng"}
_IMAGES = {".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff"}
_VIDEOS = films.SUFFIXES | _ANIMATIONS


def recognises(path: Path) -> bool:
    """Any folder, and files that are named as videos are."""
    return path.is_dir() or path.suffix.lower() in _VIDEOS


def read(path: Path, options: Options) -> Demonstrations:
    """One video, or all videos of a folder, or all its sub-folders of images, or its images as one episode."""
    clips = [_video(path)] if path.is_file() else _in_folder(path)
    frames = decode(clips, options)
    episodes = each(lambda item: {"name": item[0].path.name, "frames": item[1]}, zip(clips, frames, strict=True))
    labels = {clip.path.name: films.label(clip.path) for clip in clips if clip.path.suffix.lower() in films.SUFFIXES}
    _tell(path.name, labels, options)
    first = labels.get(clips[0].path.name)
    return Demonstrations(episodes, source=path.name, rate=first.rate if first else None)


def _tell(folder: str, labels: Mapping[str, films.Label | None], options: Options) -> None:
    """Say so where films are not square, or differ in size or pace: they should show one task from one camera."""
    sizes = {label.size: f"{name} has {label.size} pixels" for name, label in labels.items() if label}
    rates = {label.rate: f"{name} has {label.rate:.4g}" for name, label in labels.items() if label and label.rate}
    wide = next((size for size in sizes if len(set(size.split("x"))) > 1), None)
    if wide is not None and options.size is not None and options.fit == "crop":
        print(
            f"The videos of {folder} are not square ({sizes[wide]}): of each picture the middle square is taken "
            "(--fit pad keeps all of it).",
            file=sys.stderr,
        )
    if len(sizes) > 1:
        print(
            f"The videos of {folder} differ in size ({', '.join(islice(sizes.values(), 2))}): do they show the task "
            "from the same camera?",
            file=sys.stderr,
        )
    if rates and min(rates) < 0.9 * max(rates):
        print(
            f"The videos of {folder} differ in frames a second ({rates[min(rates)]}, {rates[max(rates)]}): each frame "
            f"counts as one step. If they show the task at its own speed, convert them first: "
            f"ffmpeg -i video.mp4 -r {min(rates):.4g} converted.mp4",
            file=sys.stderr,
        )


def _in_folder(folder: Path) -> list[Clip]:
    if videos := _files(folder, _VIDEOS):
        return [_video(path) for path in videos]
    if images := _files(folder, _IMAGES):
        return [_images(folder, images)]
    inner = [(child, _files(child, _IMAGES)) for child in sorted(folder.iterdir(), key=_count) if child.is_dir()]
    if clips := [_images(child, images) for child, images in inner if images]:
        return clips
    raise InputError("the folder holds no videos, no images, and no folders of images.")


def _video(path: Path) -> Clip:
    if path.suffix.lower() in films.SUFFIXES:
        return Clip(path, (path,), ("film",), lambda threads: films.film(path, threads=threads))
    return Clip(path, (path,), ("animation",), lambda threads: _animation(path))


def _animation(path: Path) -> Iterator[Image.Image]:
    with open_picture(path) as image:
        yield from ImageSequence.Iterator(image)


def _images(folder: Path, paths: list[Path]) -> Clip:
    def pictures(threads: int) -> Iterator[Image.Image]:
        for path in paths:
            with parsing(path, "image"), open_picture(path) as image:
                yield image

    return Clip(folder, tuple(paths), ("images",), pictures)


def _files(folder: Path, suffixes: set[str]) -> list[Path]:
    """The files with these suffixes in the order a person counts: 2 before 10."""
    found = [path for path in folder.iterdir() if path.suffix.lower() in suffixes and path.name[0] != "."]
    return sorted((path for path in found if path.is_file()), key=_count)


def _count(path: Path) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", path.name)]
