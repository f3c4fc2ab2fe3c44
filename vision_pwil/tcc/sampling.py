"""Batches of videos for TCC: which videos, which of their frames, and one augmentation for each video.

A batch is a pure function of the seed and the number of the update, so a resumed run draws the same batches.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from vision_pwil.system.errors import InputError
from vision_pwil.tcc.recipes import Recipe

_FAIR = 0.15  # least share of the difference of two frames on either side of a composite's cut


class VideoBatch(NamedTuple):
    """Frames of several videos, one video after the other."""

    frames: Tensor
    """(n+m,84,84,3) uint8: n frames of the videos, then m composites of them."""
    brightness: Tensor
    """(n+m,1,1,1) factor of the pixel values, one for each video."""
    time: Tensor
    """(n,) time of each frame as a share of its video's length, 0 to 1."""
    video: Tensor
    """(n,) position of each frame's video in the batch."""
    lengths: list[int]
    """Frames of each video."""

    def to(self, device: torch.device) -> "VideoBatch":
        """The same on a device."""
        frames, brightness, time, video = (part.to(device) for part in self[:-1])
        return VideoBatch(frames, brightness, time, video, self.lengths)


def held_out_count(count: int) -> int:
    """Videos to hold out of `count`: one in five, and at least two; none of fewer than four."""
    return max(2, count // 5) if count >= 4 else 0


def split(count: int, validation: int | None, fold: int, seed: int) -> tuple[list[int], list[int]]:
    """Training and validation indices: fold k of a seeded shuffle holds out its k-th `validation` videos.

    Tau is measured between two videos, so each part has two or more; of two or three videos, all are for training.
    """
    validation = held_out_count(count) if validation is None else validation
    if validation == 0 and count >= 2 and fold == 0:
        return [*range(count)], []
    if validation < 2 or count - validation < 2:
        raise InputError(
            f"Of {count} videos, {validation} cannot be held out: training and validation need two videos each or more."
        )
    if not 0 <= fold < count // validation:
        raise InputError(f"There is no fold {fold}: {count} videos make {count // validation} folds of {validation}.")
    order = np.random.default_rng(seed).permutation(count).tolist()
    held_out = sorted(order[fold * validation : (fold + 1) * validation])
    return sorted(set(range(count)) - set(held_out)), held_out


def sample(videos: Sequence[Tensor], recipe: Recipe, seed: int, update: int) -> VideoBatch:
    """The batch of one update: whole videos, every `subsampling`-th frame from a random offset."""
    rng, every = np.random.default_rng((seed, update)), recipe.subsampling
    assert every is not None  # a resolved recipe
    # Videos come in pairs; when the batch wants more videos than there are, they come again.
    wanted = 2 * recipe.batch_size
    order = np.concatenate([rng.permutation(len(videos)) for _ in range(-(-wanted // len(videos)))])[:wanted]
    frames, mixed, factors, time, lengths = [], [], [], [], []
    for number in order.tolist():
        video = videos[number]
        # An offset beyond a short video would leave it empty.
        index = torch.arange(int(rng.integers(min(every, len(video) - 1))), len(video), every)
        down, right = (int(shift) for shift in rng.integers(-recipe.shift, recipe.shift + 1, 2))
        frames.append(shifted(video[index], down, right))
        factors.append(1 + recipe.brightness * rng.uniform(-1, 1))
        mixed.append(composites(frames[-1], int(recipe.composites * len(index)), rng))
        time.append(index / (len(video) - 1))
        lengths.append(len(index))
    parts = [*frames, *mixed]
    brightness = torch.tensor([*factors, *factors]).repeat_interleave(torch.tensor([len(part) for part in parts]))
    return VideoBatch(
        torch.cat(parts),
        brightness[:, None, None, None].float(),
        torch.cat(time),
        torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths)),
        lengths,
    )


def shifted(frames: Tensor, down: int, right: int) -> Tensor:
    """Frames moved by so many pixels, the edge repeated; all alike, or the shift would tell them apart."""
    from vision_pwil.system.vision import functional  # imports slowly

    by, (height, width) = max(abs(down), abs(right)), frames.shape[1:3]
    padded = functional.pad(frames.permute(0, 3, 1, 2), [by], padding_mode="edge")
    return functional.crop(padded, by + down, by + right, height, width).permute(0, 2, 3, 1)


def composites(frames: Tensor, count: int, rng: np.random.Generator) -> Tensor:
    """Up to `count` synthetic composites: one part of a frame beside the other part of a frame at another time.

    The cut is straight, upright or level. It lies where the two differ least, so that it cannot be seen, with no less
    than `_FAIR` of what differs on either side; where that cannot be, there is no composite.
    """
    if len(frames) < 2 or not count:
        return frames[:0]
    first = torch.from_numpy(rng.integers(len(frames), size=count))
    nearest = max(1, len(frames) // 5)
    second = (first + torch.from_numpy(rng.integers(nearest, len(frames) - nearest + 1, size=count))) % len(frames)
    upright = torch.from_numpy(rng.random(count) < 0.5)
    one, other = frames[first], frames[second]
    differs = (one.int() - other.int()).abs().sum(-1).float()
    lines = torch.where(upright[:, None], differs.sum(1), differs.sum(2))
    share = lines.cumsum(1) / lines.sum(1, keepdim=True)
    fair = (share >= _FAIR) & (share <= 1 - _FAIR)
    here = torch.arange(frames.shape[1]) <= lines.masked_fill(~fair, torch.inf).argmin(1)[:, None]
    mask = torch.where(upright[:, None, None], here[:, None, :], here[:, :, None])
    return torch.where(mask[..., None], one, other)[fair.any(1)]


def pad(embeddings: Tensor, lengths: list[int]) -> tuple[Tensor, Tensor]:
    """Videos one after the other (n,d) as one padded array (V,N,d), and the mask (V,N) of its real frames."""
    padded = torch.nn.utils.rnn.pad_sequence(embeddings.split(lengths), batch_first=True)
    ends = torch.tensor(lengths, device=padded.device)
    return padded, torch.arange(padded.shape[1], device=padded.device) < ends[:, None]


def pairs(videos: int, every: bool, device: torch.device | str = "cpu") -> Tensor:
    """Ordered pairs (P,2) of a batch's videos: neighbours both ways, or `every` two different videos."""
    index = torch.arange(videos, device=device)
    if every:
        grid = torch.cartesian_prod(index, index)
        return grid[grid[:, 0] != grid[:, 1]]
    neighbours = index.view(-1, 2)
    return torch.cat([neighbours, neighbours.flip(1)])
