"""Frames of a film, decoded one after the other: mp4, mkv, avi and others, whatever the codec (H.264, AV1, ...)."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import av
import numpy as np
from av.video.reformatter import VideoReformatter
from PIL import Image

from vision_pwil.demonstrations.episode import Array
from vision_pwil.demonstrations.pictures import MAX_PIXELS, check_size
from vision_pwil.system.errors import InputError

SUFFIXES = {".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm", ".mpg", ".mpeg"}
# Only local files: a "film" that is really a playlist must not make FFmpeg open connections or other files.
_OPTIONS = {
    "protocol_whitelist": "file",
    "format_whitelist": "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpeg,mpegvideo,mpegts",
}


def film(path: Path, times: Array | None = None, rate: float = 30.0, threads: int = 1) -> Iterator[Image.Image]:
    """Every frame of a film, or those nearest to the given times.

    Args:
        path: the film.
        times: rising, in seconds from the start of the film.
        rate: frames a second; the film must have a frame within half of one of each time.
        threads: for the decoder.
    """
    try:
        with av.open(str(path.absolute()), options=_OPTIONS) as container:
            if not container.streams.video:
                raise InputError("it has no pictures.")
            stream = container.streams.video[0]
            stream.codec_context.options = {"max_pixels": str(MAX_PIXELS)}
            stream.codec_context.thread_count = threads
            to_rgb = VideoReformatter()  # one for all frames: it keeps what it prepared for the first
            if times is None:
                for shown in container.decode(stream):
                    yield _upright(shown, to_rgb)
                return
            if len(times) and stream.time_base:
                container.seek(int((times[0] - 0.5 / rate) / stream.time_base), stream=stream)
            for shown in _at(container.decode(stream), times, 0.5 / rate):
                yield _upright(shown, to_rgb)
    except av.error.FFmpegError as error:
        raise InputError(f"it is damaged, or no video ({error.strerror}).") from None


class Label(NamedTuple):
    """What a film says of itself."""

    size: str
    """Of its pictures: 640x480, the width first."""
    rate: float | None
    """Frames a second."""


def label(path: Path) -> Label | None:
    """What the film itself says, without a look at its pictures; None if it does not say."""
    try:
        with av.open(str(path.absolute()), options=_OPTIONS) as container:
            stream = container.streams.video[0]
            return Label(f"{stream.width}x{stream.height}", float(stream.average_rate) if stream.average_rate else None)
    except (av.error.FFmpegError, IndexError):
        return None


def _at(frames: Iterator[av.VideoFrame], times: Array, tolerance: float) -> Iterator[av.VideoFrame]:
    """Of frames in order, the one within the tolerance of each time."""
    wanted = 0
    if not len(times):
        return
    for shown in frames:
        if shown.time is None or shown.time < times[wanted] - tolerance:
            continue
        while wanted < len(times) and abs(shown.time - times[wanted]) <= tolerance:
            yield shown
            wanted += 1
        if wanted == len(times):
            return
        if shown.time > times[wanted] + tolerance:
            break
    raise InputError(f"it has no frame at {times[wanted]:.3f} s, where its dataset has a step.")


def _upright(shown: av.VideoFrame, to_rgb: VideoReformatter) -> Image.Image:
    """The frame as a person sees it: telephones film sideways and note the angle beside."""
    check_size(shown.width, shown.height)
    pixels = to_rgb.reformat(shown, format="rgb24").to_ndarray()
    turns = round(shown.rotation / 90) % 4
    return Image.fromarray(np.ascontiguousarray(np.rot90(pixels, turns)) if turns else pixels)
