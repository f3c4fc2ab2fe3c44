"""The paper's search (appendix "Embedding") as one declared grid: 36 recipes, for whatever runs sweeps to execute."""

from dataclasses import replace
from itertools import product

from vision_pwil.tcc.recipes import RECIPES, Recipe

BATCH_SIZES = (1, 4, 16, 32)
SUBSAMPLINGS = (1, 4, 8)
LEARNING_RATES = (1e-2, 1e-3, 1e-4)


def grid(start: Recipe = RECIPES["paper"]) -> dict[str, Recipe]:
    """Every combination by name, the rest of the recipe as it is at the start."""
    return {
        f"batch{batch_size}-every{subsampling}-rate{learning_rate:g}": replace(
            start, batch_size=batch_size, subsampling=subsampling, learning_rate=learning_rate
        )
        for batch_size, subsampling, learning_rate in product(BATCH_SIZES, SUBSAMPLINGS, LEARNING_RATES)
    }
