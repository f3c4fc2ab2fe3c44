"""Pictures of an alignment: matched frames side by side, distances between two videos, tau of every pair."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from vision_pwil.system.files import replacing
from vision_pwil.tcc import alignment

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save(figure: "Figure", path: Path) -> None:
    """Write a figure as an image."""
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=110)


def _figure(size: tuple[float, float]) -> "Figure":
    from matplotlib.figure import Figure  # imports slowly

    return Figure(figsize=size, layout="constrained")


def strip(video: np.ndarray, other: np.ndarray, match: np.ndarray, columns: int = 12) -> np.ndarray:
    """Frames of a video at even times, and under each the frame of the other video it is matched with."""
    from vision_pwil.system.vision import make_grid  # imports slowly

    chosen = np.linspace(0, len(video) - 1, columns).round().astype(int)
    frames = torch.from_numpy(np.concatenate([video[chosen], other[match[chosen]]])).permute(0, 3, 1, 2)
    return make_grid(frames, nrow=columns, padding=0).permute(1, 2, 0).numpy()


def distances(u: np.ndarray, v: np.ndarray, title: str) -> "Figure":
    """L2 distances between the frames of two embedded videos, and the nearest neighbours: a rising curve is good."""
    figure = _figure((5, 4.2))
    axes = figure.add_subplot(title=title, xlabel="frame of the first video", ylabel="frame of the second video")
    image = axes.imshow(alignment.distances(u, v).T, origin="lower", aspect="auto", cmap="viridis")
    axes.plot(np.arange(len(u)), alignment.nearest(u, v), ".", color="white", markersize=3)
    figure.colorbar(image, label="L2 distance")
    return figure


def taus(matrix: np.ndarray, labels: list[int]) -> "Figure":
    """Kendall's tau of every ordered pair: one video that aligns badly shows as a row and a column."""
    size = 2.5 + 0.35 * len(labels)
    figure = _figure((size + 0.8, size))
    axes = figure.add_subplot(
        title=f"Kendall's tau, mean {np.nanmean(matrix):.3f}", xlabel="matched to", ylabel="video"
    )
    image = axes.imshow(matrix, vmin=min(0.5, float(np.nanmin(matrix))), vmax=1.0, cmap="viridis")
    axes.set_xticks(range(len(labels)), [str(label) for label in labels])
    axes.set_yticks(range(len(labels)), [str(label) for label in labels])
    figure.colorbar(image)
    return figure


def curves(runs: Mapping[str, Sequence[Mapping[str, float]]], paper: tuple[float, float] = (0.98, 0.91)) -> "Figure":
    """Tau of the training and the validation videos over the updates of each run; dotted: the paper's figures."""
    figure = _figure((9, 3.6))
    for axes, name, reached in zip(figure.subplots(1, 2, sharey=True), ("train", "validation"), paper, strict=True):
        for label, rows in runs.items():
            axes.plot([row["updates"] for row in rows], [row[f"tau_{name}"] for row in rows], marker=".", label=label)
        axes.axhline(reached, color="black", linestyle=":", linewidth=1)
        axes.set(title=f"{name} videos", xlabel="updates", ylabel="Kendall's tau")
        axes.grid(alpha=0.3)
    figure.axes[0].legend()
    return figure
