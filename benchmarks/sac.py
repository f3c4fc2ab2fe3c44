"""One SAC update at the paper's sizes: this package, its matrix products, stable-baselines3 and SBX, side by side.

    python -m benchmarks.sac [--sbx-python VENV/bin/python]

A turn is 25 updates, sampling included: an update is a 25th of it. All take turns on one core, and processor time is
counted: the least of the turns, so that a busy machine adds little. SBX brings JAX, so it runs in a virtual environment
of its own (see benchmarks/sbx.py).
"""

import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from benchmarks.report import write_report
from vision_pwil.sac import SAC, SACConfig
from vision_pwil.system import cli
from vision_pwil.system.errors import InputError
from vision_pwil.system.malloc import keep_freed_memory
from vision_pwil.system.table import table
from vision_pwil.system.threads import use_threads
from vision_pwil.training.replay import Replay, Transitions

OBSERVATION, ACTION, HIDDEN = 39, 28, 256
PRODUCTS, OWN, NORMS, SB3 = "matrix products alone", "vision_pwil", "vision_pwil, both norms", "stable-baselines3"
SBX, SBX_NORM = "SBX", "SBX, layer normalisation"


@dataclass(frozen=True)
class Benchmark:
    """Time one SAC update."""

    batch_sizes: tuple[int, ...] = (128, 256)
    """Transitions in an update."""
    rounds: int = 20
    """Turns of each."""
    updates: int = 25
    """Updates in a turn."""
    sbx_python: Path | None = None
    """Python of a virtual environment with `sbx-rl`; without it SBX is left out."""
    out: Path = Path("results/sac")
    """Where the table goes."""


def own(size: int, updates: int, **settings: Any) -> Callable[[], object]:
    """This package's updates, as the training loop does them. Both norms: the critics' layers, and the observations."""
    agent, rng = SAC(OBSERVATION, ACTION, SACConfig(**settings), seed=0), np.random.default_rng(0)
    replay = Replay(10_000, OBSERVATION, ACTION, seed=0)
    observation, action = rng.uniform(-1, 1, (2, 10_000, OBSERVATION)), rng.uniform(-1, 1, (10_000, ACTION))
    reward, discount = rng.normal(size=10_000), np.full(10_000, 0.99)
    replay.add(Transitions(observation[0], action, reward, discount, observation[1], reward))
    agent.observe(observation[0])
    return lambda: [agent.update(batch) for batch in replay.sample(updates * size).split(size)]


def products(size: int, updates: int) -> Callable[[], object]:
    """Only the matrix products that an update cannot do without, outputs left where they fall.

    Those of the critics' single output are sums and outer products, the fastest way to them; and the actor's gradient
    goes back through one critic in each row.
    """
    state, pair = torch.randn(size, OBSERVATION), torch.randn(size, OBSERVATION + ACTION).expand(2, -1, -1)
    hidden, hiddens = torch.randn(size, HIDDEN), torch.randn(2, size, HIDDEN)
    output, value = torch.randn(size, 2 * ACTION), torch.randn(2, size, 1)
    a0, a1, a2 = torch.randn(OBSERVATION, HIDDEN), torch.randn(HIDDEN, HIDDEN), torch.randn(HIDDEN, 2 * ACTION)
    c0, c1, c2 = torch.randn(2, OBSERVATION + ACTION, HIDDEN), torch.randn(2, HIDDEN, HIDDEN), torch.randn(2, HIDDEN, 1)

    def update() -> None:
        for _ in range(2):  # the actor forward, at s' and at s
            torch.mm(state, a0), torch.mm(hidden, a1), torch.mm(hidden, a2)
        for _ in range(3):  # the critics forward: targets at s', values at (s, a), values of the actor's action
            torch.bmm(pair, c0), torch.bmm(hiddens, c1), (hiddens * c2.mT).sum(-1)
        # the critics backward, to their weights
        (hiddens * value).sum(-2), value * c2.mT
        torch.bmm(hiddens.mT, hiddens), torch.bmm(hiddens, c1.mT), torch.bmm(pair.mT, hiddens)
        # the critics backward, to the action
        half = hiddens[:, : size // 2]
        value[:, : size // 2] * c2.mT, torch.bmm(half, c1.mT), torch.bmm(half, c0[:, OBSERVATION:].mT)
        # the actor backward
        torch.mm(hidden.mT, output), torch.mm(output, a2.mT)
        torch.mm(hidden.mT, hidden), torch.mm(hidden, a1.mT), torch.mm(state.mT, hidden)

    def play() -> None:
        for _ in range(updates):
            update()

    return play


class _Spaces(gym.Env):
    """An environment of these sizes that is never stepped."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (OBSERVATION,), np.float32)
    action_space = gym.spaces.Box(-1.0, 1.0, (ACTION,), np.float32)


def stable_baselines3(size: int, updates: int) -> Callable[[], object]:
    """stable-baselines3's update with the same networks, on a filled replay buffer."""
    import stable_baselines3 as sb3
    from stable_baselines3.common.logger import Logger

    net = {"net_arch": [HIDDEN, HIDDEN]}
    model = sb3.SAC(
        "MlpPolicy", _Spaces(), batch_size=size, buffer_size=10_000, policy_kwargs=net, device="cpu", seed=0
    )
    model.set_logger(Logger(None, []))
    assert model.replay_buffer is not None
    for name in ("observations", "next_observations", "actions", "rewards"):
        array = getattr(model.replay_buffer, name)
        array[:] = np.random.default_rng(0).uniform(-1, 1, array.shape)
    model.replay_buffer.full = True
    return lambda: model.train(gradient_steps=updates, batch_size=size)


def timed(play: Callable[[], object], updates: int) -> Callable[[], float]:
    """A turn of so many updates, after a warming one: milliseconds of one update."""
    play()

    def turn() -> float:
        started = time.process_time()
        play()
        return 1e3 * (time.process_time() - started) / updates

    return turn


class Sbx:
    """SBX in a process of its own."""

    def __init__(self, python: Path) -> None:
        words = [str(python), str(Path(__file__).with_name("sbx.py")), *map(str, (OBSERVATION, ACTION, HIDDEN))]
        try:
            self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        except OSError as error:
            raise InputError(f"--sbx-python {python} cannot be run ({error.strerror}).") from None

    def turn(self, size: int, updates: int, *, layer_norm: bool) -> float:
        """Milliseconds of one update."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{size} {int(layer_norm)} {updates}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise InputError("SBX's process ended: does the Python of --sbx-python have sbx-rl?")
        return float(answer)

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def measure(size: int, benchmark: Benchmark, sbx: Sbx | None) -> dict[str, float]:
    """Milliseconds of an update of each, the least of the turns."""
    updates = benchmark.updates
    plays = {
        PRODUCTS: products(size, updates),
        OWN: own(size, updates),
        NORMS: own(size, updates, critic_layer_norm=True, normalize=True),
        SB3: stable_baselines3(size, updates),
    }
    turns = {name: timed(play, updates) for name, play in plays.items()}
    if sbx is not None:
        turns[SBX] = lambda: sbx.turn(size, updates, layer_norm=False)
        turns[SBX_NORM] = lambda: sbx.turn(size, updates, layer_norm=True)
    times: dict[str, list[float]] = {name: [] for name in turns}
    for _ in range(benchmark.rounds):
        for name, turn in turns.items():
            times[name].append(turn())
    return {name: min(values) for name, values in times.items()}


def main(benchmark: Benchmark) -> None:
    """Measure, print and write the table."""
    use_threads(1)
    keep_freed_memory()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    sbx = None if benchmark.sbx_python is None else Sbx(benchmark.sbx_python)
    try:
        times = {size: measure(size, benchmark, sbx) for size in benchmark.batch_sizes}
    finally:
        if sbx is not None:
            sbx.close()
    references = {"the products": PRODUCTS, "stable-baselines3": SB3, **({"SBX": SBX} if sbx else {})}
    header, rows = ["batch", "update", "milliseconds", *(f"over {name}" for name in references)], []
    for size, values in times.items():
        for name, value in values.items():
            ratios = (f"{value / values[reference]:.2f}" for reference in references.values())
            rows.append((str(size), name, f"{value:.2f}", *ratios))
    lines = table(header, rows).splitlines()
    if sbx is None:
        lines += ["", "SBX was left out: --sbx-python names a Python that has it."]
    print(*lines, sep="\n")
    title = f"One SAC update, one core, the least of {benchmark.rounds} turns"
    write_report(benchmark.out, title, lines, {"milliseconds": times}, "benchmarks.sac")


if __name__ == "__main__":
    cli.run(main)
