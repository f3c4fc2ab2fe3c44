"""The demonstrations' own transitions, for agents whose batches hold a share of them (Ball et al. 2023, "RLPD").

Where demonstrations were recorded with states and actions (teleoperation, a policy), a learner can be shown what to do
beside what is worth doing. Each step earns what the task's reward pays it beside the other demonstrations: what an
agent that did the same would earn. Videos alone have no such transitions.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from vision_pwil.demonstrations import Demonstrations
from vision_pwil.envs.flat import Bounds, FlatEnv
from vision_pwil.system.errors import InputError
from vision_pwil.tasks.atoms import points_of, weighted
from vision_pwil.tasks.comparison import Comparison
from vision_pwil.tasks.config import TaskConfig
from vision_pwil.tasks.making import finishes
from vision_pwil.tasks.observation import Observation
from vision_pwil.tasks.task import Task
from vision_pwil.training.replay import Replay, Transitions, n_step_transitions
from vision_pwil.training.settings import TrainingConfig


def require_demonstrated(config: TaskConfig, shown: Demonstrations | None, env: FlatEnv) -> None:
    """Raise one clear sentence unless these demonstrations have transitions to show."""
    if shown is None:
        raise InputError("--demonstrated shares batches with demonstrations, and there are none: leave it at 0.")
    if len(shown.episodes) < 2:
        raise InputError("--demonstrated rewards each demonstration beside the others: give two at the least.")
    if config.observe != "state":
        raise InputError("--demonstrated takes states as the policy sees them: leave it at 0, or give --observe state.")
    env.require(shown, actions=True)


def demonstrated_replay(
    task: Task, training: TrainingConfig, shown: Demonstrations, env: FlatEnv, replay: Replay
) -> Replay:
    """A replay of the demonstrations' transitions, beside an agent's."""
    rewards, observation = rewarded(task, shown, env), task.observation(env)
    without = replace(task, config=replace(task.config, pace=0.0))
    paid = [*zip(rewards, rewarded(without, shown, env) if task.config.pace else rewards, strict=True)]
    parts = list(transitions(shown, paid, observation, env.bounds, training, terminal=task.config.ending != "none"))
    rows = Transitions(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    held = Replay(len(rows.reward), rows.observation.shape[1], env.action_size, training.seed)
    held.add(rows)
    held.rng = replay.rng  # one random state for both, which the checkpoint keeps
    return held


def rewarded(task: Task, shown: Demonstrations, env: FlatEnv) -> list[np.ndarray]:
    """What each demonstration earns beside the others; the rewards of absorbing steps follow those of its own."""
    config, points = task.config, points_of(shown, task.config.compare, task.encoder)
    ended, found = finishes(shown), []
    for number, path in enumerate(points):
        others = [other for other in range(len(points)) if other != number]
        atoms = weighted(
            [points[other] for other in others],
            [ended[other] for other in others],
            env.horizon,
            config.ending,
            timed=config.pace > 0,
        )
        comparison = Comparison(task.reward, config, atoms, env.horizon, env.state_size)
        found.append(comparison.pay(path, absorbed=ended[number] and config.ending != "none").rewards)
    return found


def transitions(
    shown: Demonstrations,
    rewards: list[tuple[np.ndarray, np.ndarray]],
    observation: Observation,
    bounds: Bounds,
    training: TrainingConfig,
    *,
    terminal: bool,
) -> Iterator[Transitions]:
    """The transitions from every step, each over as many steps as one of the agent's; rewards with and without pace.

    An agent that holds its actions learns from the steps at which it chose one; a demonstration may have chosen at any.
    The state after the last action was not recorded: the last one stands for it, and where nothing follows the end it
    has no influence.
    """
    repeat = training.action_repeat
    for episode, (paid, unpaced) in zip(shown.episodes, rewards, strict=True):
        states = np.asarray(episode.states)
        actions = bounds.to_policy(np.asarray(episode.actions)[: len(states)])
        observations = np.array([observation(state, step) for step, state in enumerate([*states, states[-1]])])
        for start in range(min(repeat, len(states))):
            yield n_step_transitions(
                observations[start:],
                actions[start:],
                paid[start:],
                terminal=terminal,
                gamma=training.gamma,
                n=training.n_step * repeat,
                every=repeat,
                unpaced=unpaced[start:],
            )
