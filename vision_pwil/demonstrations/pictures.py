"""One picture: opened only in the formats that are meant, and brought to the size of a frame by area averaging."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np
from PIL import Image

from vision_pwil.demonstrations.episode import Array
from vision_pwil.demonstrations.options import Options
from vision_pwil.system import memory
from vision_pwil.system.errors import InputError

FORMATS = ("PNG", "JPEG", "BMP", "TIFF", "GIF", "WEBP")
"""Pillow knows fifty more, and starts Ghostscript for one of them."""
MAX_PIXELS = 40_000_000
"""More than any camera films; a file of a few bytes can claim a picture of gigabytes."""


@contextmanager
def open_picture(file: Path | IO[bytes]) -> Iterator[Image.Image]:
    """A picture or an animation, of a size that a camera makes."""
    with Image.open(file, formats=FORMATS) as image:
        check_size(*image.size)
        yield image


def check_size(width: int, height: int) -> None:
    """Refuse a picture that no camera makes."""
    if width * height > MAX_PIXELS:
        raise InputError(f"a picture in it has {width} x {height} pixels, more than the {MAX_PIXELS:,} accepted.")


def frame(image: Image.Image, options: Options) -> Array:
    """The picture as RGB, in the size and by the fit that the options ask for."""
    image = image if image.mode == "RGB" else image.convert("RGB")
    if options.size is None:
        return np.asarray(image)
    (width, height), side = image.size, options.size
    short, long = min(width, height), max(width, height)
    if options.fit == "crop":
        left, top = (width - short) / 2, (height - short) / 2
        box = (left, top, left + short, top + short)
        return np.asarray(image.resize((side, side), Image.Resampling.BOX, box))
    if options.fit == "pad":
        inner = (max(1, round(side * width / long)), max(1, round(side * height / long)))
        padded = Image.new("RGB", (side, side))
        corner = ((side - inner[0]) // 2, (side - inner[1]) // 2)
        padded.paste(image.resize(inner, Image.Resampling.BOX), corner)
        return np.asarray(padded)
    return np.asarray(image.resize((side, side), Image.Resampling.BOX))


def picture_of(array: Array) -> Image.Image:
    """The picture in an array of height x width, or with 1, 3 or 4 channels."""
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if array.dtype != np.uint8 or not (array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (3, 4))):
        raise InputError(f"a picture in it is {array.dtype} of shape {array.shape}, and only uint8 RGB is read.")
    return Image.fromarray(array)


def stack(pictures: Iterable[Image.Image], options: Options, take: Callable[[int], None] | None = None) -> Array:
    """Pictures as the frames of one array; `take` counts the bytes of each, by default against the limit of memory."""
    take = take or memory.Allowance().take
    frames: list[Array] = []
    for picture in pictures:
        frames.append(frame(picture, options))
        take(frames[-1].nbytes)
        if frames[-1].shape != frames[0].shape:
            raise InputError("its pictures differ in size: name one size for all.")
    if not frames:
        raise InputError("it has no frames.")
    return np.stack(frames)
