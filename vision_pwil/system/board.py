"""TensorBoard: its page of custom scalars, animated GIFs (its own `add_video` needs moviepy), rewards of an episode."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import imageio.v3 as imageio
import numpy as np

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

TensorBoard merges the layouts of all runs in a folder by their titles: this one is for encoders and agents alike.
"""


def open_writer(folder: Path, step: int) -> "SummaryWriter":
    """A writer of events with the layout; where a run goes on from `step`, what was written after it is hidden."""
    from torch.utils.tensorboard import SummaryWriter  # imports slowly

    writer = SummaryWriter(str(folder), purge_step=step + 1 if step else None)
    # TensorBoard takes tags as regular expressions and matches their beginnings: `$` keeps train/loss from more.
    charts = {
        category: {title: ["Multiline", [f"{tag}$" for tag in tags]] for title, tags in charts.items()}
        for category, charts in LAYOUT.items()
    }
    writer.add_custom_scalars(charts)
    return writer


class Board:
    """Writes a run's events, from `step` on."""

    def __init__(self, folder: Path, step: int) -> None:
        self._writer = open_writer(folder, step)

    def scalars(self, prefix: str, values: Mapping[str, float], step: int) -> None:
        """Numbers under `prefix/`."""
        for name, value in values.items():
            self._writer.add_scalar(f"{prefix}/{name}", value, step)

    def video(self, tag: str, gif: bytes, shape: tuple[int, int], step: int) -> None:
        """An animated GIF; TensorBoard plays it as an image."""
        from tensorboard.compat.proto.summary_pb2 import Summary

        image = Summary.Image(height=shape[0], width=shape[1], colorspace=3, encoded_image_string=gif)
        self._writer._get_file_writer().add_summary(Summary(value=[Summary.Value(tag=tag, image=image)]), step)

    def curve(self, tag: str, values: np.ndarray, step: int) -> None:
        """A small plot of values along an episode."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(5, 2.5), layout="constrained")
        axes = figure.add_subplot(xlabel="step of the episode", ylabel="reward")
        axes.plot(values, linewidth=1)
        self._writer.add_figure(tag, figure, step, close=False)

    def flush(self) -> None:
        """Write what is buffered."""
        self._writer.flush()

    def close(self) -> None:
        """Write what is buffered and end."""
        self._writer.close()


def gif(frames: np.ndarray, stride: int = 5, milliseconds: int = 50) -> bytes:
    """Frames (n, height, width, 3) as an animated GIF, one in `stride`, and always the last."""
    chosen = frames[(len(frames) - 1) % stride :: stride]
    buffer = io.BytesIO()
    imageio.imwrite(buffer, chosen, extension=".gif", duration=milliseconds, loop=0)
    return buffer.getvalue()
