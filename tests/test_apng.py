import io

import numpy as np
from PIL import Image

from vision_pwil.system.apng import apng


def test_every_frame_comes_back_in_its_place():
    """Few colours, so that the shared palette holds them all; three frames alike must stay three."""
    rng = np.random.default_rng(0)
    colours = rng.integers(0, 255, (5, 3), dtype=np.uint8)
    frames = colours[rng.integers(0, 5, (7, 12, 20))]
    frames[3] = frames[4] = frames[2]
    picture = Image.open(io.BytesIO(apng(frames, milliseconds=70)))
    assert picture.format == "PNG"
    shown, lasts = [], []
    for number in range(picture.n_frames):
        picture.seek(number)
        shown.append(np.asarray(picture.convert("RGB")))
        lasts.append(picture.info["duration"])
    times = np.repeat(range(len(shown)), np.round(np.array(lasts) / 70).astype(int))
    assert (np.array(shown)[times] == frames).all()  # frames alike may be one that lasts longer
    assert picture.info["loop"] == 0


def test_one_frame_is_a_still():
    frames = np.full((1, 4, 4, 3), 200, np.uint8)
    assert (np.asarray(Image.open(io.BytesIO(apng(frames))).convert("RGB")) == 200).all()
