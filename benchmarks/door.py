"""Environment steps a second at the door: the default recipe, where its time goes, and a straightforward assembly.

    python -m benchmarks.door

1. `python -m vision_pwil.train_door` as it is, from start to end, evaluations included in the clock; without the audit
   before it and the film after it.
2. The parts of the same training, timed one by one (see `benchmarks.shares`).
3. The training loop with the paper's recipe, without evaluations, beside what one would write first: Gymnasium's
   AdroitHandDoor-v1 with its own rendering at 84x84, each frame through the same encoder, Algorithm 1 in numpy, and
   stable-baselines3's SAC with the same networks. Both update every 4 steps with a batch of 256. Encoder and atoms are
   random: their values have no influence on the time.

All in processes of their own, one after the other.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from benchmarks import shares
from benchmarks.loop import make_trainer
from benchmarks.report import write_report
from benchmarks.transcription import Transcription
from vision_pwil.door_env import ENV_ID, HORIZON
from vision_pwil.encoder import EMBEDDING, Encoder
from vision_pwil.system import cli
from vision_pwil.system.run import Run, read_curve
from vision_pwil.system.table import table
from vision_pwil.system.threads import use_threads
from vision_pwil.tasks import presets
from vision_pwil.tasks.atoms import Atoms
from vision_pwil.tasks.imitation import find_demonstrations, find_encoder
from vision_pwil.tasks.making import make_env, make_task
from vision_pwil.tasks.settings import Choice
from vision_pwil.tasks.task import Task
from vision_pwil.training.worker import Worker

ATOMS = 4925
"""Frames of the 25 human demonstrations until the door is open."""
PAPER = presets.defaults(Choice(ENV_ID, recipe="paper"))


@dataclass(frozen=True)
class Benchmark:
    """Measure training at the door."""

    part: Literal["all", "shares", "ours", "assembly"] = "all"
    """What to measure; a part alone prints its figures as JSON and nothing else."""
    steps: int = 100_000
    """Steps of the default recipe to time; starting takes some seconds of them."""
    episodes: int = 20
    """Episodes to time of the parts, and of ours, after those that warm up."""
    assembly_steps: int = 300
    """Steps of the assembly to time, after 150 to warm up."""
    out: Path = Path("results/door-speed")
    """Where the table goes."""


def default_recipe(steps: int) -> float:
    """Steps a second of the whole command."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["--steps", str(steps), "--no-audit", "--no-video", "--run", folder]
        started = time.perf_counter()
        subprocess.run([sys.executable, "-m", "vision_pwil.train_door", *options], stdout=subprocess.PIPE, check=True)
        return read_curve(Path(folder))[-1]["step"] / (time.perf_counter() - started)


def parts(episodes: int) -> shares.Shares:
    """What the default recipe does with its time."""
    config = presets.defaults(Choice(ENV_ID))
    demonstrations = find_demonstrations(config, make_env(config))
    task = make_task(config, demonstrations, find_encoder(config, demonstrations))
    return shares.measure(config, task, episodes)


def ours(episodes: int) -> float:
    """Steps a second of the training loop."""
    torch.manual_seed(0)
    config = replace(PAPER, training=replace(PAPER.training, random_steps=HORIZON))
    use_threads(config.training.threads)
    atoms = Atoms(np.random.default_rng(0).normal(size=(ATOMS, EMBEDDING)), np.ones(ATOMS, np.int64))
    task = Task(ENV_ID, config.reward, config.task, atoms, Encoder())
    with tempfile.TemporaryDirectory() as folder, Run(folder, {}) as run:
        trainer = make_trainer(config, task, run)
        collector = Worker(task, trainer.act)
        try:
            for _ in range(3):
                trainer.play(collector)
            started, step = time.perf_counter(), trainer.step
            for _ in range(episodes):
                trainer.play(collector)
            return (trainer.step - step) / (time.perf_counter() - started)
        finally:
            collector.close()
            trainer.board.close()


def assembly(steps: int) -> float:
    """Steps a second of the assembly."""
    import gymnasium as gym
    import gymnasium_robotics
    import stable_baselines3 as sb3

    gym.register_envs(gymnasium_robotics)
    torch.manual_seed(0)

    class Imitation(gym.Wrapper):
        """Replaces the reward by PWIL's, from the rendered frame."""

        def __init__(self) -> None:
            super().__init__(gym.make("AdroitHandDoor-v1", render_mode="rgb_array", width=84, height=84))
            self.encoder, self.atoms = Encoder(), np.random.default_rng(0).normal(size=(ATOMS, EMBEDDING))
            self.clock: list[float] = []

        def reset(self, **options: Any) -> Any:
            self.coupling = Transcription(self.atoms, HORIZON)
            return self.env.reset(**options)

        def step(self, action: Any) -> Any:
            observation, _, terminated, truncated, info = self.env.step(action)
            frame: Any = self.env.render()
            cost = self.coupling.step(self.encoder.embed(np.ascontiguousarray(frame)[None])[0])
            self.clock.append(time.perf_counter())
            return observation, 5.0 * np.exp(-HORIZON * cost), terminated, truncated, info

    env = Imitation()
    model = sb3.SAC(
        "MlpPolicy",
        env,
        batch_size=PAPER.training.batch_size,
        train_freq=int(PAPER.training.update_interval),
        learning_starts=100,
        policy_kwargs={"net_arch": list(PAPER.settings.hidden)},
        device="cpu",
    )
    model.learn(150 + steps)
    return steps / (env.clock[-1] - env.clock[-1 - steps])


def alone(config: Benchmark, part: str, **environment: str) -> Any:
    """A part measured in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.door", "--part", part]
    command += ["--episodes", str(config.episodes), "--assembly-steps", str(config.assembly_steps)]
    result = subprocess.run(command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(result.stdout.splitlines()[-1])


def main(config: Benchmark) -> None:
    """Measure, print and write."""
    if config.part != "all":
        figures: dict[str, Any] = {
            "shares": lambda: parts(config.episodes),
            "ours": lambda: ours(config.episodes),
            "assembly": lambda: assembly(config.assembly_steps),
        }
        print(json.dumps(figures[config.part]()))
        return
    load = os.getloadavg()[2]
    rates = {"default": default_recipe(config.steps), "ours": alone(config, "ours")}
    # The assembly may use every core for drawing and learning, as it would by default.
    cores = str(os.cpu_count())
    rates["assembly"] = alone(config, "assembly", LP_NUM_THREADS=cores, OMP_NUM_THREADS=cores)
    spent, times = alone(config, "shares"), rates["ours"] / rates["assembly"]
    rows = [
        ("default recipe, whole command with evaluations", f"{rates['default']:.0f}", None),
        ("paper's recipe, training loop", f"{rates['ours']:.0f}", f"{times:.1f}"),
        ("the same from Gymnasium's rendering, stable-baselines3, numpy", f"{rates['assembly']:.1f}", "1"),
    ]
    lines = [
        table(("pipeline", "environment steps a second", "times faster"), rows),
        "",
        "## Where the time of the default recipe goes",
        "",
        *shares.describe(spent),
    ]
    print(*lines, sep="\n")
    summary = {
        "steps_per_second": rates,
        "times_faster": times,
        "microseconds_a_step": spent,
        "limits": shares.limits(spent),
        "load_before": load,
    }
    write_report(config.out, "Training at the door", lines, summary, "benchmarks.door")


if __name__ == "__main__":
    cli.run(main)
