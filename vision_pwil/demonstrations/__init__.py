"""Demonstrations: one type, a safe file format of our own, and readers for the formats found in the world.

    from vision_pwil.demonstrations import read
    demonstrations = read("door-v0_demos.pickle")

`vision-pwil demonstrations --help` inspects, converts, renders, records and fetches.
"""

from pathlib import Path

from vision_pwil.demonstrations.episode import Demonstrations, Episode
from vision_pwil.demonstrations.reader import read
from vision_pwil.demonstrations.selection import choose, subsample

ASSETS = Path(__file__).parent / "assets"
"""What comes with the package."""

__all__ = ["ASSETS", "Demonstrations", "Episode", "choose", "read", "subsample"]
