"""Imitation end to end against the same loop assembled from stable-baselines3 and a plain rewarder, in one run.

    python -m benchmarks.locomotion [--out results/locomotion-speed]

Environment steps a second on one environment, with TD3 and SAC: networks 256-256, batch 256, an update for every step,
one demonstration, evaluation left out. Rounds of the two take turns, each in a process of its own, as a user would run
it; both may use every core.
"""

import multiprocessing
import os
import statistics
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from benchmarks.loop import make_trainer
from benchmarks.report import write_report
from benchmarks.transcription import Transcription
from vision_pwil.demonstrations import choose, read, subsample
from vision_pwil.envs.flat import FlatEnv, make
from vision_pwil.system import cli
from vision_pwil.system.malloc import keep_freed_memory
from vision_pwil.system.run import Run
from vision_pwil.system.threads import use_threads
from vision_pwil.tasks import presets
from vision_pwil.tasks.atoms import Atoms, points_of
from vision_pwil.tasks.settings import Choice
from vision_pwil.tasks.task import Task
from vision_pwil.training.worker import Worker

Name = Literal["td3", "sac"]
BATCH, RANDOM_STEPS = 256, 300


@dataclass(frozen=True)
class Benchmark:
    """Time both loops."""

    demos: str | None = None
    """Demonstrations of the environment; by default 50 random pairs, which take the same time."""
    env: str = "HalfCheetah-v5"
    """An environment whose episodes all have the same length, so that both play the same."""
    steps: int = 1_000
    """Steps of a round; whole episodes."""
    rounds: int = 3
    """Rounds of each, in turn."""
    out: Path = Path("results/locomotion-speed")
    """Where the table goes."""


class PlainReward(gym.Wrapper[Any, Any, Any, Any]):
    """Replaces the reward by PWIL's, computed in plain numpy."""

    def __init__(self, env: gym.Env[Any, Any], pairs: NDArray[np.float64], horizon: int) -> None:
        super().__init__(env)
        self.deviation = np.where(pairs.std(axis=0) > 1e-6, pairs.std(axis=0), 1.0)
        self.pairs, self.horizon = pairs / self.deviation, horizon

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Begin an episode with all atoms."""
        self.coupling = Transcription(self.pairs, self.horizon)
        self.observation, info = self.env.reset(**options)
        return self.observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Reward the pair, eq. 7."""
        cost = self.coupling.step(np.concatenate([self.observation, action]) / self.deviation)
        self.observation, _, terminated, truncated, info = self.env.step(action)
        reward = 5 * np.exp(-5 * self.horizon / np.sqrt(self.pairs.shape[1]) * cost)
        return self.observation, float(reward), terminated, truncated, info


class Peer:
    """stable-baselines3's agent on the plain reward."""

    def __init__(self, name: Name, env_id: str, pairs: NDArray[np.float64], horizon: int) -> None:
        import stable_baselines3 as sb3

        env = PlainReward(make(env_id), pairs, horizon)
        kind: Any = {"td3": sb3.TD3, "sac": sb3.SAC}[name]
        options = {"policy_delay": 1} if name == "td3" else {}
        self.model = kind(
            "MlpPolicy",
            env,
            learning_rate=3e-4,
            batch_size=BATCH,
            train_freq=1,
            gradient_steps=1,
            learning_starts=RANDOM_STEPS,
            policy_kwargs={"net_arch": [256, 256]},
            device="cpu",
            seed=0,
            **options,
        )

    def play(self, steps: int) -> None:
        """So many steps, each with its update."""
        self.model.learn(steps, reset_num_timesteps=False)


class Own:
    """This package's training loop, without its checkpoints and evaluations."""

    def __init__(self, name: Name, env_id: str, pairs: NDArray[np.float64], folder: str) -> None:
        keep_freed_memory()
        usual = presets.defaults(Choice(env_id, name))
        training = replace(usual.training, random_steps=RANDOM_STEPS, update_interval=1.0, batch_size=BATCH, threads=2)
        task = Task(env_id, usual.reward, usual.task, Atoms(pairs, np.ones(len(pairs), np.int64)))
        self.run = Run(folder, {})
        self.trainer = make_trainer(replace(usual, training=training), task, self.run)
        self.worker = Worker(task, self.trainer.act)
        use_threads(training.threads)

    def play(self, steps: int) -> None:
        """Whole episodes of so many steps."""
        end = self.trainer.step + steps
        while self.trainer.step < end:
            self.trainer.play(self.worker)


def serve(side: str, name: Name, env_id: str, pairs: NDArray[np.float64], horizon: int, connection: Any) -> None:
    """The life of a process: play the steps asked for, answer with the seconds they took."""
    with tempfile.TemporaryDirectory() as folder:
        loop = Own(name, env_id, pairs, folder) if side == "vision_pwil" else Peer(name, env_id, pairs, horizon)
        while steps := connection.recv():
            started = time.perf_counter()
            loop.play(steps)
            connection.send(time.perf_counter() - started)
        if isinstance(loop, Own):
            loop.worker.close()
            loop.run.close()


def measure(name: Name, benchmark: Benchmark, pairs: NDArray[np.float64], horizon: int) -> dict[str, float]:
    """Steps a second of both, the median of the rounds, after a warming one."""
    context = multiprocessing.get_context("spawn")
    connections, processes = {}, []
    for side in ("vision_pwil", "stable-baselines3"):
        connections[side], other = context.Pipe()
        arguments = (side, name, benchmark.env, pairs, horizon, other)
        processes.append(context.Process(target=serve, args=arguments))
        processes[-1].start()
    speeds: dict[str, list[float]] = {side: [] for side in connections}
    for _ in range(1 + benchmark.rounds):
        for side, connection in connections.items():
            connection.send(benchmark.steps)
            speeds[side].append(benchmark.steps / connection.recv())
    for connection, process in zip(connections.values(), processes, strict=True):
        connection.send(0)
        process.join()
    return {side: statistics.median(values[1:]) for side, values in speeds.items()}


def main(benchmark: Benchmark) -> None:
    """Print the table and write it, with the machine and the commit."""
    env = FlatEnv(benchmark.env)
    if benchmark.demos:
        demonstrations = read(benchmark.demos)
        env.require(demonstrations, actions=True)
        shown = subsample(choose(demonstrations, 1, seed=0), seed=0, every=max(1, env.horizon // 50))
        (pairs,) = points_of(shown, "pairs")
    else:
        pairs = np.random.default_rng(0).normal(size=(50, env.observation_size + env.action_size))
    lines = ["| agent | vision_pwil | stable-baselines3, plain rewarder | times faster |", "|---|---|---|---|"]
    summary = {}
    names: tuple[Name, ...] = ("td3", "sac")
    for name in names:
        speeds = measure(name, benchmark, pairs, env.horizon)
        ratio = speeds["vision_pwil"] / speeds["stable-baselines3"]
        summary[name] = {**speeds, "times_faster": ratio}
        lines.append(f"| {name} | {speeds['vision_pwil']:.0f} | {speeds['stable-baselines3']:.0f} | {ratio:.2f} |")
    title = f"Environment steps a second on {benchmark.env}, an update of batch 256 for each"
    print(title, *lines, sep="\n")
    write_report(
        benchmark.out, title, lines, {"steps_a_second": summary, "load": os.getloadavg()[2]}, "benchmarks.locomotion"
    )


if __name__ == "__main__":
    cli.run(main)
