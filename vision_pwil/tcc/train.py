"""Learn a frame encoder from videos: `python -m vision_pwil.tcc.train --demos ... --out ...`.

Works on any demonstrations with frames (a folder of videos too); those of the door are rendered first. The folder
`--out` gets `encoder.safetensors` (the encoder with the highest validation tau so far), `curve.csv`, `summary.json`,
TensorBoard events, and a checkpoint from which the same command goes on, bit for bit, after an interruption.
"""

import shlex
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import torch
import tyro

from vision_pwil.demonstrations import Demonstrations
from vision_pwil.demonstrations.options import Options
from vision_pwil.encoder import Provenance
from vision_pwil.system import checkpoint, cli
from vision_pwil.system.board import open_writer
from vision_pwil.system.device import require_device
from vision_pwil.system.errors import Interrupted
from vision_pwil.system.files import parsing
from vision_pwil.system.interrupt import asked_to_stop
from vision_pwil.system.malloc import keep_freed_memory
from vision_pwil.system.progress import progress
from vision_pwil.system.run import Row, Run
from vision_pwil.system.settings import Count, Settings, Whole
from vision_pwil.tcc.alignment import kendall_tau, typical_distance
from vision_pwil.tcc.board import write_alignment, write_projector
from vision_pwil.tcc.learner import Learner
from vision_pwil.tcc.recipes import RECIPES, Recipe
from vision_pwil.tcc.sampling import split
from vision_pwil.tcc.videos import read_videos, require_videos

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

_LOG_EVERY = 20  # updates between two points of the loss
# Median distance from a held-out frame to the nearest training frame, in the encoder that is kept. TCC leaves the scale
# of an embedding open; at this one the paper's beta of 1 gives an expert about half of the largest reward: the frames
# that a step is coupled with lie some three times as far as the nearest one.
_TYPICAL_DISTANCE = 0.25


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


class Session:
    """What one process does for a run: updates, and after each iteration tau, the best encoder, the checkpoint."""

    def __init__(self, config: TrainConfig, demonstrations: Demonstrations, folder: Run) -> None:
        self.config, self.demonstrations, self.folder = config, demonstrations, folder
        self.videos = [episode.frames for episode in demonstrations.episodes if episode.frames is not None]
        self.training, self.held_out = split(len(self.videos), config.validation, config.fold, config.seed)
        self.learner = Learner([self.videos[i] for i in self.training], config.settings, config.seed, config.device)
        self.encoder_path = folder.path / "encoder.safetensors"
        self.rows: list[Row] = []
        self.seconds = 0.0
        if folder.checkpoint.exists():
            tensors, values = checkpoint.load(folder.checkpoint)
            with parsing(folder.checkpoint, "checkpoint of this run"):
                self.learner.load(tensors, int(values["updates"]))
                self.rows = [{name: row[name] + 0 for name in self._columns} for row in values["rows"]]
                self.seconds = float(values["seconds"])

    @property
    def _columns(self) -> tuple[str, ...]:
        """Of the curve."""
        return ("updates", "tau_train", *(["tau_validation"] if self.held_out else []), "seconds")

    @property
    def best(self) -> Row | None:
        """The iteration with the highest validation tau, the first of equals; the last one where none is held out."""
        if not self.held_out:
            return self.rows[-1] if self.rows else None
        return max(self.rows, key=lambda row: row["tau_validation"], default=None)

    @property
    def finished(self) -> bool:
        """All updates are done, or validation tau has not risen for too long."""
        if self.learner.updates >= self.config.settings.updates:
            return True
        patience, best = self.config.patience, self.best
        return patience is not None and best is not None and len(self.rows) - 1 - self.rows.index(best) >= patience

    def run(self) -> None:
        """Go on to the end, or until Ctrl-C, which saves and raises `Interrupted`."""
        learner, last = self.learner, self.config.settings.updates
        started = time.perf_counter() - self.seconds
        bar = progress(total=last, initial=learner.updates, desc="tcc", unit="update", smoothing=0.05)
        with asked_to_stop() as stop, open_writer(self.folder.events, learner.updates) as writer, bar:
            while not (self.finished or stop.is_set()):
                metrics = learner.update()
                bar.update()
                self.seconds = time.perf_counter() - started
                if learner.updates % _LOG_EVERY == 0:
                    told = bar.format_dict
                    pace = told["rate"] or (told["n"] - told["initial"]) / told["elapsed"]  # none before a line
                    rate = {"updates_per_second": pace}
                    for name, value in {**metrics, **rate}.items():
                        writer.add_scalar(f"train/{name}", value, learner.updates)
                if learner.updates % self.config.iteration == 0 or learner.updates == last:
                    row = self._measure(writer)
                    self._save()
                    bar.set_postfix_str(taus(row))
            if not self.finished:
                self._save()
                raise Interrupted(f"Saved after {learner.updates} updates; the same command goes on.")

    def _measure(self, writer: "SummaryWriter") -> Row:
        updates = self.learner.updates
        embedded = [self.learner.product.embed(video) for video in self.videos]
        parts = [part for part in (self.training, self.held_out) if part]
        measured = [kendall_tau([embedded[i] for i in part]) for part in parts]
        row = dict(zip(self._columns, (updates, *measured, round(self.seconds, 1)), strict=True))
        self.rows.append(row)
        for name, tau in zip(("tau/train", "tau/validation"), measured, strict=False):
            writer.add_scalar(name, tau, updates)
        shown = [self.videos[i] for i in parts[-1]], [embedded[i] for i in parts[-1]]
        write_alignment(writer, *shown, updates)
        if self.best is row:
            judged = self.held_out or self.training[:1]  # where none is held out, one stands for a new video
            others = [embedded[i] for i in self.training if i not in judged]
            unit = typical_distance([embedded[i] for i in judged], others)
            self._keep(row, _TYPICAL_DISTANCE / unit if unit else 1.0)
            write_projector(writer, *shown, updates)
        return row

    def _keep(self, row: Row, scale: float) -> None:
        encoder = self.learner.product.rescaled(scale)
        encoder.provenance = Provenance(
            render_fingerprint=self.demonstrations.render_fingerprint,
            demonstrations=self.demonstrations.identity,
            validation=tuple(self.held_out),
            tau_train=row["tau_train"],
            tau_validation=row.get("tau_validation"),
            updates=self.learner.updates,
            settings=asdict(self.config.settings),
        )
        encoder.save(self.encoder_path)

    def _save(self) -> None:
        values = {"updates": self.learner.updates, "rows": self.rows, "seconds": self.seconds}
        checkpoint.save(self.folder.checkpoint, self.learner.tensors(), values)
        self.folder.write_curve(self.rows)
        summary = {"finished": self.finished, "best": self.best, "validation": self.held_out, "seconds": self.seconds}
        self.folder.write_summary(summary)


def train(config: TrainConfig, demonstrations: Demonstrations | None = None) -> Session:
    """Run or continue one training, on these demonstrations or on those that the settings name; it tells its tau."""
    keep_freed_memory()
    require_device(config.device)
    if config.threads is not None:
        torch.set_num_threads(config.threads)
    demonstrations = demonstrations or read_videos(config.demos, config.reading)
    require_videos(demonstrations)
    decisive = {
        "demonstrations": demonstrations.checksum,
        "render_fingerprint": demonstrations.render_fingerprint,
        **{name: getattr(config, name) for name in ("validation", "fold", "iteration", "seed")},
        "settings": asdict(config.settings),
    }
    with Run(config.out, decisive) as folder:
        session = Session(config, demonstrations, folder)
        session.run()
    return session


def taus(row: Row) -> str:
    """What was measured, in words."""
    if "tau_validation" in row:
        return f"validation tau {row['tau_validation']:.3f} (train {row['tau_train']:.3f})"
    return f"training tau {row['tau_train']:.3f} (no video is held out)"


def describe(session: Session) -> str:
    """Where the outcome lies, and how to look at it."""
    best, out = session.best, session.folder.path
    assert best is not None  # a session that ended has measured tau
    shown = ("--demos", str(session.config.demos), *session.config.reading.words())
    look = ("vision-pwil", "encoder", "evaluate", "--encoder", str(session.encoder_path), *shown)
    return (
        f"Finished: {taus(best)} after {best['updates']:.0f} updates in {session.encoder_path}.\n"
        f"See the alignment: {shlex.join((*look, '--out', str(out / 'alignment')))}\n"
        f"See the run: {shlex.join(('tensorboard', '--logdir', str(out)))}"
    )


@dataclass(frozen=True)
class RecipeChoice:
    """The option that decides the defaults of the others."""

    recipe: Literal["default", "paper"] = "default"


def command(config: TrainConfig) -> None:
    """Learn a frame encoder from videos."""
    print(describe(train(config)))


def main(
    args: Sequence[str],
    prog: str = "python -m vision_pwil.tcc.train",
    action: Callable[[TrainConfig], None] = command,
    about: str | None = __doc__,
) -> None:
    """An action as a command whose settings default to those of the recipe named on the command line."""
    recipe = cli.peek(RecipeChoice(), args).recipe
    default = TrainConfig(demos=tyro.MISSING, out=tyro.MISSING, recipe=recipe, settings=RECIPES[recipe])
    cli.run(cli.starting_from(action, default), args=args, prog=prog, description=about)


if __name__ == "__main__":
    main(sys.argv[1:])
