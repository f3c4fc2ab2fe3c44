"""Recipes: every choice that shapes an encoder, with its source; `paper` is the paper's, `default` raises tau."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Annotated, Literal

from vision_pwil.system.settings import Count, NotNegative, Positive, Settings, Whole, at_least, below

BelowOne = Annotated[float, at_least(0), below(1)]


@dataclass(frozen=True)
class Recipe(Settings):
    """The settings of TCC training; every one of them needs videos only, no labels."""

    updates: Count = 1_500
    """Gradient updates in all; the learning rate's schedule ends with them."""
    batch_size: Count = 2
    """Pairs of videos in an update (the paper searched 1, 4, 16, 32)."""
    subsampling: Count | None = None
    """Every how many frames of a video enter a batch, from a random offset (the paper searched 1, 4, 8); by default so
    many that the median video gives about 24: 8 for the door's."""
    learning_rate: Positive = 1e-3
    """Of Adam (the paper searched 1e-2, 1e-3, 1e-4)."""
    loss: Literal["classification", "regression_mse", "regression_mse_var"] = "classification"
    """The cycle-consistency loss (TCC, section 3); the paper used classification."""
    temperature: Positive = 0.1
    """Of the similarity, minus the squared L2 distance (TCC's published code)."""
    label_smoothing: BelowOne = 0.0
    """Share of the classification target spread over all frames of the video (TCC's published code has it, at 0)."""
    every_pair: bool = True
    """Cycle through every two videos of the batch, not only the two of each pair: more terms from the same frames."""
    time_contrast: NotNegative = 1.0
    """Weight of the time-contrastive loss across videos (after sequence contrastive learning, Chen et al. 2022): frames
    at like shares of their videos attract, others repel. Gives the waiting hand an order, which TCC alone collapses."""
    time_width: Positive = 0.1
    """Standard deviation of "like shares" as a part of the video's length: the speeds of people differ."""
    composites: NotNegative = 0.5
    """Synthetic composites for each frame of the batch, put together from two times of a video. In the contrastive loss
    they are negatives for every frame; without them the hand alone may look like the task done. Not in the paper."""
    shift: Whole = 4
    """Largest random shift in pixels, one for all frames of a video."""
    brightness: BelowOne = 0.1
    """Largest random change of brightness, one for all frames of a video."""
    schedule: Literal["constant", "cosine"] = "cosine"
    """Learning rate over the updates; cosine falls to 2% after a rise over the first 100 updates."""
    weight_decay: NotNegative = 0.0
    """Of AdamW; 0 is Adam."""
    averaging: BelowOne = 0.99
    """Decay of the running average of the weights that is evaluated and kept; 0 keeps the weights themselves."""


_FRAMES = 24  # of a video in a batch, about

RECIPES = {
    "default": Recipe(),
    "paper": Recipe(
        updates=20_000,
        batch_size=4,
        subsampling=8,
        learning_rate=1e-4,
        every_pair=False,
        time_contrast=0.0,
        composites=0.0,
        shift=0,
        brightness=0.0,
        schedule="constant",
        averaging=0.0,
    ),
}


def resolved(recipe: Recipe, lengths: Sequence[int]) -> Recipe:
    """The recipe for videos of these lengths."""
    if recipe.subsampling is not None:
        return recipe
    return replace(recipe, subsampling=max(1, round(median(lengths) / _FRAMES)))
