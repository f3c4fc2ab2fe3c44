"""The searches as data: which options take which values, of which command, ranked by which numbers."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import ClassVar, Literal

from vision_pwil.demonstrations.returns import expert_return
from vision_pwil.sweep.trial import Setting, Trial
from vision_pwil.system.errors import InputError
from vision_pwil.system.run import Row
from vision_pwil.system.settings import Count, Positive, Settings, Whole
from vision_pwil.tcc import grid

TEN_SEEDS = tuple(range(10))


@dataclass(frozen=True, kw_only=True)
class Search(Settings):
    """What every search has."""

    out: Path
    """Directory of the sweep; what is there already is not done again. On a cluster it lies on storage that every node
    sees under the same path, and so do the working directory and the demonstrations."""
    address: str | None = None
    """Of a running Ray cluster, HOST:PORT; by default Ray is started on this machine, for this sweep only."""
    cpus: Count | None = None
    """Cores of this machine that the sweep may take, all by default; a cluster knows its own."""
    cpus_per_trial: Count = 1
    """Cores that each trial takes."""
    retries: Whole = 3
    """How often a trial may be lost with its node (or be killed) and go on elsewhere from its checkpoint."""
    seeds: tuple[Whole, ...] = (0,)
    """Every setting is tried with each of these seeds."""

    module: ClassVar[str]
    option: ClassVar[str] = "--run"
    axes: ClassVar[Mapping[str, str]]
    """Fields whose values are combined, and the options of the command that take them."""
    time: ClassVar[str] = "step"
    """Column of the curve that counts the work done."""
    numbers: ClassVar[tuple[str, ...]]
    """Numbers to rank by, the first decides; higher is better."""

    def trials(self, passed: tuple[str, ...] = ()) -> list[Trial]:
        """Every combination, as commands that get the arguments passed on, too."""
        values = [tuple(dict.fromkeys(getattr(self, field))) for field in self.axes]
        if not all(values):
            raise InputError("Each option of a search needs at least one value.")
        found = []
        for combination in product(*values):
            settings: dict[str, Setting] = dict(zip(self.axes.values(), combination, strict=True))
            options = [text for name, value in settings.items() for text in (_flag(name), str(value))]
            name = "_".join(f"{name.replace('_', '-')}-{value}" for name, value in settings.items())
            arguments = (*self.fixed(settings), *options, *passed)
            found.append(Trial(settings, self.module, arguments, self.option, self.out / "trials" / name))
        return found

    def fixed(self, settings: Mapping[str, Setting]) -> list[str]:
        """Arguments that are not searched over."""
        raise NotImplementedError

    def measured(self, trial: Trial) -> list[Row]:
        """The curve of a trial, with every number to rank by."""
        return trial.curve()

    def outcome(self, rows: list[Row]) -> Row:
        """The measurement that a trial is judged by."""
        return rows[-1]


@dataclass(frozen=True, kw_only=True)
class TccPaperGrid(Search):
    """The paper's search for an encoder (appendix "Embedding"), ranked by the validation videos' Kendall's tau."""

    demos: Path
    """Demonstrations, as in `vision-pwil encoder train`."""
    out: Path = Path("runs/sweeps/tcc-paper-grid")
    recipe: Literal["paper", "default"] = "paper"
    """Where the settings that are not searched over come from."""
    batch_sizes: tuple[Count, ...] = grid.BATCH_SIZES
    """Pairs of videos in an update."""
    subsamplings: tuple[Count, ...] = grid.SUBSAMPLINGS
    """Every how many frames of a video enter a batch."""
    learning_rates: tuple[Positive, ...] = grid.LEARNING_RATES
    """Of Adam."""

    module = "vision_pwil.tcc.train"
    option = "--out"
    axes: ClassVar[Mapping[str, str]] = {
        "batch_sizes": "batch_size",
        "subsamplings": "subsampling",
        "learning_rates": "learning_rate",
        "seeds": "seed",
    }
    time = "updates"
    numbers = ("tau_validation", "tau_train")

    def fixed(self, settings: Mapping[str, Setting]) -> list[str]:
        """One thread for each core: the number of threads decides the last bits."""
        return ["--recipe", self.recipe, "--demos", str(self.demos), "--threads", str(self.cpus_per_trial)]

    def outcome(self, rows: list[Row]) -> Row:
        """The best iteration: it is the encoder that is kept."""
        return max(rows, key=lambda row: row["tau_validation"])


@dataclass(frozen=True, kw_only=True)
class DoorSeeds(Search):
    """The paper's ten seeds of the door (section "Door Opening Task"), ranked by the share of episodes that open it."""

    demos: Path | None = None
    """Demonstrations, as in `python -m vision_pwil.train_door`; by default those that come with the package."""
    out: Path = Path("runs/sweeps/door-seeds")
    recipe: Literal["default", "paper"] = "default"
    """Where the settings come from."""
    cpus_per_trial: Count = 2
    """Cores that each trial takes: it plays and learns side by side."""
    seeds: tuple[Whole, ...] = TEN_SEEDS

    module = "vision_pwil.train_door"
    axes: ClassVar[Mapping[str, str]] = {"seeds": "seed"}
    numbers = ("opened", "return")

    def fixed(self, settings: Mapping[str, Setting]) -> list[str]:
        """Recipe and demonstrations."""
        return ["--recipe", self.recipe, *(["--demos", str(self.demos)] if self.demos else [])]


@dataclass(frozen=True, kw_only=True)
class DoorSacGrid(DoorSeeds):
    """The paper's search for the door's agent (appendix "Agent"), ranked by the share of episodes that open it."""

    out: Path = Path("runs/sweeps/door-sac-grid")
    recipe: Literal["default", "paper"] = "paper"
    seeds: tuple[Whole, ...] = (0,)
    actor_learning_rates: tuple[Positive, ...] = (1e-4, 3e-4)
    """Lambda_a."""
    critic_learning_rates: tuple[Positive, ...] = (1e-4, 3e-4)
    """Lambda_c."""
    temperature_learning_rates: tuple[Positive, ...] = (1e-4, 3e-4)
    """Lambda_alpha."""
    polyaks: tuple[Positive, ...] = (0.01, 0.005)
    """Tau, at which the target critics follow."""
    batch_sizes: tuple[Count, ...] = (64, 128, 256)
    """Transitions in an update."""
    update_intervals: tuple[int, ...] = (1, 4, 8)
    """Environment steps for each update."""

    axes: ClassVar[Mapping[str, str]] = {
        "actor_learning_rates": "actor_learning_rate",
        "critic_learning_rates": "critic_learning_rate",
        "temperature_learning_rates": "temperature_learning_rate",
        "polyaks": "polyak",
        "batch_sizes": "batch_size",
        "update_intervals": "update_interval",
        "seeds": "seed",
    }


@dataclass(frozen=True, kw_only=True)
class LocomotionPaper(Search):
    """The paper's main experiment (section "Experiments"): D4PG on PWIL in six environments, from 1, 4 and 11
    demonstrations, ten seeds each; ranked by the task's return over the expert's."""

    demos: Path | None = None
    """Folder with a file of demonstrations for each environment, named after it (Hopper-v5.npz); by default those that
    come with the package."""
    out: Path = Path("runs/sweeps/locomotion-paper")
    cpus_per_trial: Count = 2
    """Cores that each trial takes: it plays and learns side by side."""
    seeds: tuple[Whole, ...] = TEN_SEEDS
    envs: tuple[str, ...] = ("Ant-v5", "HalfCheetah-v5", "Hopper-v5", "Humanoid-v5", "Reacher-v5", "Walker2d-v5")
    """Environments."""
    num_demos: tuple[Count, ...] = (1, 4, 11)
    """Demonstrations to learn from."""

    module = "vision_pwil.train_locomotion"
    axes: ClassVar[Mapping[str, str]] = {"envs": "env", "num_demos": "num_demos", "seeds": "seed"}
    numbers = ("of_expert", "task_return")

    def fixed(self, settings: Mapping[str, Setting]) -> list[str]:
        """The environment's demonstrations, and a thread for each core."""
        file = self._file(str(settings["env"]))
        return ["--threads", str(self.cpus_per_trial), *(["--demos", str(file)] if file else [])]

    def measured(self, trial: Trial) -> list[Row]:
        """The curve, with the task's return over the expert's where the file of the demonstrations tells that."""
        file = self._file(str(trial.settings["env"]))
        expert = _expert_return(file) if file else None
        return [{**row, "of_expert": share(row["task_return"], expert)} for row in trial.curve()]

    def _file(self, env: str) -> Path | None:
        if self.demos is None:
            return None
        files = sorted(self.demos.glob(f"{env.rpartition(':')[2].replace('/', '-')}.*"))
        if not files:
            raise InputError(f"{self.demos} has no demonstrations of {env}: a file named {env}.npz is looked for.")
        return files[0]


def share(achieved: float, expert: float | None) -> float:
    """Return over the expert's, 1 being as good; of negative returns (Reacher's) the inverse, so that higher is better.

    NaN where the expert's is not known.
    """
    if not expert:
        return math.nan
    return achieved / expert if expert > 0 else expert / min(achieved, -1e-9)


_expert_return = cache(expert_return)  # asked for at every redrawing of the live table


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
