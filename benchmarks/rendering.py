"""The door's frames: from Gymnasium's `render()` to this package's, every step of the way timed in one run.

    python -m benchmarks.rendering [--out results/rendering]

Every figure is the best of several rounds over the same states, in milliseconds a frame, the rows taken in turn so that
other work on the machine falls on all of them; "times faster" is against the faster of Gymnasium's two rows. Beside the
time stands the structural similarity (SSIM) to the full-quality frame without shadows: 1 is the same picture. A
side-by-side picture is written with the table.
"""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import imageio.v3 as iio
import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from benchmarks.report import write_report
from vision_pwil.door_env import DoorEnv
from vision_pwil.envs.meshes import triangle_count
from vision_pwil.envs.renderer import DoorRenderer, RenderSettings
from vision_pwil.system import cli
from vision_pwil.system.files import replacing

# isort: split
import mujoco

SHIPPED = RenderSettings(
    shadows=True, reflections=True, samples=8, slices=28, stacks=16, quads=4, triangles=0
)  # AdroitHandDoor's own quality
PLAIN = replace(SHIPPED, shadows=False, reflections=False)
FAST = RenderSettings()
STEPS = {
    "without physics, the size of a frame": SHIPPED,
    "no shadows, no reflections": PLAIN,
    "no multisampling": replace(PLAIN, samples=FAST.samples),
    "coarser round shapes": replace(FAST, triangles=0),
    "simplified meshes: the default": FAST,
}

# Runs without this package, in the environment a Gymnasium user has, and answers each line on its input with a time.
_GYMNASIUM = """
import json, sys, time
import gymnasium, gymnasium_robotics
gymnasium.register_envs(gymnasium_robotics)
env = gymnasium.make("AdroitHandDoor-v1", render_mode="rgb_array", width=84, height=84)
env.reset(seed=0)
env.render()
for line in sys.stdin:
    start = time.perf_counter()
    for _ in range(int(line)):
        env.render()
    print(json.dumps((time.perf_counter() - start) / int(line)), flush=True)
"""


class Gymnasium:
    """`gym.make("AdroitHandDoor-v1", ...).render()` in a process of its own."""

    def __init__(self, **environment: str) -> None:
        inherited = {name: value for name, value in os.environ.items() if name != "LP_NUM_THREADS"}
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", _GYMNASIUM],
            env=inherited | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def seconds(self, frames: int) -> float:
        """Seconds a frame, over so many of them."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{frames}\n")
        self._process.stdin.flush()
        return float(json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def states(count: int, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Joint positions and the door's places: random play, with the door swung open little by little."""
    env = DoorEnv(horizon=10 * count)
    env.reset(seed=seed)
    env.action_space.seed(seed)
    taken = []
    for _ in range(count):
        action = env.action_space.sample()
        for _ in range(10):
            env.step(action)
        taken.append(env.get_state())
    qpos = np.array([state["qpos"] for state in taken])
    qpos[:, -2] = np.linspace(0, 1.2, count)  # the hinge
    return qpos, np.array([state["door_body_pos"] for state in taken])


def structural_similarity(frames: NDArray[np.uint8], others: NDArray[np.uint8]) -> NDArray[np.float64]:
    """SSIM of each pair of frames (Wang et al. 2004: Gaussian window of 1.5 pixels, K1 = 0.01, K2 = 0.03)."""

    def blur(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return gaussian_filter(values, 1.5, axes=(-3, -2), truncate=3.5)

    x, y = frames.astype(np.float64), others.astype(np.float64)
    mean_x, mean_y = blur(x), blur(y)
    variance_x, variance_y = blur(x * x) - mean_x**2, blur(y * y) - mean_y**2
    covariance = blur(x * y) - mean_x * mean_y
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    index = (2 * mean_x * mean_y + c1) * (2 * covariance + c2)
    index /= (mean_x**2 + mean_y**2 + c1) * (variance_x + variance_y + c2)
    return index.mean(axis=(-3, -2, -1))


def measure(
    qpos: NDArray[np.float64], places: NDArray[np.float64], rounds: int
) -> tuple[dict[str, float], dict[str, NDArray[np.uint8]], dict[str, int]]:
    """Best seconds a frame, the frames, and the triangles of the meshes, by the name of the row."""
    gymnasium = {
        "Gymnasium's render()": Gymnasium(),
        "Gymnasium's render(), in one thread": Gymnasium(LP_NUM_THREADS="0"),
    }
    renderers = {name: DoorRenderer(settings) for name, settings in STEPS.items()}
    seconds = dict.fromkeys([*gymnasium, *renderers], np.inf)
    frames = {name: renderer.render_many(qpos, places) for name, renderer in renderers.items()}
    for _ in range(rounds):
        for name, process in gymnasium.items():
            seconds[name] = min(seconds[name], process.seconds(frames=10))
        for name, renderer in renderers.items():
            start = perf_counter()
            for position, place in zip(qpos, places, strict=True):
                renderer.render(position, place)
            seconds[name] = min(seconds[name], (perf_counter() - start) / len(qpos))
    triangles = {name: triangle_count(renderer.model) for name, renderer in renderers.items()}
    for process in gymnasium.values():
        process.close()
    for renderer in renderers.values():
        renderer.close()
    return seconds, frames, triangles


def side_by_side(frames: dict[str, NDArray[np.uint8]], columns: int = 5, scale: int = 3) -> NDArray[np.uint8]:
    """One row of frames for each of: as shipped, without shadows, the default."""
    rows = [frames[list(STEPS)[index]] for index in (0, 1, -1)]
    chosen = np.linspace(0, len(rows[0]) - 1, columns).astype(int)
    picture = np.concatenate([np.concatenate(row[chosen], axis=1) for row in rows])
    return picture.repeat(scale, axis=0).repeat(scale, axis=1)


def main(out: Path = Path("results/rendering"), count: int = 40, rounds: int = 5) -> None:
    """Print the table and write it, with the machine and the commit, to `out`."""
    load = os.getloadavg()[0]  # of the others: other work on the machine slows the rows, and not all of them alike
    qpos, places = states(count)
    seconds, frames, triangles = measure(qpos, places, rounds)
    shipped = min(seconds[name] for name in seconds if name not in STEPS)  # threads help Gymnasium, or hinder it
    plain = frames["no shadows, no reflections"]
    lines = ["| frame, 84x84 | ms | times faster | mesh triangles | SSIM |", "|---|---|---|---|---|"]
    summary = {}
    for name, value in seconds.items():
        row = {"milliseconds": 1e3 * value, "times_faster": shipped / value}
        cells = ""
        if name in frames:
            row["ssim"] = float(structural_similarity(frames[name], plain).mean())
            row["mesh_triangles"] = triangles[name]
            cells = f"{triangles[name]:,} | {row['ssim']:.3f}"
        summary[name] = row
        lines.append(f"| {name} | {1e3 * value:.2f} | {row['times_faster']:.1f} | {cells or ' | '} |")
    lines += ["", f"Load average before the run: {load:.1f}."]
    print(*lines, sep="\n")
    with replacing(out / "side-by-side.png") as temporary:
        iio.imwrite(temporary, side_by_side(frames))
    about = {"mujoco": mujoco.__version__, "backend": os.environ["MUJOCO_GL"], "settings": FAST.fingerprint}
    about |= {"load_average_before": f"{load:.1f}"}
    write_report(out, "Rendering the door", lines, {**about, "rows": summary}, "benchmarks.rendering")
    print(f"The picture is {out / 'side-by-side.png'}: as shipped, without shadows, the default.")


if __name__ == "__main__":
    cli.run(main)
