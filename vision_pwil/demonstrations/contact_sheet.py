"""A picture of demonstrations: a row for each episode, frames from its first to its last."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from vision_pwil.demonstrations.episode import Demonstrations, Episode
from vision_pwil.system.files import replacing

_MARGIN = 120  # pixels for the label of a row, which hold 18 letters


def contact_sheet(demonstrations: Demonstrations, columns: int = 12, rows: int = 50) -> Image.Image:
    """The first `rows` episodes, each as `columns` frames evenly spread in time."""
    import torch  # here, since both take seconds to import and most commands draw nothing

    from vision_pwil.system.vision import make_grid

    demonstrations.require("frames")
    shown = demonstrations.episodes[:rows]
    frames = np.concatenate([_spread(np.asarray(episode.frames), columns) for episode in shown])
    tiles = make_grid(torch.from_numpy(frames).permute(0, 3, 1, 2), nrow=columns, padding=1, pad_value=255)
    grid = Image.fromarray(tiles.permute(1, 2, 0).numpy())
    sheet = Image.new("RGB", (_MARGIN + grid.width, grid.height), "white")
    sheet.paste(grid, (_MARGIN, 0))
    draw = ImageDraw.Draw(sheet)
    for row, episode in enumerate(shown):
        draw.text((6, row * (frames.shape[1] + 1) + 6), _label(row, episode), fill="black")
    return sheet


def _spread(frames: np.ndarray, count: int) -> np.ndarray:
    return frames[np.linspace(0, len(frames) - 1, count).round().astype(int)]


def _label(row: int, episode: Episode) -> str:
    """The episode by its own number where it has one, else by its place, with its name."""
    name = episode.name or ""
    called = [f"episode {name}"] if name.isdecimal() else [f"episode {row}", name[:18]]
    return "\n".join(filter(None, [*called, f"{len(episode)} steps", "absorbing" if episode.absorbing else ""]))


def save_contact_sheet(demonstrations: Demonstrations, path: str | Path) -> None:
    """Write the picture as PNG."""
    sheet = contact_sheet(demonstrations)
    with replacing(path) as temporary:
        sheet.save(temporary, format="PNG")
