"""Batches: frames that lie where they should, augmented alike within a video, the same for the same update."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from vision_pwil.system.errors import InputError
from vision_pwil.tcc.recipes import Recipe
from vision_pwil.tcc.sampling import composites, pad, pairs, sample, split

PLAIN = replace(Recipe(), batch_size=2, subsampling=4, shift=0, brightness=0.0, composites=0.0)


def numbered(lengths: list[int]) -> list[torch.Tensor]:
    """Videos whose every pixel tells the video and the frame."""
    return [
        torch.tensor([10 * k, 0, 0], dtype=torch.uint8)
        + torch.arange(n, dtype=torch.uint8)[:, None, None, None]
        + torch.zeros(n, 84, 84, 3, dtype=torch.uint8)
        for k, n in enumerate(lengths)
    ]


def test_every_fourth_frame_from_an_offset_within_the_first_four() -> None:
    videos = numbered([17, 20, 9, 13])
    offsets = set()
    for update in range(30):
        batch = sample(videos, PLAIN, seed=0, update=update)
        assert sum(batch.lengths) == len(batch.frames) == len(batch.time)
        for frames, time in zip(batch.frames.split(batch.lengths), batch.time.split(batch.lengths), strict=True):
            number = int(frames[0, 0, 0, 0] - frames[0, 0, 0, 1]) // 10
            index = frames[:, 5, 7, 1].long()
            assert torch.equal(index, torch.arange(int(index[0]), len(videos[number]), 4))
            assert torch.allclose(time, index / (len(videos[number]) - 1))
            offsets.add(int(index[0]))
    assert offsets == {0, 1, 2, 3}


def test_the_same_update_draws_the_same_batch() -> None:
    videos = numbered([17, 20, 9, 13])
    first, again, later = (sample(videos, replace(Recipe(), subsampling=8), 3, update) for update in (5, 5, 6))
    assert torch.equal(first.frames, again.frames) and torch.equal(first.brightness, again.brightness)
    assert first.lengths != later.lengths or not torch.equal(first.frames, later.frames)


def test_a_shift_repeats_the_edge_and_is_one_for_each_video() -> None:
    image = torch.arange(84 * 84 * 3).remainder(251).to(torch.uint8).view(84, 84, 3)
    videos = [image.repeat(12, 1, 1, 1)] * 4
    batch = sample(videos, replace(PLAIN, shift=3), seed=1, update=0)
    padded = np.pad(image.numpy(), ((3, 3), (3, 3), (0, 0)), mode="edge")
    shifted = {(y, x): padded[y : y + 84, x : x + 84] for y in range(7) for x in range(7)}
    found = []
    for frames in batch.frames.split(batch.lengths):
        assert (frames == frames[0]).all()
        found.append(next(key for key, value in shifted.items() if (value == frames[0].numpy()).all()))
    assert len(set(found)) > 1


def test_a_large_batch_draws_videos_again_and_short_videos_are_never_empty() -> None:
    batch = sample(numbered([2, 3, 2]), replace(PLAIN, batch_size=16, subsampling=8), seed=0, update=0)
    assert len(batch.lengths) == 32 and min(batch.lengths) == 1


def test_padding_and_pairs() -> None:
    padded, mask = pad(torch.arange(5.0)[:, None], [2, 3])
    assert padded[..., 0].tolist() == [[0, 1, 0], [2, 3, 4]]
    assert mask.tolist() == [[True, True, False], [True, True, True]]
    assert pairs(4, every=False).tolist() == [[0, 1], [2, 3], [1, 0], [3, 2]]
    assert sorted(map(tuple, pairs(3, every=True).tolist())) == [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]


@pytest.mark.parametrize(("count", "held_out"), [(4, 2), (5, 2), (9, 2), (10, 2), (15, 3), (25, 5)])
def test_what_is_held_out_scales_with_the_number_of_videos(count, held_out):
    training, validation = split(count, None, 0, seed=0)
    assert len(validation) == held_out and sorted(training + validation) == list(range(count))


def test_folds_hold_out_every_video_once() -> None:
    parts = [split(25, 5, fold, seed=0) for fold in range(5)]
    assert sorted(index for _, held_out in parts for index in held_out) == list(range(25))
    assert all(sorted(training + held_out) == list(range(25)) for training, held_out in parts)
    assert split(25, 5, 0, seed=0) != split(25, 5, 0, seed=1)
    with pytest.raises(InputError, match="no fold 5"):
        split(25, 5, 5, seed=0)
    with pytest.raises(InputError, match="two videos each"):
        split(3, 2, 0, seed=0)


def test_a_composite_shows_two_times_of_one_video() -> None:
    length = 20
    video = torch.zeros(length, 84, 84, 3, dtype=torch.uint8)
    values = torch.arange(length, dtype=torch.uint8)[:, None, None, None] * 10
    video[:, 10:20, 10:20] = values  # two things that change together, apart from each other both ways
    video[:, 60:75, 60:75] = values
    mixed = composites(video, 50, np.random.default_rng(0))
    assert len(mixed) == 50
    for frame in mixed:
        first, second = int(frame[10, 10, 0]), int(frame[60, 60, 0])
        assert (frame[10:20, 10:20] == first).all() and (frame[60:75, 60:75] == second).all()
        frame[10:20, 10:20] = frame[60:75, 60:75] = 0
        assert not frame.any()
        apart = abs(first - second) // 10
        assert min(apart, length - apart) >= length // 5


def test_where_nothing_can_be_mixed_there_is_no_composite() -> None:
    rng = np.random.default_rng(0)
    still = torch.full((10, 84, 84, 3), 7, dtype=torch.uint8)
    assert len(composites(still, 5, rng)) == 0
    still[:, 40, 40] = torch.arange(10, dtype=torch.uint8)[:, None]  # a single point has no two sides
    assert len(composites(still, 5, rng)) == 0
    assert len(composites(still[:1], 5, rng)) == 0


def test_composites_follow_the_frames_of_a_batch() -> None:
    videos = [torch.randint(0, 256, (16, 84, 84, 3), dtype=torch.uint8) for _ in range(4)]
    recipe = replace(PLAIN, brightness=0.3, composites=0.5)
    plain, batch = sample(videos, replace(recipe, composites=0.0), 0, 0), sample(videos, recipe, 0, 0)
    assert len(batch.frames) == len(batch.brightness) == 16 + 8 and len(batch.time) == len(batch.video) == 16
    assert plain.lengths == batch.lengths == [4] * 4
    # A composite is as bright as the video it comes from.
    assert torch.equal(batch.brightness[16:].view(4, 2), batch.brightness[:16].view(4, 4)[:, :2])
