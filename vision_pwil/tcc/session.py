"""One training of an encoder: updates, and after each iteration tau, the best encoder so far, and a checkpoint."""

import time
from dataclasses import asdict
from typing import TYPE_CHECKING

import torch

from vision_pwil.demonstrations import Demonstrations
from vision_pwil.encoder import Provenance
from vision_pwil.system import checkpoint
from vision_pwil.system.board import lay_out, open_writer
from vision_pwil.system.device import require_device
from vision_pwil.system.errors import Interrupted
from vision_pwil.system.files import parsing
from vision_pwil.system.interrupt import asked_to_stop
from vision_pwil.system.malloc import keep_freed_memory
from vision_pwil.system.progress import progress
from vision_pwil.system.run import Row, Run
from vision_pwil.tcc.alignment import kendall_tau, typical_distance
from vision_pwil.tcc.board import write_alignment, write_projector
from vision_pwil.tcc.learner import Learner
from vision_pwil.tcc.sampling import split
from vision_pwil.tcc.settings import TrainConfig
from vision_pwil.tcc.videos import read_videos, require_videos

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

_LOG_EVERY = 20  # updates between two points of the loss
# Median distance from a held-out frame to the nearest training frame, in the encoder that is kept. TCC leaves the scale
# of an embedding open; at this one the paper's beta of 1 gives an expert about half of the largest reward: the frames
# that a step is coupled with lie some three times as far as the nearest one.
_TYPICAL_DISTANCE = 0.25


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
            lay_out(writer, {"tau/train", "train/loss", "train/updates_per_second"})
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
