"""One SAC update at the paper's sizes: this package, its matrix products alone, and stable-baselines3, side by side.

`python -m benchmarks.sac` takes them in turn on one core and counts processor time, so that a busy machine slows all of
them alike.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from benchmarks.report import write_report
from vision_pwil.agents.protocol import Batch
from vision_pwil.sac import SAC, SACConfig
from vision_pwil.system import cli
from vision_pwil.system.table import table

OBSERVATION, ACTION, HIDDEN = 39, 28, 256


@dataclass(frozen=True)
class Benchmark:
    """Time one SAC update."""

    batch_size: int = 256
    """Transitions in an update."""
    rounds: int = 40
    """Times that each is measured, in turn."""
    repeats: int = 5
    """Updates in a measurement."""
    out: Path = Path("results/sac")
    """Where the table goes."""


def own(size: int, **settings: Any) -> Callable[[], object]:
    """This package's update."""
    agent = SAC(OBSERVATION, ACTION, SACConfig(**settings), seed=0)
    observation, action = torch.randn(2, size, OBSERVATION), torch.rand(size, ACTION) * 2 - 1
    batch = Batch(observation[0], action, torch.randn(size), torch.full((size,), 0.99), observation[1])
    return lambda: agent.update(batch)


def products(size: int) -> Callable[[], object]:
    """Only the matrix products that an update cannot do without, twin critics batched, outputs left where they fall.

    Those of the critics' single output are sums and outer products, the fastest way to them.
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
        value * c2.mT, torch.bmm(hiddens, c1.mT), torch.bmm(hiddens, c0[:, OBSERVATION:].mT)
        # the actor backward
        torch.mm(hidden.mT, output), torch.mm(output, a2.mT)
        torch.mm(hidden.mT, hidden), torch.mm(hidden, a1.mT), torch.mm(state.mT, hidden)

    return update


class _Spaces(gym.Env):
    """An environment of these sizes that is never stepped."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (OBSERVATION,), np.float32)
    action_space = gym.spaces.Box(-1.0, 1.0, (ACTION,), np.float32)


def peer(size: int) -> Callable[[], object]:
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
    return lambda: model.train(gradient_steps=1, batch_size=size)


def main(benchmark: Benchmark) -> None:
    """Measure and print."""
    torch.set_num_threads(1)
    size = benchmark.batch_size
    updates = {
        "matrix products alone": products(size),
        "vision_pwil": own(size),
        "vision_pwil, layer normalisation and normalised observations": own(
            size, critic_layer_norm=True, normalize=True
        ),
        "stable-baselines3": peer(size),
    }
    times: dict[str, list[float]] = {name: [] for name in updates}
    for _ in range(benchmark.rounds):
        for name, update in updates.items():
            started = time.process_time()
            for _ in range(benchmark.repeats):
                update()
            times[name].append(1e3 * (time.process_time() - started) / benchmark.repeats)
    medians = {name: statistics.median(values) for name, values in times.items()}
    floor, reference = medians["matrix products alone"], medians["stable-baselines3"]
    rows = [
        (name, f"{value:.2f}", f"{value / floor:.2f}", f"{reference / value:.2f}") for name, value in medians.items()
    ]
    text = table(("update", "milliseconds", "times the products", "times faster than stable-baselines3"), rows)
    print(text)
    title = f"One SAC update, batch {size}, one core, median of {benchmark.rounds}"
    write_report(benchmark.out, title, text.splitlines(), {"milliseconds": medians}, "benchmarks.sac")


if __name__ == "__main__":
    cli.run(main)
