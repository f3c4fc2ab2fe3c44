"""TensorBoard: scalars, animated GIFs (its own `add_video` needs moviepy), and the reward along an episode."""

import io
from collections.abc import Mapping
from pathlib import Path

import imageio.v3 as imageio
import numpy as np
from tensorboard.compat.proto.summary_pb2 import Summary
from torch.utils.tensorboard import SummaryWriter


class Board:
    """Writes a run's events; when a run goes on from `step`, what an earlier process wrote after it is hidden."""

    def __init__(self, folder: Path, step: int) -> None:
        self._writer = SummaryWriter(str(folder), purge_step=step + 1 if step else None)

    def scalars(self, prefix: str, values: Mapping[str, float], step: int) -> None:
        """Numbers under `prefix/`."""
        for name, value in values.items():
            self._writer.add_scalar(f"{prefix}/{name}", value, step)

    def video(self, tag: str, gif: bytes, shape: tuple[int, int], step: int) -> None:
        """An animated GIF; TensorBoard plays it as an image."""
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
