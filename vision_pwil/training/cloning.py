"""Behavioural cloning's loop: updates on expert pairs, with the evaluations of any other run."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vision_pwil.agents.protocol import Act, Agent
from vision_pwil.system.board import Board
from vision_pwil.system.interrupt import asked_to_stop
from vision_pwil.system.progress import progress
from vision_pwil.system.run import Run
from vision_pwil.system.threads import use_threads
from vision_pwil.training.evaluations import Evaluations
from vision_pwil.training.replay import Replay, Transitions
from vision_pwil.training.rollout import Playable
from vision_pwil.training.settings import TrainingConfig


def clone(
    run: Run,
    config: TrainingConfig,
    *,
    task: Playable,
    agent: Agent,
    act: Act,
    states: np.ndarray,
    actions: np.ndarray,
    about: Mapping[str, Any],
) -> bool:
    """Fit for `config.steps` updates to expert pairs, their actions in [-1, 1].

    It plays nothing and takes a minute or two, so it keeps no checkpoint: a run that a signal stopped (False) begins
    again, and ends in the same weights.
    """
    use_threads(config.threads)
    replay = Replay(len(states), states.shape[1], actions.shape[1], config.seed)
    nothing = np.zeros(len(states))
    replay.add(Transitions(states, actions, nothing, nothing, states, nothing))
    board = Board(run.events, 0)
    about = {"agent": agent.name, "action_repeat": 1, **about}
    evaluations = Evaluations(
        run,
        board,
        task=task,
        act=act,
        about=about,
        episodes=config.evaluation_episodes,
        step=0,
        like=agent.policy(),
    )
    try:
        with asked_to_stop() as stop:
            evaluations.owe(0, agent.policy())
            for step in progress(range(1, config.steps + 1), unit="update"):
                if stop.is_set():
                    return False
                metrics = agent.update(replay.sample(config.batch_size))
                if step % config.evaluation_interval == 0 or step == config.steps:
                    evaluations.owe(step, agent.policy())
                    board.scalars("losses", {name: float(value) for name, value in metrics.items()}, step)
                    evaluations.turn()
            evaluations.finish(stop.is_set)
            return not stop.is_set()
    finally:
        evaluations.close()
        board.close()
