"""A picture of demonstrations: a row for each episode, frames from its first to its last."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from vision_pwil.demonstrations.episode import Demonstrations
from vision_pwil.system.files import replacing

_MARGIN = 120  # pixels for the label of a row


def contact_sheet(demonstrations: Demonstrations, columns: int = 12, rows: int = 50) -> Image.Image:
    """The first `rows` episodes, each as `columns` frames evenly spread in time."""
    demonstrations.require("frames")
    shown = demonstrations.episodes[:rows]
    height, width = np.asarray(shown[0].frames).shape[1:3]
    sheet = Image.new("RGB", (_MARGIN + columns * (width + 1), len(shown) * (height + 1)), "white")
    draw = ImageDraw.Draw(sheet)
    for row, episode in enumerate(shown):
        top = row * (height + 1)
        ending = "\nabsorbing" if episode.absorbing else ""
        draw.text((6, top + 6), f"episode {row}\n{len(episode)} steps{ending}", fill="black")
        frames = np.asarray(episode.frames)
        for column, step in enumerate(np.linspace(0, len(frames) - 1, columns).round().astype(int)):
            sheet.paste(Image.fromarray(frames[step]), (_MARGIN + column * (width + 1), top))
    return sheet


def save_contact_sheet(demonstrations: Demonstrations, path: str | Path) -> None:
    """Write the picture as PNG."""
    sheet = contact_sheet(demonstrations)
    with replacing(path) as temporary:
        sheet.save(temporary, format="PNG")
