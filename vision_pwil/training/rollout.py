"""Episodes, gathered in a process of their own while the learner learns."""

import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from vision_pwil.agents.noise import colored
from vision_pwil.agents.protocol import Act, Policy

Choose = Callable[[np.ndarray, int], np.ndarray]
"""The action for an observation at a step of the episode."""


@dataclass(frozen=True)
class Trajectory:
    """One episode as the learner needs it, and what a task keeps to measure or film it."""

    observations: np.ndarray
    """(L + 1, S): what the policy saw, and the last observation."""
    actions: np.ndarray
    """(L, A)."""
    rewards: np.ndarray
    """(L,), or more: those of the absorbing steps that follow early termination."""
    terminal: bool
    """No other reward follows; otherwise the last observation's value is bootstrapped."""
    statistics: dict[str, float] = field(default_factory=dict)
    """Named numbers about the episode, logged under `train/`."""
    record: dict[str, np.ndarray] = field(default_factory=dict)
    """The task's own notes."""
    unplayed: int = 0
    """Transitions at the end that the environment did not play (DAC's absorbing one)."""

    @property
    def steps(self) -> int:
        """Steps that the environment played."""
        return len(self.actions) - self.unplayed


class Task(Protocol):
    """An environment with an imitation reward; lives in the worker."""

    horizon: int
    action_size: int

    def rollout(self, choose: Choose, seed: int, *, evaluating: bool = False) -> Trajectory:
        """One whole episode; when `evaluating`, with what `measure` needs."""

    def measure(self, trajectory: Trajectory) -> dict[str, float]:
        """An evaluation episode's numbers (some are slow, such as exact optimal transport)."""

    def film(self, trajectory: Trajectory) -> np.ndarray | None:
        """Frames (n, height, width, 3) of the episode, or None."""


class TaskFactory(Protocol):
    """Settings that can be sent to another process, where they become a task."""

    def build(self) -> Task:
        """The task."""


class Collect(NamedTuple):
    """Ask for an exploring episode."""

    policy: Policy | None
    """None: uniformly random actions."""
    seed: tuple[int, ...]
    """Decides everything random in the episode."""
    noise_exponent: float = 0.0
    action_repeat: int = 1


class Evaluate(NamedTuple):
    """Ask for episodes without exploration noise."""

    policy: Policy
    seeds: Sequence[tuple[int, ...]]
    action_repeat: int = 1


class Evaluation(NamedTuple):
    """Numbers of each episode, and the first one filmed."""

    episodes: list[dict[str, float]]
    frames: np.ndarray | None
    rewards: np.ndarray


def environment_seed(seed: Sequence[int]) -> int:
    """One integer for an environment's `reset` from a tuple of them."""
    return int(np.random.SeedSequence(seed).generate_state(1)[0])


def held(choose: Choose, repeat: int) -> Choose:
    """Choose at every `repeat`-th step of an episode, and hold the action between."""
    action = np.empty(0)

    def hold(observation: np.ndarray, step: int) -> np.ndarray:
        nonlocal action
        if step % repeat == 0:
            action = choose(observation, step)
        return action

    return hold


def collect(task: Task, act: Act, request: Collect) -> Trajectory:
    """One exploring episode."""
    rng, policy = np.random.default_rng(request.seed), request.policy
    decisions = -(-task.horizon // request.action_repeat), task.action_size
    if policy is None:
        noise = rng.uniform(-1.0, 1.0, decisions).astype(np.float32)
    else:
        noise = colored(*decisions, request.noise_exponent, rng)

    def choose(observation: np.ndarray, step: int) -> np.ndarray:
        drawn = noise[step // request.action_repeat]
        return drawn if policy is None else act(policy, observation, drawn)

    return task.rollout(held(choose, request.action_repeat), environment_seed(request.seed))


def evaluate(task: Task, act: Act, request: Evaluate) -> Evaluation:
    """The paper's evaluation: episodes without exploration noise."""
    choose = held(lambda observation, _: act(request.policy, observation, None), request.action_repeat)
    episodes = [task.rollout(choose, environment_seed(seed), evaluating=True) for seed in request.seeds]
    return Evaluation([task.measure(episode) for episode in episodes], task.film(episodes[0]), episodes[0].rewards)


def _serve(factory: TaskFactory, act: Act, connection: Any) -> None:
    """The worker's life: answer requests until the other end closes."""
    for number in (signal.SIGINT, signal.SIGTERM):  # the learner decides when to stop, at an episode's end
        signal.signal(number, signal.SIG_IGN)
    import torch

    torch.set_num_threads(1)
    try:
        task = factory.build()
        while True:
            request = connection.recv()
            work: Any = collect if isinstance(request, Collect) else evaluate
            connection.send(work(task, act, request))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
    except Exception:
        connection.send(RuntimeError(f"The worker that plays episodes failed:\n{traceback.format_exc()}"))


class Worker:
    """A process that plays one episode, or one evaluation, at a time."""

    def __init__(self, factory: TaskFactory, act: Act) -> None:
        for library in ("OMP", "OPENBLAS", "MKL"):  # read when the worker loads numpy: one core each
            os.environ.setdefault(f"{library}_NUM_THREADS", "1")
        context = multiprocessing.get_context("spawn")
        self._connection, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(factory, act, other), daemon=True)
        self._process.start()
        other.close()

    def send(self, request: Collect | Evaluate) -> None:
        """Start on a request."""
        self._connection.send(request)

    def ready(self, timeout: float = 0.0) -> bool:
        """Whether `receive` would return at once; waits for it up to `timeout` seconds."""
        return bool(self._connection.poll(timeout))

    def receive(self) -> Any:
        """Wait for the answer to the request."""
        try:
            answer = self._connection.recv()
        except EOFError:
            raise RuntimeError(
                "The worker that plays episodes died without a word (killed, or out of memory)."
            ) from None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        """End the process, in the middle of an episode if need be."""
        self._connection.close()
        self._process.join(timeout=0.5)
        self._process.kill()
        self._process.join()
