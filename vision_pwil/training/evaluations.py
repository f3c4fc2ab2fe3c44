"""The evaluations of a run: played in a process of their own, each from a policy kept on disk until it is done."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from vision_pwil.agents.protocol import Act, Policy
from vision_pwil.system import checkpoint
from vision_pwil.system.board import Board, gif
from vision_pwil.system.files import parsing, replacing
from vision_pwil.system.run import Row, Run
from vision_pwil.training.rollout import Assess, Assessment, Playable
from vision_pwil.training.snapshot import read_snapshot, write_snapshot
from vision_pwil.training.worker import Worker

EVALUATION = 1
"""Second number of the seeds of evaluation episodes; every evaluation plays the same ones, whatever the run's seed."""


def conclude(run: Run, finished: bool) -> tuple[Row, Row] | None:
    """Write a run's outcome; return its last evaluation and the one with the highest return, if there are any."""
    curve = run.read_curve()
    last = curve[-1] if curve else {}
    best = max(curve, key=lambda row: row["return"], default={})
    run.write_summary({"finished": finished, **last, "best": best})
    return (last, best) if curve else None


class Evaluations:
    """The learning curve, and the evaluations still owed to it.

    Each plays `task` from a policy, made as `like` is, that says of itself what stands in `about`. `level` is what
    held-out demonstrations have of the same numbers, drawn beside them. Training never waits for an evaluation and does
    not depend on one. A killed run finds those that it owed by their policies in the run directory; what lies beyond
    `step`, where the run goes on, will come again and is dropped.
    """

    def __init__(
        self,
        run: Run,
        board: Board,
        *,
        task: Playable,
        act: Act,
        about: Mapping[str, Any],
        episodes: int,
        step: int,
        like: Policy,
        level: Mapping[str, float] | None = None,
    ) -> None:
        self.run, self.board, self.episodes, self.about, self.level = run, board, episodes, about, level or {}
        self.curve: list[Row] = [row for row in run.read_curve() if row["step"] <= step]
        done = {int(row["step"]) for row in self.curve}
        for path in self._owed():
            if int(path.stem) > step or int(path.stem) in done:
                path.unlink()
        self._worker, self._like = Worker(task, act), _tensors(like)
        self._running: Path | None = None

    def owe(self, step: int, policy: Policy) -> None:
        """Evaluate this policy soon, unless the curve has this step already."""
        if all(row["step"] != step for row in self.curve):
            write_snapshot(self.run.pending / f"{step:012d}.safetensors", policy, {**self.about, "step": step})

    def turn(self) -> None:
        """Take a finished evaluation; start the next one owed."""
        if self._running and self._worker.ready():
            self._take(self._worker.receive(), self._running)
            self._running = None
        if not self._running and (owed := self._owed()):
            self._running = owed[0]
            policy, _ = read_snapshot(self._running)
            with parsing(self._running, "policy of this run"):
                checkpoint.require_alike(_tensors(policy), self._like)
            seeds = [(0, EVALUATION, index) for index in range(self.episodes)]
            self._worker.send(Assess(policy, seeds, self.about["action_repeat"]))

    def finish(self, stop: Callable[[], bool]) -> None:
        """Do all that are owed, unless `stop` says otherwise meanwhile."""
        self.turn()
        while self._running and not stop():
            self._worker.ready(timeout=0.2)
            self.turn()

    def close(self) -> None:
        """End the process; what it was at is owed."""
        self._worker.close()

    def _owed(self) -> list[Path]:
        return sorted(path for path in self.run.pending.glob("*.safetensors") if path.stem.isdecimal())

    def _take(self, evaluation: Assessment, path: Path) -> None:
        step, saved = int(path.stem), path.read_bytes()
        means = {name: float(np.mean([e[name] for e in evaluation.episodes])) for name in evaluation.episodes[0]}
        highest = max((row["return"] for row in self.curve), default=-np.inf)
        self.curve.append({"step": step, **means})
        self.board.scalars("eval", means, step)
        self.board.scalars("held_out", self.level, step)
        self.board.curve("eval/reward", evaluation.rewards, step)
        if evaluation.frames is not None:
            moving = gif(evaluation.frames)
            self.board.video("eval/rollout", moving, evaluation.frames.shape[1:3], step)
            with replacing(self.run.videos / f"{step:09d}.gif") as temporary:
                temporary.write_bytes(moving)
        self.board.flush()
        for kept in (self.run.policy, self.run.best) if means["return"] > highest else (self.run.policy,):
            with replacing(kept) as temporary:
                temporary.write_bytes(saved)
        self.run.write_curve(self.curve)
        path.unlink()


def _tensors(policy: Policy) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(np.asarray(array)) for name, array in policy.items()}
