"""Frames of environments on MuJoCo: from Gymnasium's `render()` to this package's, every step timed in one run.

    python -m benchmarks.rendering [--out results/rendering]

Every figure is the best of several rounds over the same states, in milliseconds a frame, the rows taken in turn so that
other work on the machine falls on all of them. It stands twice: by the clock, and as processor time (of all threads),
which other work changes less. "Times faster" and "times less work" are against the better of Gymnasium's two rows. The
structural similarity (SSIM) is to the full-quality frame without shadows, the mean and the lowest: 1 is the same
picture. A side-by-side picture is written with the tables.
"""

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import imageio.v3 as iio
import numpy as np
from numpy.typing import NDArray

from benchmarks.report import write_report
from benchmarks.similarity import structural_similarity
from vision_pwil.door_env import ENV_ID
from vision_pwil.envs.camera import MujocoCamera, open_camera
from vision_pwil.envs.flat import make
from vision_pwil.envs.meshes import triangle_count
from vision_pwil.envs.renderer import RenderSettings
from vision_pwil.system import cli
from vision_pwil.system.files import replacing

# isort: split
import gymnasium as gym
import mujoco

with redirect_stderr(io.StringIO()):  # its notice about dense rewards
    import gymnasium_robotics

gym.register_envs(gymnasium_robotics)

ENVIRONMENTS = {
    "AdroitHandDoor-v1": ENV_ID,
    "AdroitHandHammer-v1": "AdroitHandHammer-v1",
    "AdroitHandRelocate-v1": "AdroitHandRelocate-v1",
    "FetchPush-v4": "FetchPush-v4",
}
"""What Gymnasium draws, and which environment this package draws beside it."""
PLAIN, DEFAULT = "no shadows, no reflections", "simplified meshes: the default"
_UNFAIR = "On a busy machine the clock is unfair to frames that take long: there, compare processor times."

# Runs without this package, in the environment a Gymnasium user has, and answers each line on its input with a time.
_GYMNASIUM = """
import json, sys, time
import gymnasium, gymnasium_robotics
gymnasium.register_envs(gymnasium_robotics)
env = gymnasium.make(sys.argv[1], render_mode="rgb_array", width=84, height=84)
env.reset(seed=0)
env.render()
for line in sys.stdin:
    start = time.perf_counter(), time.process_time()
    for _ in range(int(line)):
        env.render()
    times = time.perf_counter() - start[0], time.process_time() - start[1]
    print(json.dumps([each / int(line) for each in times]), flush=True)
"""


class Gymnasium:
    """`gym.make(env_id, ...).render()` in a process of its own."""

    def __init__(self, env_id: str, **environment: str) -> None:
        inherited = {name: value for name, value in os.environ.items() if name != "LP_NUM_THREADS"}
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", _GYMNASIUM, env_id],
            env=inherited | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def seconds(self, frames: int) -> NDArray[np.float64]:
        """Seconds a frame, over so many of them: by the clock, and of processor time."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{frames}\n")
        self._process.stdin.flush()
        return np.array(json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def quality(env: gym.Env[Any, Any]) -> RenderSettings:
    """The environment's own quality: what its `render()` draws, shadows and all."""
    own = env.unwrapped.model.vis.quality  # type: ignore[attr-defined]
    tessellation = {"slices": own.numslices, "stacks": own.numstacks, "quads": own.numquads}
    return RenderSettings(
        shadows=True, reflections=True, samples=own.offsamples, smooth=False, triangles=0, **tessellation
    )


def steps(env: gym.Env[Any, Any]) -> dict[str, RenderSettings]:
    """From the environment's own quality to the default of this package, one saving after the other."""
    fast: RenderSettings = getattr(env.unwrapped, "render_settings", RenderSettings())
    shipped = replace(quality(env), **fast.pose)
    plain = replace(shipped, shadows=False, reflections=False)
    unsampled = replace(plain, samples=fast.samples, smooth=fast.smooth)
    return {
        "without physics, the size of a frame": shipped,
        PLAIN: plain,
        "smoothed instead of multisampled" if fast.smooth else "no multisampling": unsampled,
        "coarser round and flat shapes": replace(fast, triangles=0),
        DEFAULT: fast,
    }


def scenes(env: gym.Env[Any, Any], count: int, seed: int = 0) -> NDArray[np.float64]:
    """Snapshots of random play, each action held for ten steps."""
    camera = open_camera(env)
    env.reset(seed=seed)
    env.action_space.seed(seed)
    taken = []
    for _ in range(count):
        action = env.action_space.sample()
        for _ in range(10):
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        taken.append(camera.snapshot())
    camera.close()
    return np.array(taken)


def measure(env_id: str, count: int, rounds: int) -> tuple[dict[str, dict[str, float]], dict[str, NDArray[np.uint8]]]:
    """The rows of one environment and the frames of each, by the name of the row."""
    processes = {
        "Gymnasium's render()": Gymnasium(env_id),
        "Gymnasium's render(), in one thread": Gymnasium(env_id, LP_NUM_THREADS="0"),
    }
    env = make(ENVIRONMENTS[env_id])
    snapshots = scenes(env, count)
    cameras = {name: MujocoCamera(env, settings) for name, settings in steps(env).items()}
    frames = {name: camera.draw(snapshots) for name, camera in cameras.items()}
    seconds = {name: np.full(2, np.inf) for name in (*processes, *cameras)}
    for _ in range(rounds):
        for name, process in processes.items():
            seconds[name] = np.minimum(seconds[name], process.seconds(frames=5))
        for name, camera in cameras.items():
            start = np.array([perf_counter(), process_time()])
            camera.draw(snapshots)
            seconds[name] = np.minimum(seconds[name], ([perf_counter(), process_time()] - start) / count)
    clock, work = np.min([seconds[name] for name in processes], axis=0)  # threads help Gymnasium, or hinder it
    rows = {
        name: {
            "milliseconds": 1e3 * value[0],
            "times_faster": clock / value[0],
            "processor_milliseconds": 1e3 * value[1],
            "times_less_work": work / value[1],
        }
        for name, value in seconds.items()
    }
    for name, camera in cameras.items():
        similarity = structural_similarity(frames[name], frames[PLAIN])
        rows[name] |= {"ssim": float(similarity.mean()), "lowest_ssim": float(similarity.min())}
        rows[name]["mesh_triangles"] = triangle_count(camera.renderer.model)
        camera.close()
    for process in processes.values():
        process.close()
    return rows, frames


def side_by_side(frames: list[dict[str, NDArray[np.uint8]]], columns: int = 3, scale: int = 3) -> NDArray[np.uint8]:
    """One row for each environment: as shipped, without shadows, the default, of the same states."""

    def row(each: dict[str, NDArray[np.uint8]]) -> NDArray[np.uint8]:
        shown = [next(iter(each.values())), each[PLAIN], each[DEFAULT]]
        chosen = np.linspace(0, len(shown[0]) - 1, columns).astype(int)
        return np.concatenate([kind[index] for index in chosen for kind in shown], axis=1)

    return np.concatenate([row(each) for each in frames]).repeat(scale, axis=0).repeat(scale, axis=1)


def table(env_id: str, rows: dict[str, dict[str, float]]) -> list[str]:
    """The rows of one environment as Markdown."""
    columns = ("ms", "times faster", "processor ms", "times less work", "mesh triangles", "SSIM", "lowest")
    lines = [f"| {env_id}, 84x84 | {' | '.join(columns)} |", "|---" * (1 + len(columns)) + "|"]
    for name, row in rows.items():
        cells = [f"{row['milliseconds']:.2f}", f"{row['times_faster']:.1f}"]
        cells += [f"{row['processor_milliseconds']:.2f}", f"{row['times_less_work']:.1f}"]
        drawn = (
            [f"{row['mesh_triangles']:,}", f"{row['ssim']:.3f}", f"{row['lowest_ssim']:.3f}"] if "ssim" in row else []
        )
        lines.append(f"| {name} | {' | '.join([*cells, *(drawn or [''] * 3)])} |")
    return [*lines, ""]


def main(
    out: Path = Path("results/rendering"), count: int = 40, rounds: int = 8, envs: tuple[str, ...] = tuple(ENVIRONMENTS)
) -> None:
    """Print the tables and write them, with the machine and the commit, to `out`."""
    load = os.getloadavg()[0]  # of the others: other work on the machine slows the rows, and not all of them alike
    niceness = os.nice(0)  # below 0, the others wait for these rows
    measured = {env_id: measure(env_id, count, rounds) for env_id in envs}
    rows = {env_id: rows for env_id, (rows, _) in measured.items()}
    lines = [line for env_id, each in rows.items() for line in table(env_id, each)]
    lines.append(f"Load average before the run: {load:.1f}; niceness {niceness}. {_UNFAIR}")
    print(*lines, sep="\n")
    with replacing(out / "side-by-side.png") as temporary:
        iio.imwrite(temporary, side_by_side([frames for _, frames in measured.values()]))
    about = {"mujoco": mujoco.__version__, "backend": os.environ["MUJOCO_GL"]}
    about |= {"load_average_before": f"{load:.1f}", "niceness": str(niceness)}
    write_report(out, "Rendering", lines, {**about, "rows": rows}, "benchmarks.rendering")
    print(f"The picture is {out / 'side-by-side.png'}: three states, each as shipped, without shadows, the default.")


if __name__ == "__main__":
    cli.run(main)
