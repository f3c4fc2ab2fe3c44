"""Any Gymnasium environment with PWIL's reward on state-action pairs, as the training loop plays it.

As in Algorithm 1, the point of a step is the pair of the state before the action and the action. Falling ends an
episode early and is not absorbing here: its reward simply stops, and nothing is bootstrapped. At the time limit the
episode is cut, and the last state's value is bootstrapped as usual. Without demonstrations the reward is the task's.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from vision_pwil.envs.flat import FlatEnv
from vision_pwil.rewards.coupling import GreedyCoupling
from vision_pwil.rewards.metric import StandardizedEuclidean
from vision_pwil.rewards.reward import Rewarder
from vision_pwil.rewards.wasserstein import exact_w1, greedy_w1
from vision_pwil.system import checkpoint
from vision_pwil.system.errors import InputError
from vision_pwil.training.rollout import Choose, Trajectory

Ablation = Literal["none", "state", "l2", "nofill", "support"]


@dataclass(frozen=True)
class Expert:
    """What the agent gets to see of the demonstrations, and how it is rewarded for coming near."""

    states: np.ndarray
    """(D, S)."""
    actions: np.ndarray | None
    """(D, A), in the environment's units; None if they are not known."""
    ablation: Ablation = "none"
    """"state" compares states only, "l2" without standardisation, "support" to atoms of infinite capacity."""
    alpha: float = 5.0
    beta: float = 5.0
    min_deviation: float = 0.0
    """Least standard deviation that a dimension is divided by, in the reward alone."""
    dimensions: tuple[int, ...] = ()
    """Of the state, those that the reward compares; none named: all."""

    def __post_init__(self) -> None:
        """Raise one clear sentence where a bound makes no sense."""
        if self.min_deviation < 0:
            raise InputError(f"The least deviation is {self.min_deviation}, which cannot be negative: give 0 or more.")

    def pairs(self) -> np.ndarray:
        """The expert's points: state-action pairs, or states where actions are not known."""
        return self.states if self.actions is None else np.concatenate([self.states, self.actions], axis=1)

    def compared(self, pairs: np.ndarray) -> np.ndarray:
        """What the reward compares of state-action pairs: states, or some of their dimensions, and known actions."""
        size = self.states.shape[1]
        acted = self.actions is not None and self.ablation != "state"
        columns = [*(self.dimensions or range(size)), *range(size, pairs.shape[1] if acted else size)]
        return pairs[:, columns]

    def rewarder(self, horizon: int) -> Rewarder:
        """Eq. 7, or one of its ablations (section "Ablation Study")."""
        return Rewarder.for_states(
            self.compared(self.pairs()),
            horizon,
            standardized=self.ablation != "l2",
            min_deviation=self.min_deviation,
            support=self.ablation == "support",
            alpha=self.alpha,
            beta=self.beta,
        )


@dataclass(frozen=True)
class LocomotionTaskFactory:
    """All that a process needs to play an environment."""

    env_id: str
    horizon: int | None = None
    expert: Expert | None = None
    """None: the reward is the task's own."""
    absorbing_bit: bool = False
    """Show the policy a last dimension that is 1 in the absorbing state, and end falls in it (DAC)."""

    def build(self) -> "LocomotionTask":
        """Make the environment and the rewarder."""
        return LocomotionTask(self)

    def save(self, path: Path) -> None:
        """Write everything, so that the run can be evaluated without its demonstrations."""
        known = {} if self.expert is None else vars(self.expert)
        arrays = {name: torch.from_numpy(value) for name, value in known.items() if isinstance(value, np.ndarray)}
        expert = {name: value for name, value in known.items() if name not in ("states", "actions")}
        checkpoint.save(path, arrays, {**vars(self), "expert": expert})

    @classmethod
    def load(cls, path: Path) -> "LocomotionTaskFactory":
        """Read what `save` wrote."""
        arrays, plain = checkpoint.load(path)
        known = {"actions": None, **{name: array.numpy() for name, array in arrays.items()}, **plain["expert"]}
        return cls(**{**plain, "expert": Expert(**known) if plain["expert"] else None})


class LocomotionTask:
    """An environment under PWIL's reward."""

    def __init__(self, settings: LocomotionTaskFactory) -> None:
        self.settings, self.expert = settings, settings.expert
        self.env = FlatEnv(settings.env_id, settings.horizon)
        self.horizon, self.action_size = self.env.horizon, self.env.action_size
        if self.expert is not None:
            self.rewarder = self.expert.rewarder(self.horizon)
            pairs = self.expert.pairs()
            self.metric = StandardizedEuclidean.of(pairs)
            self.atoms = self.metric(pairs)

    def rollout(self, choose: Choose, seed: int, *, evaluating: bool = False) -> Trajectory:
        """One episode."""
        observations = [self._observe(self.env.reset(seed))]
        actions: list[np.ndarray] = []
        task_rewards: list[float] = []
        terminated = truncated = False
        while not (terminated or truncated):
            action = choose(observations[-1], len(actions))
            state, reward, terminated, truncated, _ = self.env.step(action)
            observations.append(self._observe(state))
            actions.append(action)
            task_rewards.append(reward)
        trajectory = self._trajectory(np.array(observations), np.array(actions), np.array(task_rewards), terminated)
        return enter_absorbing(trajectory) if self.settings.absorbing_bit and terminated else trajectory

    def _trajectory(
        self, observations: np.ndarray, actions: np.ndarray, task_rewards: np.ndarray, terminated: bool
    ) -> Trajectory:
        task_return = float(task_rewards.sum())
        if self.expert is None:
            statistics = {"return": task_return, "steps": len(actions)}
            return Trajectory(observations, actions, task_rewards, terminated, statistics)
        states = observations[:-1, : self.env.observation_size]
        pairs = np.concatenate([states, self.env.bounds.to_env(actions)], axis=1)
        rewards = self.rewarder.episode(self.expert.compared(pairs)).rewards
        statistics = {"return": float(rewards.sum()), "task_return": task_return, "steps": len(actions)}
        return Trajectory(observations, actions, rewards, terminated, statistics, {"pairs": pairs})

    def measure(self, trajectory: Trajectory) -> dict[str, float]:
        """The paper's figures for an episode: both returns, W1 and its greedy bound.

        Whatever the reward was, the distance is the standardised one between state-action pairs (states where the
        demonstrations have no actions), so that agents, ablations and baselines compare. An episode of n steps weighs
        every one 1/n, also when it fell early; its greedy bound is that of a coupling of n steps.
        """
        if self.expert is None:
            return trajectory.statistics
        points = self.metric(trajectory.record["pairs"][:, : self.atoms.shape[1]])
        bound = greedy_w1(GreedyCoupling(self.atoms, len(points)).episode(points))
        return {**trajectory.statistics, "w1": exact_w1(points, self.atoms), "greedy_w1": bound}

    def film(self, trajectory: Trajectory) -> np.ndarray | None:
        """No film: drawing an episode takes longer than an evaluation."""
        return None

    def _observe(self, state: np.ndarray) -> np.ndarray:
        return np.append(state, 0.0) if self.settings.absorbing_bit else state


def absorbing_state(observation_size: int) -> np.ndarray:
    """DAC's absorbing state: zeros, and its indicator bit."""
    return np.append(np.zeros(observation_size - 1), 1.0)


def enter_absorbing(trajectory: Trajectory) -> Trajectory:
    """An episode that ended early as DAC stores it (Kostrikov et al. 2019, section 4.2).

    Its last step leads to the absorbing state, where one more transition, with the action 0, leads to itself;
    bootstrapping goes on for ever.
    """
    absorbing = absorbing_state(trajectory.observations.shape[1])
    return Trajectory(
        np.concatenate([trajectory.observations[:-1], [absorbing, absorbing]]),
        np.concatenate([trajectory.actions, np.zeros_like(trajectory.actions[:1])]),
        np.append(trajectory.rewards, 0.0),
        terminal=False,
        statistics=trajectory.statistics,
        record=trajectory.record,
        unplayed=1,
    )
