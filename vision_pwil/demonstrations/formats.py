"""The table of formats that are read. A new format is one file with `recognises` and `read`, and one row here."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from vision_pwil.demonstrations import d4rl, format, lerobot, minari, npz, pickles, robomimic, video
from vision_pwil.demonstrations.episode import Demonstrations
from vision_pwil.demonstrations.options import Options


class Format(NamedTuple):
    """One way in which demonstrations are stored."""

    name: str
    """As in "x is not a readable <name>"."""
    recognises: Callable[[Path], bool]
    """Whether a file or folder is in this format, by a look at its content; of a damaged file it complains itself."""
    read: Callable[[Path, Options], Demonstrations]
    """Complaints need not name the path, and damage may raise anything: `reader.read` makes a sentence of it."""
    takes: frozenset[str] = frozenset()
    """The options that choose a part of it: camera, filter."""


FORMATS = (
    Format("file of this package's own format", format.recognises, format.read),
    Format("LeRobot dataset", lerobot.recognises, lerobot.read, frozenset({"camera"})),
    Format("Minari dataset", minari.recognises, minari.read, frozenset({"camera"})),
    Format("robomimic HDF5 file", robomimic.recognises, robomimic.read, frozenset({"camera", "filter"})),
    Format("D4RL HDF5 file", d4rl.recognises, d4rl.read),
    Format(".npz archive", npz.recognises, npz.read),
    Format("video, or folder of videos or images", video.recognises, video.read),
    Format("DAPG pickle", pickles.recognises, pickles.read),
)
"""In the order in which they are tried: the first that recognises a path reads it."""
