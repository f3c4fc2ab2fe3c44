"""Moving pictures as MP4 (H.264), which every browser plays."""

from collections.abc import Iterable
from pathlib import Path

import imageio.v3 as imageio
import numpy as np

from vision_pwil.system.files import replacing


def write_mp4(path: Path, frames: Iterable[np.ndarray], rate: float) -> None:
    """Frames (height, width, 3) of even height and width, uint8, so many a second."""
    with replacing(path) as temporary:
        imageio.imwrite(temporary, list(frames), plugin="FFMPEG", fps=rate, macro_block_size=2, quality=6)
