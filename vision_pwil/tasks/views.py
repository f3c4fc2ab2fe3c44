"""Do the videos show what the camera sees? Asked before anything long begins."""

import sys
from pathlib import Path

import imageio.v3 as imageio
import numpy as np
import torch

from vision_pwil.demonstrations import Demonstrations
from vision_pwil.envs.camera import Camera
from vision_pwil.envs.flat import FlatEnv
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import replacing

VIEWS = "views.png"


def check_views(demonstrations: Demonstrations, env: FlatEnv, camera: Camera, folder: Path) -> None:
    """Refuse frames that another camera drew of this environment; of foreign videos, warn, with a picture.

    Frames that this package drew carry the fingerprint of their camera. Others may also be faster or slower than the
    environment's steps.
    """
    try:
        drawn = demonstrations.render_fingerprint
        if drawn is not None and camera.fingerprint is not None:
            if drawn != camera.fingerprint:
                raise InputError(
                    f"The frames of {demonstrations.source} have render fingerprint {drawn}, the camera here has "
                    f"{camera.fingerprint}: render them again with the camera in use."
                )
            return
        env.reset(0)
        seen = camera.draw(camera.snapshot()[None])[0]
    finally:
        camera.close()
    path = folder / VIEWS
    with replacing(path) as temporary:
        imageio.imwrite(temporary, side_by_side(np.asarray(demonstrations.episodes[0].frames)[0], seen))
    print(
        f"The videos of {demonstrations.source} come from elsewhere: compare the first frame of one with what the "
        f"camera sees here, side by side in {path}. Where they differ, the reward means little.",
        file=sys.stderr,
    )
    rate, steps = demonstrations.rate, env.env.metadata.get("render_fps")
    if rate and steps and not 0.9 < rate / steps < 1.1:
        print(
            f"The videos of {demonstrations.source} have {rate:.4g} frames a second, and the environment makes {steps} "
            f"steps: each frame counts as one step. If they show the task at its own speed, convert them first: "
            f"ffmpeg -i video.mp4 -r {steps} converted.mp4",
            file=sys.stderr,
        )


def side_by_side(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Two pictures as one, the smaller one enlarged."""
    from vision_pwil.system.vision import functional, make_grid  # imports slowly

    size = [max(sizes) for sizes in zip(one.shape[:2], other.shape[:2], strict=True)]
    pictures = [functional.resize(torch.tensor(picture).permute(2, 0, 1), size) for picture in (one, other)]
    return make_grid(torch.stack(pictures), nrow=2, padding=2, pad_value=255).permute(1, 2, 0).numpy()
