"""Look at what a run has learned: `python -m vision_pwil.commands.evaluate RUN` prints a table and films the policy."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import imageio.v3 as imageio
import numpy as np
import tyro
from tqdm import tqdm

from vision_pwil.agents import table as agents
from vision_pwil.envs.film import Film, film_door, film_environment
from vision_pwil.system import checkpoint, cli
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import read_json, replacing, write_json
from vision_pwil.system.run import BEST, LATEST
from vision_pwil.system.table import table
from vision_pwil.tasks.door_task import DoorTaskFactory, observe
from vision_pwil.tasks.locomotion_task import LocomotionTaskFactory
from vision_pwil.training.evaluations import EVALUATION
from vision_pwil.training.rollout import Choose, Task, Trajectory, environment_seed, held

TASK = "task.safetensors"
EVALUATIONS = {LATEST: "evaluation.json", BEST: "evaluation-best.json"}
"""Where the outcome of playing a run's policies is kept."""


def load_policy(path: str | Path) -> Choose:
    """A trained policy, from a run directory or a saved policy file: a function of the observation and the step.

    The observation is the environment's own; what a policy sees besides (the time) is added here.
    """
    path = Path(path)
    arrays, about = checkpoint.load_policy(path / LATEST if path.is_dir() else path)
    act, timed = agents.ACTS[about["agent"]], about.get("time_feature", False)

    def choose(observation: np.ndarray, step: int) -> np.ndarray:
        return act(arrays, observe(observation, step / about["horizon"] if timed else None))

    return held(choose, about.get("action_repeat", 1))


def load_task(run: Path) -> DoorTaskFactory | LocomotionTaskFactory:
    """The task of a run, as the run kept it."""
    if not (run / TASK).exists():
        raise InputError(f"{run} is not the directory of a training run: it has no {TASK}.")
    _, settings = checkpoint.load(run / TASK)
    if "env_id" in settings:
        return LocomotionTaskFactory.load(run / TASK)
    encoder = run / "encoder.safetensors"
    return DoorTaskFactory.load(run / TASK, str(encoder) if encoder.exists() else None)


class Player:
    """A run's task and one of its policies, by default the latest."""

    def __init__(self, run: Path, policy: str = LATEST) -> None:
        self.factory = load_task(run)
        self.task: Task = self.factory.build()
        if not (run / policy).exists():
            raise InputError(f"{run / policy} is not there yet: it comes with the evaluations of the run.")
        self._policy, about = checkpoint.load_policy(run / policy)
        self._act, self._repeat, self.step = agents.ACTS[about["agent"]], about.get("action_repeat", 1), about["step"]

    def play(self, index: int) -> Trajectory:
        """An evaluation episode, without exploration noise."""
        choose = held(lambda observation, _: self._act(self._policy, observation), self._repeat)
        return self.task.rollout(choose, self._seed(index), evaluating=True)

    def film(self, index: int) -> Film:
        """The same episode in large frames."""
        trajectory = self.play(index)
        if isinstance(self.factory, DoorTaskFactory):
            return film_door(trajectory)
        return film_environment(self.factory.env_id, self.factory.horizon, self._seed(index), trajectory)

    def _seed(self, index: int) -> int:
        return environment_seed((0, EVALUATION, index))


def film(run: Path, policy: str = LATEST, episodes: Iterable[int] = range(3)) -> Path:
    """Film some of a policy's evaluation episodes in large frames, into the run; each end is held a second."""
    player, pictures, out = Player(run, policy), [], (run / policy).with_suffix(".mp4")
    for index in tqdm(episodes, desc="filming", unit="episode", leave=False):
        frames, rate = player.film(index)
        pictures += [frames, np.repeat(frames[-1:], round(rate), axis=0)]
    with replacing(out) as temporary:
        imageio.imwrite(temporary, np.concatenate(pictures), plugin="FFMPEG", fps=rate)
    return out


@dataclass(frozen=True)
class Evaluate:
    """Play a policy of a run without exploration noise."""

    run: Annotated[Path, tyro.conf.Positional]
    """Directory of a run: train_door, train_locomotion or train_expert."""
    episodes: int = 10
    """Episodes to play; the first are those of the run's own evaluations."""
    best: bool = False
    """Play not the latest policy but the one whose evaluation had the highest imitation return (an expert's: task
    return), in episodes that come after those of the run's own evaluations: these chose it, and would flatter it."""
    video: bool = True
    """Film the first three in large frames."""


def main(config: Evaluate) -> None:
    """Play, print a table, and film."""
    if config.episodes < 1:
        raise InputError(f"--episodes must be at least 1, not {config.episodes}.")
    policy = BEST if config.best else LATEST
    player = Player(config.run, policy)
    first = read_json(config.run / "config.json")["training"]["evaluation_episodes"] if config.best else 0
    indices = range(first, first + config.episodes)
    rows = [player.task.measure(player.play(index)) for index in tqdm(indices, "playing", unit="episode", leave=False)]
    means = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    deviations = {name: float(np.std([row[name] for row in rows])) for name in rows[0]}
    lines = [*zip(map(str, indices), rows, strict=True), ("mean", means), ("deviation", deviations)]
    print(table(("episode", *means), [(name, *(f"{value:.4g}" for value in row.values())) for name, row in lines]))
    summary = {"step": player.step, "episodes": config.episodes, "mean": means, "deviation": deviations}
    out = config.run / EVALUATIONS[policy]
    write_json(out, summary)
    print(f"The policy of step {player.step}; written to {out}.")
    if config.video:
        try:
            print(f"Video: {film(config.run, policy, indices[:3])}")
        except InputError as error:
            print(f"No video: {error}")


if __name__ == "__main__":
    cli.run(main)
