"""Moving pictures as animated PNG: one `image/png`, which browsers and notebooks play and every other viewer shows."""

import io

import numpy as np
from PIL import Image


def apng(frames: np.ndarray, milliseconds: int = 80) -> bytes:
    """Frames (n, height, width, 3), uint8, in 256 colours that they share, played over and over."""
    sample = frames[np.linspace(0, len(frames) - 1, 8).round().astype(int)]
    palette = Image.fromarray(np.concatenate(sample)).quantize(256)
    first, *others = (Image.fromarray(frame).quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames)
    buffer = io.BytesIO()
    first.save(buffer, "PNG", save_all=True, append_images=others, duration=milliseconds, loop=0, optimize=True)
    return buffer.getvalue()
