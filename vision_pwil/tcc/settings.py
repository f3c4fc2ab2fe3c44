"""The settings of one training of an encoder."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from vision_pwil.demonstrations.options import Options
from vision_pwil.system.settings import Count, Settings, Whole
from vision_pwil.tcc.recipes import Recipe


@dataclass(frozen=True)
class TrainConfig(Settings):
    """One training."""

    demos: Path
    """Demonstrations: any format that `vision-pwil demonstrations inspect` reads, a folder of videos among them."""
    out: Path
    """Folder of the run; a run that is there already goes on."""
    reading: Options = field(default_factory=Options)
    recipe: Literal["default", "paper"] = "default"
    """Where the settings start from; each of them may be changed beside it."""
    settings: Recipe = field(default_factory=Recipe)
    """The recipe's settings."""
    validation: Count | None = None
    """Videos held out to select the encoder; by default one in five, as in the paper (5 of 25), and at least 2. Of two
    or three videos none is held out, and the last encoder is kept."""
    fold: Whole = 0
    """Which part of the shuffled videos is held out: 0 to 4 with 5 of 25."""
    iteration: Count = 1_000
    """Updates between two measurements of tau (the paper's iteration); the run is saved then, too."""
    patience: Whole | None = None
    """Stop early after so many iterations without a better validation tau; None goes on to the end."""
    seed: Whole = 0
    """Of the split, the initial weights, and the batches."""
    device: str = "cpu"
    """Where the learner computes, as torch names it: cpu, cuda, cuda:1; the encoder is kept for the CPU."""
    threads: Count | None = None
    """Of torch; None takes one for each core. The same number repeats a run to the last bit."""
