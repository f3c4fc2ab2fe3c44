"""Videos to learn from: demonstrations with frames, rendered first where they are the door's without frames."""

from dataclasses import asdict
from pathlib import Path

from vision_pwil.demonstrations import Demonstrations, read
from vision_pwil.demonstrations.options import Options
from vision_pwil.encoder import SMALLEST
from vision_pwil.system.errors import InputError


def read_videos(path: str | Path, reading: Options) -> Demonstrations:
    """Demonstrations whose every episode has two or more frames."""
    demonstrations = read(path, **asdict(reading))
    if not demonstrations.has("frames"):
        if not demonstrations.has("initial_state"):
            raise InputError(f"{path} has no frames, nor initial states from which the door's could be rendered.")
        from vision_pwil.envs.open_loop import render_door  # needs OpenGL; videos do not

        demonstrations = render_door(demonstrations)
    require_videos(demonstrations)
    return demonstrations


def require_videos(demonstrations: Demonstrations) -> None:
    """Raise one clear sentence unless every episode has two or more frames, large enough for the encoder."""
    for number, episode in enumerate(demonstrations.episodes):
        count, height, width = (0, 0, 0) if episode.frames is None else episode.frames.shape[:3]
        if count < 2 or min(height, width) < SMALLEST:
            has = f"{count} frame{'s' * (count != 1)}" + f" of {height}x{width} pixels" * (count > 0)
            raise InputError(
                f"Video {number} of {demonstrations.source} has {has}; the encoder needs two frames or more, "
                f"of {SMALLEST}x{SMALLEST} pixels or more."
            )
