"""The training loop, for every task and agent.

The collector, a process of its own, plays whole episodes. At each boundary between episodes the learner takes episode
k from it, hands it the policy as it is now for episode k + 1, and does the updates that episode k owes meanwhile.
Every episode is a function of the seed, its number and that policy; so a run is reproducible bit for bit, and a
checkpoint at a boundary needs no environment state. Evaluations run in a third process, from a policy saved for them;
nothing that trains waits for them or depends on them.
"""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from threading import Event
from typing import Any

import numpy as np
import torch

from vision_pwil.agents.parts import Part, gather
from vision_pwil.agents.parts import restore as restore_parts
from vision_pwil.agents.protocol import Act, Agent, Batch
from vision_pwil.system import checkpoint
from vision_pwil.system.board import Board
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import parsing
from vision_pwil.system.interrupt import asked_to_stop
from vision_pwil.system.malloc import keep_freed_memory
from vision_pwil.system.progress import progress
from vision_pwil.system.run import Run
from vision_pwil.system.settings import Settings, Whole, restore
from vision_pwil.system.threads import use_threads
from vision_pwil.training.elite import Elite, Span
from vision_pwil.training.evaluations import Evaluations
from vision_pwil.training.pacing import Pacing
from vision_pwil.training.replay import Replay, n_step_transitions
from vision_pwil.training.rollout import Collect, Playable, Trajectory
from vision_pwil.training.settings import TrainingConfig
from vision_pwil.training.steady import SteadyPolicy
from vision_pwil.training.worker import Worker

EXPLORATION = 0
"""Second number of the seeds of exploring episodes."""
LARGEST = 1e6
"""A loss or value beyond this has exploded: PWIL's discounted returns stay below alpha / (1 - gamma), a few hundred."""


@dataclass(frozen=True)
class Place(Settings):
    """Where a run is: what its checkpoint says beside the agent's tensors."""

    step: Whole
    """Environment steps played."""
    episode: Whole
    """Episodes played."""
    updates: Whole
    """Updates done."""
    replay: Whole
    """Transitions ever added to the replay."""
    sampling: dict[str, Any]
    """State of the generator that draws minibatches."""
    elite: tuple[Span, ...]
    """The best episodes."""
    pacing: Whole
    """How far pace has come in, see `Pacing`."""
    recent: tuple[bool, ...]
    """Which of the last episodes finished the task."""


class Diverged(InputError):
    """Values became NaN or too large to mean anything."""


class Trainer:
    """The state of a run between two episodes, continued from the run directory's checkpoint when there is one.

    Args:
        run: the directory.
        config: settings.
        task: what is played, in processes of its own.
        agent: a learner, fresh.
        act: how a process without the learner acts with the agent's policy.
        replay: empty, or prefilled.
        demonstrated: the demonstrations' transitions, where batches hold a share of them; it draws from the replay's
            random state.
        about: what a saved policy says of its task, so that it can act far from its run.
        level: what held-out demonstrations have of an evaluation's numbers, where it is known.
    """

    def __init__(
        self,
        run: Run,
        config: TrainingConfig,
        *,
        task: Playable,
        agent: Agent,
        act: Act,
        replay: Replay,
        demonstrated: Replay | None = None,
        about: Mapping[str, Any],
        level: Mapping[str, float] | None = None,
    ) -> None:
        self.run, self.config, self.task, self.agent, self.act, self.replay = run, config, task, agent, act, replay
        self.demonstrated, self.level = demonstrated, level
        self.about = {"agent": agent.name, "action_repeat": config.action_repeat, **about}
        self.elite = Elite(config.elite_episodes)
        self.pacing = Pacing(config.pace_after)
        self.steady = SteadyPolicy(agent.policy(), config.steady_episodes)
        self.step = self.episode = self.updates = 0
        if run.checkpoint.exists():
            self._load()
        self.board = Board(run.events, self.step)

    def train(self) -> bool:
        """Learn until the configured number of steps; False when a signal asked to stop before.

        It stops at the end of an episode, a second or two after the signal.
        """
        use_threads(self.config.threads)
        keep_freed_memory()
        with asked_to_stop() as stop:
            return self._train(stop)

    def _train(self, stop: Event) -> bool:
        collector = Worker(self.task, self.act)
        evaluations = Evaluations(
            self.run,
            self.board,
            task=self.task,
            act=self.act,
            about=self.about,
            episodes=self.config.evaluation_episodes,
            step=self.step,
            like=self.agent.policy(),
            level=self.level,
        )
        bar = progress(total=self.config.steps, initial=self.step, unit="step", smoothing=0.05)
        try:
            if self.episode == 0:
                evaluations.owe(0, self.steady.arrays)
            saved = time.monotonic()
            while self.step < self.config.steps and not stop.is_set():
                bar.update(self.play(collector))
                if self._passed(self.config.evaluation_interval):
                    evaluations.owe(self.step, self.steady.arrays)
                evaluations.turn()
                if evaluations.curve:
                    bar.set_postfix({name: f"{evaluations.curve[-1][name]:.3g}" for name in ("return",)})
                if time.monotonic() - saved > self.config.checkpoint_seconds:
                    self._save()
                    saved = time.monotonic()
            self._save()
            if not stop.is_set():
                self._learn()
                self.steady.follow(self.agent.policy())
                evaluations.owe(self.step, self.steady.arrays)
                evaluations.finish(stop.is_set)
            return not stop.is_set()
        finally:
            bar.close()
            collector.close()
            evaluations.close()
            self.board.close()

    def play(self, collector: Worker) -> int:
        """Collect an episode with the policy as it is, and learn meanwhile from those before; returns its steps."""
        started = time.monotonic()
        random = self.step < self.config.random_steps
        policy = None if random else self.agent.policy()
        collector.send(
            Collect(
                policy,
                (self.config.seed, EXPLORATION, self.episode),
                self.config.noise_exponent,
                self.config.action_repeat,
            )
        )
        done = self.updates
        metrics = self._learn()
        learned = time.monotonic()
        trajectory: Trajectory = collector.receive()
        self._add(trajectory)
        self.steady.follow(self.agent.policy())
        finished = time.monotonic()

        self.board.scalars("train", trajectory.statistics, self.step)
        if self.config.pace_after:
            self.board.scalars("train", {"pace_weight": self.pacing.weight}, self.step)
        self.board.scalars("losses", metrics, self.step)
        speed = {"steps_per_second": trajectory.steps / (finished - started)}
        if self.updates > done:
            speed["update_milliseconds"] = 1e3 * (learned - started) / (self.updates - done)
            speed["learner_waits"] = (finished - learned) / (finished - started)
        self.board.scalars("perf", speed, self.step)
        return trajectory.steps

    def _learn(self) -> dict[str, float]:
        """Do the updates that the steps so far owe; return the means of their metrics."""
        owed = int((self.step - self.config.random_steps) / self.config.update_interval) - self.updates
        if owed < 1:
            return {}
        history = [self.agent.update(batch) for batch in self._batches(owed)]
        self.updates += owed
        means = {name: float(torch.stack([metrics[name] for metrics in history]).mean()) for name in history[0]}
        for name, value in means.items():
            if not abs(value) < LARGEST:  # also true of NaN
                raise Diverged(
                    f"Training diverged at step {self.step}: {name} is {value:.3g}; the checkpoint in {self.run.path} "
                    "is from before. Try a lower learning rate, another seed, or --critic-layer-norm."
                )
        return means

    def _batches(self, count: int) -> list[Batch]:
        """So many batches, each with its shares of demonstrated transitions and of the best episodes'."""
        shown, repeated = self.config.shown, self.config.repeated
        parts = [(self.config.batch_size - shown - repeated, self.replay.sample)]
        if self.demonstrated is not None:
            parts.append((shown, self.demonstrated.sample))
        if repeated:
            best = self.elite.numbers(self.replay.oldest)
            parts.append((repeated, partial(self.replay.sample, among=best if len(best) else None)))
        for replay in (self.replay, self.demonstrated):
            if replay is not None:
                replay.pace_weight = self.pacing.weight
        drawn = [sample(count * size).split(size) for size, sample in parts]
        return (
            drawn[0]
            if len(drawn) == 1
            else [Batch(*map(torch.cat, zip(*each, strict=True))) for each in zip(*drawn, strict=True)]
        )

    def _add(self, trajectory: Trajectory) -> None:
        self.agent.observe(trajectory.observations)
        first = self.replay.count
        self.replay.add(
            n_step_transitions(
                trajectory.observations,
                trajectory.actions,
                trajectory.rewards,
                terminal=trajectory.terminal,
                gamma=self.config.gamma,
                n=self.config.n_step * self.config.action_repeat,
                every=self.config.action_repeat,
                unpaced=trajectory.unpaced,
            )
        )
        self.pacing.add(trajectory.finished)
        if trajectory.finished:
            self.elite.add(float(np.sum(trajectory.rewards)), first, self.replay.count)
        self._previous, self.step = self.step, self.step + trajectory.steps
        self.episode += 1

    def _passed(self, interval: int) -> bool:
        """Whether the last episode passed a multiple of `interval`; the end has an evaluation of its own."""
        return self._previous // interval < self.step // interval and self.step < self.config.steps

    def _parts(self) -> dict[str, Part]:
        return {"agent": self.agent, "steady": self.steady}

    def _save(self) -> None:
        started = time.monotonic()
        self.replay.save(self.run.replay)
        sampling = dict(self.replay.rng.bit_generator.state)
        place = Place(
            self.step,
            self.episode,
            self.updates,
            self.replay.count,
            sampling,
            self.elite.spans,
            self.pacing.count,
            self.pacing.recent,
        )
        checkpoint.save(self.run.checkpoint, gather(self._parts()), asdict(place))
        self.board.scalars("perf", {"checkpoint_seconds": time.monotonic() - started}, self.step)
        self.board.flush()

    def _load(self) -> None:
        tensors, values = checkpoint.load(self.run.checkpoint)
        with parsing(self.run.checkpoint, "checkpoint of this run"):
            checkpoint.require_alike(tensors, gather(self._parts()))
            restore_parts(self._parts(), tensors)
            place = restore(Place, values)
            self.step, self.episode, self.updates = place.step, place.episode, place.updates
            self.replay.rng.bit_generator.state = place.sampling
            self.elite.restore(place.elite)
            self.pacing.restore(place.pacing, place.recent)
        self.replay.load(self.run.replay, place.replay)
