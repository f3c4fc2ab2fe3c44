"""Where the time of a training goes: its parts, timed in the loop that trains, in one process and on one core.

A training has three processes: one that plays episodes, one that learns and one that evaluates. Here they take turns,
and processor time is counted, so that a busy machine changes little. From it follows what two cores could do at best.
"""

import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from benchmarks.loop import make_trainer
from vision_pwil.agents import table as agents
from vision_pwil.agents.protocol import Act
from vision_pwil.system.malloc import keep_freed_memory
from vision_pwil.system.run import Run
from vision_pwil.system.table import table
from vision_pwil.system.threads import use_threads
from vision_pwil.tasks.settings import ImitationConfig
from vision_pwil.tasks.stage import TaskStage
from vision_pwil.tasks.task import Task
from vision_pwil.training.evaluations import EVALUATION
from vision_pwil.training.rollout import Assess, Collect, Trajectory, assess, collect

ASSESSED = 2
"""Episodes of an evaluation that are timed; the others take as long."""
Shares = dict[str, dict[str, float]]
"""Microseconds that an environment step takes, by process and part."""


class Clock:
    """Processor time of chosen methods."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def watch(self, part: str, owner: Any, *names: str) -> None:
        """Count the time that these methods of an object take."""
        for name in names:
            setattr(owner, name, self.timed(part, getattr(owner, name)))

    def timed(self, part: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """The same, counted."""

        def call(*arguments: Any, **options: Any) -> Any:
            started = time.process_time()
            try:
                return method(*arguments, **options)
            finally:
                self.seconds[part] += time.process_time() - started

        return call


class Resident:
    """Plays as a worker does, without a process of its own: when its answer is asked for."""

    def __init__(self, stage: TaskStage, act: Act) -> None:
        self._stage, self._act = stage, act

    def send(self, request: Collect) -> None:
        """Keep the request."""
        self._request = request

    def receive(self) -> Trajectory:
        """Play the episode."""
        return collect(self._stage, self._act, self._request)


def measure(config: ImitationConfig, task: Task, episodes: int) -> Shares:
    """Train for some episodes after those of random play, and for one evaluation."""
    use_threads(1)
    keep_freed_memory()
    stage, act, clock = TaskStage(task), agents.find(config.agent).act, Clock()
    assert stage.camera is not None and stage.comparison is not None and task.encoder is not None
    clock.watch("physics", stage.env, "reset", "step")
    clock.watch("frames", stage.camera, "snapshot", "draw")
    clock.watch("encoder", task.encoder, "embed")
    clock.watch("coupling", stage.comparison, "pay")
    with tempfile.TemporaryDirectory() as folder, Run(folder, {}) as run:
        trainer, resident = make_trainer(config, task, run), Resident(stage, act)
        clock.watch("episodes", resident, "receive")
        clock.watch("updates", trainer.replay, "sample")
        clock.watch("updates", trainer.agent, "update")
        play: Callable[[Any], int] = clock.timed("all", trainer.play)
        while not trainer.updates:
            play(resident)
        clock.seconds.clear()
        steps = sum(play(resident) for _ in range(episodes))
        spent = dict(clock.seconds)
        seeds = [(0, EVALUATION, index) for index in range(ASSESSED)]
        request = Assess(trainer.agent.policy(), seeds, config.training.action_repeat)
        clock.timed("evaluation", assess)(stage, act, request)
        trainer.board.close()
    parts = {part: spent[part] for part in ("physics", "frames", "encoder", "coupling")}
    evaluation = clock.seconds["evaluation"] * config.training.evaluation_episodes / ASSESSED
    seconds = {
        "collector": {**parts, "acting and the rest": spent["episodes"] - sum(parts.values())},
        "learner": {"updates": spent["updates"], "the rest": spent["all"] - spent["episodes"] - spent["updates"]},
        "evaluator": {"evaluations": evaluation * steps / config.training.evaluation_interval},
    }
    return {who: {part: 1e6 * value / steps for part, value in each.items()} for who, each in seconds.items()}


def limits(shares: Shares) -> dict[str, float]:
    """Environment steps a second that a process could do if it never waited, and all of them on two cores."""
    busy = {who: sum(parts.values()) for who, parts in shares.items()}
    alone = {who: 1e6 / busy[who] for who in ("collector", "learner")}
    return {**alone, "two cores": min(*alone.values(), 2e6 / sum(busy.values()))}


def describe(shares: Shares) -> list[str]:
    """As a table, with the limits in words."""
    whole = sum(sum(parts.values()) for parts in shares.values())
    rows = [
        (who, part, f"{value:.0f}", f"{value / whole:.0%}")
        for who, parts in shares.items()
        for part, value in parts.items()
    ]
    rates = limits(shares)
    sentence = (
        f"If it never waited, the collector would do {rates['collector']:.0f} environment steps a second and the "
        f"learner {rates['learner']:.0f}; all three together, on two cores, at most {rates['two cores']:.0f}."
    )
    return [table(("process", "part", "microseconds a step", "share"), rows), "", sentence]
