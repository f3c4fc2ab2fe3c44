"""An exported policy at the door: onnxruntime alone chooses every action, the same policy in this package beside it.

    python -m benchmarks.exported RUN [--out results/export]

Exports the policy of a run, or a policy's file, and plays episodes that no training has seen with the example that is
written beside it. Told are how often the door opens and how far the two policies' actions ever lie apart; the picture
is the first episode in which it opens, or else the first.
"""

import runpy
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import numpy as np
import tyro
from PIL import Image

from benchmarks.report import write_report
from vision_pwil.door_env import ENV_ID
from vision_pwil.envs.camera import Camera, open_camera
from vision_pwil.envs.holding import Hold, holding
from vision_pwil.envs.renderer import PRETTY
from vision_pwil.system import cli
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import replacing
from vision_pwil.system.progress import progress
from vision_pwil.system.run import BEST, LATEST
from vision_pwil.system.table import table
from vision_pwil.tasks.actor import read_actor
from vision_pwil.tasks.export import EXAMPLE_FILE, export
from vision_pwil.tasks.policy import load_policy

SEED = 10_000
"""Of the first episode: none of a training's, nor of its evaluations'."""
STILLS, SIZE = 6, 200


@dataclass(frozen=True)
class Config:
    """Which policy, and how often it plays."""

    run: Annotated[Path, tyro.conf.Positional]
    """Directory of a run at the door, or a policy's file."""
    best: bool = False
    """Not the run's latest policy but the best by imitation return."""
    episodes: int = 50
    """Episodes to play."""
    out: Path = Path("results/export")
    """Where the exported files, the policy itself, the table and the picture go."""


@dataclass
class Played:
    """One episode."""

    opened: bool
    steps: int
    angle: float
    """How far the door was opened at most, in radians."""
    apart: float
    """The largest difference between an action and this package's."""
    pictures: list[np.ndarray]


def play(
    act: Callable[..., np.ndarray],
    choose: Callable[..., np.ndarray],
    env: gym.Env[Any, Any],
    hold: Hold,
    camera: Camera,
    seed: int,
) -> Played:
    """An episode in which `act` acts; `choose` is only asked."""
    observation, _ = env.reset(seed=seed)
    played, over = Played(False, 0, 0.0, 0.0, [camera.snapshot()]), False
    while not over:
        targets = None if played.steps else hold()
        action = act(observation, played.steps, targets=targets)
        played.apart = max(played.apart, float(np.abs(action - choose(observation, played.steps)).max()))
        observation, _, terminated, truncated, info = env.step(action)
        played.pictures.append(camera.snapshot())
        played.steps, played.opened = played.steps + 1, bool(info["opened"])
        played.angle, over = max(played.angle, float(info["door_angle"])), terminated or truncated
    return played


def rows(episodes: list[Played]) -> Iterator[tuple[str, str]]:
    """The figures, in words."""
    opened = [episode for episode in episodes if episode.opened]
    yield "episodes that open the door", f"{len(opened)} of {len(episodes)}"
    if opened:
        yield "steps until open, mean", f"{np.mean([episode.steps for episode in opened]):.0f}"
    yield "actions compared", f"{sum(episode.steps for episode in episodes):,}"
    yield "largest difference of an action from the package's", f"{max(episode.apart for episode in episodes):.1g}"


def main(config: Config) -> None:
    """Export, play, and write."""
    policy = config.run / (BEST if config.best else LATEST) if config.run.is_dir() else config.run
    about = read_actor(policy).about
    if about.env != ENV_ID or about.observation.embedding:
        raise InputError(f"{policy} does not act at the door from its state: give a policy that does.")
    out = export(policy, config.out)
    shutil.copyfile(policy, out / LATEST)
    env = gym.make(ENV_ID, max_episode_steps=about.observation.horizon)
    hold = holding(env)
    act, choose = runpy.run_path(str(out / EXAMPLE_FILE))["act"], load_policy(policy, hold=hold)
    camera, small = open_camera(env, PRETTY), open_camera(env)
    seeds = progress(range(SEED, SEED + config.episodes), desc="playing", unit="episode", leave=False)
    episodes = [play(act, choose, env, hold, small, seed) for seed in seeds]
    first = next((episode for episode in episodes if episode.opened), episodes[0])
    shown = np.array(first.pictures)[np.linspace(0, first.steps, STILLS).astype(int)]
    picture = Image.fromarray(np.concatenate([*camera.draw(shown)], axis=1))
    with replacing(out / "stills.png") as temporary:
        picture.resize((STILLS * SIZE, SIZE), Image.Resampling.LANCZOS).save(temporary)
    keys = ("opened", "steps", "angle", "apart")
    summary = {
        "trained_steps": about.step,
        "agent": about.agent,
        "first_seed": SEED,
        **{key: [getattr(episode, key) for episode in episodes] for key in keys},
    }
    lines = table(("exported policy at the door", ""), list(rows(episodes))).splitlines()
    write_report(out, "An exported policy, in onnxruntime alone", lines, summary, "benchmarks.exported")


if __name__ == "__main__":
    cli.run(main)
