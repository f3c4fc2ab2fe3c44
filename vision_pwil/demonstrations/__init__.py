"""Demonstrations: one type, a safe file format of our own, and readers for the formats found in the world.

    from vision_pwil.demonstrations import read
    demonstrations = read("door-v0_demos.pickle")

`python -m vision_pwil.demonstrations --help` inspects, converts, renders, records and fetches.
"""

from vision_pwil.demonstrations.episode import Demonstrations, Episode
from vision_pwil.demonstrations.reader import read
from vision_pwil.demonstrations.selection import choose, subsample

__all__ = ["Demonstrations", "Episode", "choose", "read", "subsample"]
