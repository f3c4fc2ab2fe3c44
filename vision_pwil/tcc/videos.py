"""Videos to learn from: demonstrations with 84x84 frames, rendered first where they are the door's without frames."""

from pathlib import Path

from vision_pwil.demonstrations import Demonstrations, read
from vision_pwil.encoder import FRAME_SHAPE
from vision_pwil.system.errors import InputError


def read_videos(path: str | Path) -> Demonstrations:
    """Demonstrations whose every episode has two or more frames of 84x84."""
    demonstrations = read(path)
    if not demonstrations.has("frames"):
        if not demonstrations.has("initial_state"):
            raise InputError(f"{path} has no frames, nor initial states from which the door's could be rendered.")
        from vision_pwil.envs.open_loop import render_door  # needs OpenGL; videos do not

        demonstrations = render_door(demonstrations)
    require_videos(demonstrations)
    return demonstrations


def require_videos(demonstrations: Demonstrations) -> None:
    """Raise one clear sentence unless every episode has two or more frames of 84x84."""
    for number, episode in enumerate(demonstrations.episodes):
        frames = episode.frames
        if frames is None or frames.shape[1:] != FRAME_SHAPE or len(frames) < 2:
            shape = None if frames is None else frames.shape
            raise InputError(
                f"Video {number} of {demonstrations.source} has frames {shape}; the encoder needs two or more of 84x84x3."
            )
