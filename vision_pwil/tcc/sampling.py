"""Batches of videos for TCC: which videos, which of their frames, and one augmentation for each video.

A batch is a pure function of the seed and the number of the update, so a resumed run draws the same batches.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from vision_pwil.encoder import SIZE
from vision_pwil.errors import InputError
from vision_pwil.tcc.recipes import Recipe


class Batch(NamedTuple):
    """Frames of several videos, one video after the other."""

    frames: Tensor
    """(n,84,84,3) uint8."""
    brightness: Tensor
    """(n,1,1,1) factor of the pixel values, one for each video."""
    time: Tensor
    """(n,) time of each frame as a share of its video's length, 0 to 1."""
    video: Tensor
    """(n,) position of each frame's video in the batch."""
    lengths: list[int]
    """Frames of each video."""


def split(count: int, validation: int, fold: int, seed: int) -> tuple[list[int], list[int]]:
    """Training and validation indices: fold k of a seeded shuffle holds out its k-th `validation` videos."""
    if validation < 2 or count - validation < 2:
        raise InputError(
            f"Of {count} videos, {validation} cannot be held out: training and validation need two videos each or more."
        )
    if not 0 <= fold < count // validation:
        raise InputError(f"There is no fold {fold}: {count} videos make {count // validation} folds of {validation}.")
    order = np.random.default_rng(seed).permutation(count).tolist()
    held_out = sorted(order[fold * validation : (fold + 1) * validation])
    return sorted(set(range(count)) - set(held_out)), held_out


def sample(videos: Sequence[Tensor], recipe: Recipe, seed: int, update: int) -> Batch:
    """The batch of one update: whole videos, every `subsampling`-th frame from a random offset."""
    rng = np.random.default_rng((seed, update))
    # Videos come in pairs; when the batch wants more videos than there are, they come again.
    wanted = 2 * recipe.batch_size
    order = np.concatenate([rng.permutation(len(videos)) for _ in range(-(-wanted // len(videos)))])[:wanted]
    pixels = torch.arange(SIZE)
    frames, brightness, time, lengths = [], [], [], []
    for number in order.tolist():
        video = videos[number]
        # An offset beyond a short video would leave it empty.
        index = torch.arange(int(rng.integers(min(recipe.subsampling, len(video) - 1))), len(video), recipe.subsampling)
        down, right = (int(shift) for shift in rng.integers(-recipe.shift, recipe.shift + 1, 2))
        # Shifting repeats the edge; the same for all frames, or the shift would tell them apart.
        rows, columns = (pixels + down).clamp(0, SIZE - 1), (pixels + right).clamp(0, SIZE - 1)
        frames.append(video[index[:, None, None], rows[:, None], columns])
        brightness.append(torch.full((len(index), 1, 1, 1), 1 + recipe.brightness * rng.uniform(-1, 1)))
        time.append(index / (len(video) - 1))
        lengths.append(len(index))
    return Batch(
        torch.cat(frames),
        torch.cat(brightness).float(),
        torch.cat(time),
        torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths)),
        lengths,
    )


def pad(embeddings: Tensor, lengths: list[int]) -> tuple[Tensor, Tensor]:
    """Videos one after the other (n,d) as one padded array (V,N,d), and the mask (V,N) of its real frames."""
    padded = torch.nn.utils.rnn.pad_sequence(embeddings.split(lengths), batch_first=True)
    return padded, torch.arange(padded.shape[1]) < torch.tensor(lengths)[:, None]


def pairs(videos: int, every: bool) -> Tensor:
    """Ordered pairs (P,2) of a batch's videos: neighbours both ways, or `every` two different videos."""
    if every:
        index = torch.arange(videos)
        grid = torch.cartesian_prod(index, index)
        return grid[grid[:, 0] != grid[:, 1]]
    neighbours = torch.arange(videos).view(-1, 2)
    return torch.cat([neighbours, neighbours.flip(1)])
