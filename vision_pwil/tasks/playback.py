"""A run's task and one of its policies, played in evaluation episodes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import imageio.v3 as imageio
import numpy as np

from vision_pwil.envs.control import environment_seed, held
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import parsing, read_json, replacing, write_json
from vision_pwil.system.progress import progress
from vision_pwil.system.run import BEST, EVALUATIONS, LATEST
from vision_pwil.system.settings import Count, require, restore
from vision_pwil.tasks.actor import read_actor
from vision_pwil.tasks.film import Film, film
from vision_pwil.tasks.task import Task
from vision_pwil.training.evaluations import EVALUATION
from vision_pwil.training.rollout import Trajectory
from vision_pwil.training.settings import TrainingConfig


class Playback:
    """Plays a policy of a run, by default the latest, without exploration noise."""

    def __init__(self, run: Path, policy: str = LATEST) -> None:
        self.task = Task.load(run)
        self.stage = self.task.stage()
        if not (run / policy).exists():
            raise InputError(f"{run / policy} is not there yet: it comes with the evaluations of the run.")
        actor = read_actor(run / policy)
        self.step = actor.about.step
        self._choose = held(lambda observation, _: actor(observation), actor.about.action_repeat)

    def play(self, index: int) -> Trajectory:
        """An evaluation episode."""
        return self.stage.rollout(self._choose, self._seed(index), evaluating=True)

    def film(self, index: int) -> Film:
        """The same episode in large frames."""
        return film(self.task, self._seed(index), self.play(index))

    def _seed(self, index: int) -> int:
        return environment_seed((0, EVALUATION, index))


@dataclass(frozen=True)
class Evaluation:
    """What a policy of a run earned, without exploration noise."""

    step: int
    """Environment steps that the policy had been trained for."""
    episodes: Sequence[int]
    """Which of the run's evaluation episodes were played."""
    rows: list[dict[str, float]]
    """The numbers of each."""
    file: Path
    """Where mean and deviation are written."""

    @property
    def mean(self) -> dict[str, float]:
        """Over the episodes."""
        return {name: float(np.mean([row[name] for row in self.rows])) for name in self.rows[0]}

    @property
    def deviation(self) -> dict[str, float]:
        """Standard deviation over the episodes."""
        return {name: float(np.std([row[name] for row in self.rows])) for name in self.rows[0]}


def evaluate(run: str | Path, episodes: int = 10, *, best: bool = False) -> Evaluation:
    """Play the latest policy of a run, or the best, and write what it earned into the run.

    The latest plays the episodes of the run's own evaluations first. The best was selected by these, so they would
    flatter it: it plays those that come after them.
    """
    require("episodes", Count, episodes)
    run, policy = Path(run), BEST if best else LATEST
    playback = Playback(run, policy)
    first = _evaluation_episodes(run) if best else 0
    indices = range(first, first + episodes)
    played = (playback.play(index) for index in progress(indices, "playing", unit="episode", leave=False))
    rows = [playback.stage.measure(trajectory) for trajectory in played]
    found = Evaluation(playback.step, indices, rows, run / EVALUATIONS[policy])
    summary = {"step": found.step, "episodes": episodes, "mean": found.mean, "deviation": found.deviation}
    write_json(found.file, summary)
    return found


def _evaluation_episodes(run: Path) -> int:
    """Episodes in each of a run's own evaluations."""
    with parsing(run / "config.json", "configuration of a run"):
        return restore(TrainingConfig, read_json(run / "config.json")["training"]).evaluation_episodes


def film_run(run: Path, policy: str = LATEST, episodes: Iterable[int] = range(3)) -> Path:
    """Film some of a policy's evaluation episodes in large frames, into the run; each end is held a second."""
    playback, pictures, out = Playback(run, policy), [], (run / policy).with_suffix(".mp4")
    for index in progress(episodes, desc="filming", unit="episode", leave=False):
        frames, rate = playback.film(index)
        pictures += [frames, np.repeat(frames[-1:], round(rate), axis=0)]
    with replacing(out) as temporary:
        imageio.imwrite(temporary, np.concatenate(pictures), plugin="FFMPEG", fps=rate)
    return out
