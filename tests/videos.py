"""Small synthetic videos with a known phase: a ball crosses the picture, each time at another speed and height."""

import numpy as np


def phases(count: int, seed: int) -> list[np.ndarray]:
    """Rising phases from 0 to 1, of different lengths and speeds."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(30, 50, count)
    return [np.linspace(0, 1, int(n)) ** rng.uniform(0.7, 1.4) for n in lengths]


def ball_videos(count: int, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed + 1)
    y, x = np.mgrid[:84, :84]
    videos = []
    for phase in phases(count, seed):
        height, background = rng.uniform(30, 54), rng.integers(0, 40, 3)
        centre = 12 + 60 * phase[:, None, None]
        ball = (x - centre) ** 2 + (y - height - 15 * np.sin(3 * phase)[:, None, None]) ** 2 < 9**2
        # A square that jumps about: what changes most in these videos tells nothing of their phase.
        corner = rng.integers(0, 64, (len(phase), 2, 1, 1))
        square = (abs(x - corner[:, 0] - 10) < 10) & (abs(y - corner[:, 1] - 10) < 10)
        video = np.where(square[..., None], [0, 200, 90], background)
        videos.append(np.where(ball[..., None], 255 - background, video).astype(np.uint8))
    return videos
