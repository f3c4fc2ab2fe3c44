"""TensorBoard: its page of custom scalars, animated GIFs (its own `add_video` needs moviepy), rewards of an episode."""

import io
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import imageio.v3 as imageio
import numpy as np

from vision_pwil.system.files import parsing, read_json, write_json

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

LAYOUT: dict[str, dict[str, tuple[str, ...]]] = {
    "Imitation": {
        "imitation return, and that of held-out demonstrations": ("eval/return", "held_out/return"),
        "Wasserstein distance, its greedy bound, and that of held-out demonstrations": (
            "eval/w1",
            "eval/greedy_w1",
            "held_out/w1",
        ),
        "success on the door: opened, and 1.35 rad": ("eval/opened", "eval/success"),
        "the task's own return": ("eval/task_return",),
    },
    "Alignment of videos (TCC)": {
        "Kendall's tau, training and validation videos": ("tau/train", "tau/validation"),
        "losses": ("train/loss", "train/cycle", "train/time_contrast"),
        "updates a second": ("train/updates_per_second",),
    },
    "Exploring episodes": {
        "imitation return": ("train/return",),
        "opened": ("train/opened",),
        "steps": ("train/steps",),
    },
    "Learner": {
        "critic's loss": ("losses/critic_loss",),
        "actor's loss": ("losses/actor_loss",),
        "values": ("losses/value",),
        "entropy": ("losses/entropy",),
    },
    "Speed": {
        "steps a second": ("perf/steps_per_second",),
        "milliseconds an update": ("perf/update_milliseconds",),
        "share of time that the learner waits": ("perf/learner_waits",),
    },
}
"""Categories and charts of TensorBoard's page "Custom Scalars", with the tags that a chart draws.

TensorBoard merges the charts of all runs in a folder, and takes each run's last layout: a run names those charts whole
of which it has a number, so that none is empty and those of encoders and agents fit together.
"""
APART = {"eval/greedy_w1": "bound", "held_out/return": "held-out", "held_out/w1": "held-out"}
"""Numbers with events in a folder of their own: TensorBoard gives each folder, not each number, its colour."""
_TAGS = "tags.json"


def open_writer(folder: Path, step: int) -> "SummaryWriter":
    """A writer of events; where a run goes on from `step`, what was written after it is hidden."""
    from torch.utils.tensorboard import SummaryWriter  # imports slowly

    threading.excepthook = _end_of_thread
    return SummaryWriter(str(folder), purge_step=step + 1 if step else None)


def _end_of_thread(ended: threading.ExceptHookArgs) -> None:
    """A full disk ends the thread in which TensorBoard writes, and our next write raises the same error: said once."""
    if not issubclass(ended.exc_type, OSError):
        threading.__excepthook__(ended)


def lay_out(writer: "SummaryWriter", known: set[str]) -> None:
    """Write the layout of the charts of which at least one tag is known."""
    # TensorBoard takes tags as regular expressions and matches their beginnings: `$` keeps train/loss from more.
    charts = {
        category: {
            title: ["Multiline", [f"{tag}$" for tag in tags]] for title, tags in charts.items() if known & {*tags}
        }
        for category, charts in LAYOUT.items()
    }
    writer.add_custom_scalars({category: shown for category, shown in charts.items() if shown})


class Board:
    """Writes a run's events, from `step` on."""

    def __init__(self, folder: Path, step: int) -> None:
        self._folder, self._step = folder, step
        self._writers = {"": open_writer(folder, step)}
        self._tags: set[str] = set()
        if step and (folder / _TAGS).exists():
            with parsing(folder / _TAGS, "list of charts"):
                self._tags = {str(tag) for tag in read_json(folder / _TAGS)["tags"]}
        self._laid_out: set[str] = set()

    def scalars(self, prefix: str, values: Mapping[str, float], step: int) -> None:
        """Numbers under `prefix/`."""
        for name, value in values.items():
            tag = f"{prefix}/{name}"
            place = APART.get(tag, "")
            if place not in self._writers:
                self._writers[place] = open_writer(self._folder / place, self._step)
            self._writers[place].add_scalar(tag, value, step)
            self._tags.add(tag)

    def video(self, tag: str, gif: bytes, shape: tuple[int, int], step: int) -> None:
        """An animated GIF; TensorBoard plays it as an image."""
        from tensorboard.compat.proto.summary_pb2 import Summary

        image = Summary.Image(height=shape[0], width=shape[1], colorspace=3, encoded_image_string=gif)
        self._writers[""]._get_file_writer().add_summary(Summary(value=[Summary.Value(tag=tag, image=image)]), step)

    def curve(self, tag: str, values: np.ndarray, step: int) -> None:
        """A small plot of values along an episode."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(5, 2.5), layout="constrained")
        axes = figure.add_subplot(xlabel="step of the episode", ylabel="reward")
        axes.plot(values, linewidth=1)
        self._writers[""].add_figure(tag, figure, step, close=False)

    def flush(self) -> None:
        """Write what is buffered."""
        if self._tags != self._laid_out:
            lay_out(self._writers[""], self._tags)
            write_json(self._folder / _TAGS, {"tags": sorted(self._tags)})
            self._laid_out = set(self._tags)
        for writer in self._writers.values():
            writer.flush()

    def close(self) -> None:
        """Write what is buffered and end."""
        self.flush()
        for writer in self._writers.values():
            writer.close()


def gif(frames: np.ndarray, stride: int = 5, milliseconds: int = 50) -> bytes:
    """Frames (n, height, width, 3) as an animated GIF, one in `stride`, and always the last."""
    chosen = frames[(len(frames) - 1) % stride :: stride]
    buffer = io.BytesIO()
    imageio.imwrite(buffer, chosen, extension=".gif", duration=milliseconds, loop=0)
    return buffer.getvalue()
