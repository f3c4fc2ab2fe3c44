"""What TensorBoard shows of an alignment beside numbers: matched frames, distances, and the embedding itself."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import torch

from vision_pwil.tcc import pictures
from vision_pwil.tcc.alignment import nearest

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

Videos = Sequence[np.ndarray]

_PAIRS = 3  # shown of the validation videos
_SPRITES = 600  # frames in the projector, whose thumbnails make one image


def write_alignment(writer: "SummaryWriter", videos: Videos, embedded: Videos, step: int) -> None:
    """Aligned frame strips and distance matrices of the first few neighbouring pairs."""
    for i, j in list(pairwise(range(len(videos))))[:_PAIRS]:
        strip = pictures.strip(videos[i], videos[j], nearest(embedded[i], embedded[j]))
        writer.add_image(f"alignment/{i}-{j}", strip, step, dataformats="HWC")
        figure = pictures.distances(embedded[i], embedded[j], f"videos {i} and {j}")
        writer.add_figure(f"distances/{i}-{j}", figure, step, close=False)


def write_projector(writer: "SummaryWriter", videos: Videos, embedded: Videos, step: int) -> None:
    """The embedded frames with thumbnails, video and time, for TensorBoard's projector."""
    every = -(-sum(map(len, videos)) // _SPRITES)
    labels = [[str(number), str(t)] for number, video in enumerate(videos) for t in range(0, len(video), every)]
    thumbnails = torch.from_numpy(np.concatenate([video[::every, ::2, ::2] for video in videos]))
    writer.add_embedding(
        torch.from_numpy(np.concatenate([z[::every] for z in embedded])),
        metadata=labels,
        metadata_header=["video", "frame"],
        label_img=thumbnails.permute(0, 3, 1, 2).float() / 255,
        global_step=step,
        tag="validation",
    )
