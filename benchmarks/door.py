"""Environment steps a second of the whole door pipeline, against a straightforward assembly of known parts.

    python -m benchmarks.door

Ours is `Trainer` as `train_door` runs it: physics, rendering, encoding, coupling and learning, evaluation left out. The
assembly is what one would write first: Gymnasium's AdroitHandDoor-v1 with its own rendering at 84x84, each frame
through the same encoder, Algorithm 1 in numpy, and stable-baselines3's SAC with the same networks. Both update every 4
steps with a batch of 256, in processes of their own, one after the other. Encoder and atoms are random: their values
have no influence on the time.
"""

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from vision_pwil.tasks.door_task import Atoms, DoorTaskFactory

from benchmarks.report import write_report
from vision_pwil import sac
from vision_pwil.door_env import HORIZON, OPEN_ANGLE
from vision_pwil.encoder import EMBEDDING, Encoder
from vision_pwil.system import cli
from vision_pwil.system.run import Run
from vision_pwil.system.table import table
from vision_pwil.training.replay import Replay
from vision_pwil.training.rollout import Worker
from vision_pwil.training.trainer import Trainer, TrainingConfig

ATOMS = 4925
"""Frames of the 25 human demonstrations until the door is open."""
INTERVAL, BATCH = 4, 256


@dataclass(frozen=True)
class Benchmark:
    """Measure the door's pipeline."""

    part: Literal["both", "ours", "assembly"] = "both"
    """What to measure; a part alone prints steps a second and nothing else."""
    episodes: int = 20
    """Episodes of ours to time, after 3 to warm up."""
    assembly_steps: int = 300
    """Steps of the assembly to time, after 150 to warm up."""
    out: Path = Path("results/door-speed")
    """Where the table goes."""


def ours(episodes: int) -> float:
    """Steps a second of the training loop."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder, Run(folder, {}) as run:
        encoder = Path(folder) / "encoder.safetensors"
        Encoder().save(encoder)
        atoms = Atoms(np.random.default_rng(0).normal(size=(ATOMS, EMBEDDING)), np.ones(ATOMS, np.int64))
        factory = DoorTaskFactory(atoms, "pixels", str(encoder), HORIZON, OPEN_ANGLE, 5.0, 1.0, False)
        config = TrainingConfig(random_steps=HORIZON, update_interval=INTERVAL, batch_size=BATCH)
        agent = sac.SAC(39, 28, sac.SACConfig(), 0)
        trainer = Trainer(run, agent, sac.act, factory, Replay(100_000, 39, 28, 0), config)
        collector = Worker(factory, sac.act)
        try:
            for _ in range(3):
                trainer.play(collector)
            started, step = time.perf_counter(), trainer.step
            for _ in range(episodes):
                trainer.play(collector)
            return (trainer.step - step) / (time.perf_counter() - started)
        finally:
            collector.close()


class NumpyCoupling:
    """Algorithm 1, one step at a time, in plain numpy."""

    def __init__(self, atoms: np.ndarray, horizon: int = HORIZON) -> None:
        self.atoms, self.masses, self.horizon = atoms, np.full(len(atoms), 1 / len(atoms)), horizon

    def step(self, point: np.ndarray) -> float:
        """Cost of a step."""
        mass, cost = 1 / self.horizon, 0.0
        while mass > 1e-12 and len(self.masses):
            distances = np.linalg.norm(self.atoms - point, axis=1)
            nearest = distances.argmin()
            moved = min(mass, self.masses[nearest])
            cost, mass = cost + moved * distances[nearest], mass - moved
            self.masses[nearest] -= moved
            if self.masses[nearest] <= 0:
                self.atoms, self.masses = np.delete(self.atoms, nearest, 0), np.delete(self.masses, nearest)
        return cost


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
            self.coupling = NumpyCoupling(self.atoms)
            return self.env.reset(**options)

        def step(self, action: Any) -> Any:
            observation, _, terminated, truncated, info = self.env.step(action)
            frame: Any = self.env.render()
            cost = self.coupling.step(self.encoder.embed(np.ascontiguousarray(frame)[None])[0])
            self.clock.append(time.perf_counter())
            return observation, 5.0 * np.exp(-HORIZON * cost), terminated, truncated, info

    env = Imitation()
    net = {"net_arch": [256, 256]}
    model = sb3.SAC(
        "MlpPolicy", env, batch_size=BATCH, train_freq=INTERVAL, learning_starts=100, policy_kwargs=net, device="cpu"
    )
    model.learn(150 + steps)
    return steps / (env.clock[-1] - env.clock[-1 - steps])


def main(config: Benchmark) -> None:
    """Measure, print and write."""
    if config.part != "both":
        print(ours(config.episodes) if config.part == "ours" else assembly(config.assembly_steps))
        return
    # The assembly may use every core for drawing and learning, as it would by default.
    cores = str(os.cpu_count())
    settings = {"ours": {}, "assembly": {"LP_NUM_THREADS": cores, "OMP_NUM_THREADS": cores}}
    rates = {}
    for part, environment in settings.items():
        command = [sys.executable, "-m", "benchmarks.door", "--part", part]
        command += ["--episodes", str(config.episodes), "--assembly-steps", str(config.assembly_steps)]
        result = subprocess.run(
            command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True, check=True
        )
        rates[part] = float(result.stdout.split()[-1])
    times = rates["ours"] / rates["assembly"]
    text = table(
        ("pipeline", "environment steps a second", "times faster"),
        [
            ("vision_pwil", f"{rates['ours']:.0f}", f"{times:.1f}"),
            ("Gymnasium's rendering, stable-baselines3, numpy", f"{rates['assembly']:.1f}", "1"),
        ],
    )
    print(text)
    summary = {"steps_per_second": rates, "times_faster": times, "load_before": os.getloadavg()[2]}
    write_report(
        config.out,
        "The door's pipeline, update every 4 steps, batch 256",
        text.splitlines(),
        summary,
        "benchmarks.door",
    )


if __name__ == "__main__":
    cli.run(main)
