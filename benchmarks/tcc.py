"""Encoder training against the machine's own convolutions: `python -m benchmarks.tcc`.

The yardstick is a bare loop of the same network on the same batch, forward and backward, input ready in memory. A
whole TCC update also draws and augments the frames, computes the losses, and moves the weights and their average.
Bare loop and update take turns, so that other work on the machine slows both alike; medians are compared.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch

from benchmarks.report import write_report
from vision_pwil.system.cli import run
from vision_pwil.system.malloc import keep_freed_memory
from vision_pwil.system.table import table
from vision_pwil.tcc.learner import Learner
from vision_pwil.tcc.recipes import RECIPES
from vision_pwil.tcc.sampling import sample


@dataclass(frozen=True)
class BenchmarkConfig:
    """What to measure."""

    rounds: int = 15
    """Turns of bare loop and update."""
    videos: int = 20
    """Videos of noise to draw from, 157 to 278 frames long as the door's."""
    threads: int | None = None
    """Of torch; None takes one for each core."""
    out: Path = Path("results/tcc/throughput")
    """Folder of the report."""


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(config: BenchmarkConfig, recipe_name: str) -> dict[str, float]:
    """Frames a second of the bare loop and of the update, and their ratio."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(157, 279, config.videos)
    videos = [rng.integers(0, 256, (int(length), 84, 84, 3), dtype=np.uint8) for length in lengths]
    recipe = RECIPES[recipe_name]
    learner = Learner(videos, recipe, seed=0)
    frames = torch.from_numpy(np.concatenate([video[:: recipe.subsampling or 8] for video in videos]))
    network, normalise = learner.encoder.network, learner.encoder.normalise

    def bare(pixels: torch.Tensor) -> None:
        learner.encoder.zero_grad()
        network(pixels).sum().backward()

    ratios, bare_rates, update_rates = [], [], []
    for turn in range(-2, config.rounds):  # the first two warm up
        count = sum(sample(learner.videos, recipe, learner.seed, learner.updates).lengths)  # of the coming update
        pixels = normalise(frames[torch.arange(count) % len(frames)])
        bare_seconds = _seconds(partial(bare, pixels))
        update_seconds = _seconds(learner.update)
        if turn >= 0:
            bare_rates.append(count / bare_seconds)
            update_rates.append(count / update_seconds)
            ratios.append(bare_seconds / update_seconds)
    rates = {"bare": bare_rates, "update": update_rates, "ratio": ratios}
    return {name: float(np.median(values)) for name, values in rates.items()}


def main(config: BenchmarkConfig) -> None:
    """Measure both recipes and print the outcome."""
    keep_freed_memory()
    if config.threads is not None:
        torch.set_num_threads(config.threads)
    results = {name: measure(config, name) for name in RECIPES}
    rows = [
        (name, f"{rates['bare']:.0f}", f"{rates['update']:.0f}", f"{rates['ratio']:.0%}")
        for name, rates in results.items()
    ]
    lines = table(("recipe", "convolutions alone, frames/s", "whole update, frames/s", "ratio (goal: 70%)"), rows)
    print(lines)
    summary = {"threads": torch.get_num_threads(), "recipes": results}
    title = "A TCC update against its own convolutions, forward and backward"
    write_report(config.out, title, [lines], summary, "benchmarks.tcc")


if __name__ == "__main__":
    run(main)
