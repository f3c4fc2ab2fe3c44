"""A task at play: physics, frames, embedding, reward.

The reward of an episode is computed when the episode is over. As in Algorithm 1, the point of a step is the pair of the
state before the action and the action; a frame is that after the step, so that the finished task is seen. Frames are
drawn and encoded in one go.

With an absorbing ending the episode is over for the learner at the horizon, too: the demonstrations' mass is spent, and
no reward follows. Finishing pays because the rewards of the absorbing steps that follow it are paid out at once.
Without one, falling ends an episode and its reward simply stops; at the time limit the episode is cut, and the last
state's value is bootstrapped as usual.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from vision_pwil.agents.dac.expert import absorbing_state
from vision_pwil.encoder import EMBEDDING
from vision_pwil.envs.camera import Camera
from vision_pwil.envs.control import Choose
from vision_pwil.system.errors import InputError
from vision_pwil.tasks.comparison import Comparison
from vision_pwil.tasks.config import OWN_REWARD
from vision_pwil.tasks.task import Task
from vision_pwil.training.rollout import Trajectory


class Played(NamedTuple):
    """An episode before it is rewarded: n steps, to its end or to where the task was done."""

    states: np.ndarray
    """(n + 1, S)."""
    observations: np.ndarray
    """(n + 1, ...): what the policy saw."""
    actions: np.ndarray
    """(n, A), in [-1, 1]."""
    task_rewards: np.ndarray
    """(n,)."""
    seen: np.ndarray
    """Steps, from 0, whose points the reward sees."""
    pictures: np.ndarray
    """Snapshots of the camera after those steps, where frames are compared."""
    embeddings: dict[int, np.ndarray]
    """Of the frames that the policy saw, by the number of steps before them."""
    watched: dict[str, float]
    """Highest values of what is watched, also beyond the n steps."""
    done: bool
    """The task was finished."""
    terminated: bool
    """The environment ended the episode, one way or another."""


class TaskStage:
    """The environment, camera and reward of a task, alive in one process."""

    def __init__(self, task: Task) -> None:
        self.task, self.config = task, task.config
        pixels = task.config.compare == "frames" and task.reward != OWN_REWARD
        self.env = task.make_env(**({"render_mode": "rgb_array"} if pixels else {}))
        self.camera: Camera | None = task.camera(self.env) if pixels else None
        self.horizon, self.action_size = self.env.horizon, self.env.action_size
        self.observe = task.observation(self.env)
        self._sees_frames = self.observe.embedding > 0
        self.absorbing = task.config.ending != "none"
        self.comparison: Comparison | None = None
        self._unpaced: Comparison | None = None
        if task.reward != OWN_REWARD:
            if task.atoms is None:
                raise InputError(f"The reward {task.reward!r} compares with demonstrations, and there are none.")
            sizes = self.horizon, self.env.state_size
            self.comparison = Comparison(task.reward, task.config, task.atoms, *sizes)
            if task.config.pace:
                self._unpaced = Comparison(task.reward, replace(task.config, pace=0.0), task.atoms, *sizes)

    def rollout(self, choose: Choose, seed: int, *, evaluating: bool = False) -> Trajectory:
        """One episode. When `evaluating`, all of its points are seen, and where something is watched the policy acts on
        after the task is done, for what it reaches beyond."""
        played = self._play(choose, seed, evaluating)
        if self.comparison is None:
            statistics = {"return": float(played.task_rewards.sum()), "steps": len(played.actions)}
            return self._trajectory(played, played.task_rewards, statistics, {})
        interval = 1 if evaluating else self.config.point_interval
        points, absorbed = self._points(played), played.done and self.absorbing

        def paid(comparison: Comparison) -> np.ndarray:
            return spread(comparison.pay(points, absorbed=absorbed, interval=interval).rewards, played.seen, interval)

        rewards = paid(self.comparison)
        statistics = {
            "return": float(rewards.sum()),
            "task_return": float(played.task_rewards.sum()),
            "steps": len(played.actions),
        }
        if self.config.success is not None:
            statistics[self.config.success] = played.done
        record = {"points": points, "absorbed": np.array(absorbed), "pictures": played.pictures}
        trajectory = self._trajectory(played, rewards, {**statistics, **played.watched}, record)
        return trajectory if self._unpaced is None else replace(trajectory, unpaced=paid(self._unpaced))

    def _play(self, choose: Choose, seed: int, evaluating: bool) -> Played:
        interval = 1 if evaluating else self.config.point_interval
        act_on = evaluating and bool(self.config.watch)
        state = self.env.reset(seed)
        embeddings = {0: self._look()} if self._sees_frames else {}
        observation = self.observe(state, 0, embeddings)
        states, observations = [state], [observation]
        actions, task_rewards, seen, pictures = [], [], [], []
        watched = dict.fromkeys(self.config.watch, -np.inf)
        step, done, over, terminated = 0, False, False, False
        while not over:
            action = choose(observation, step)
            state, task_reward, ended, truncated, info = self.env.step(action)
            if self._sees_frames and (step + 1) % self.config.point_interval == 0:
                embeddings[step + 1] = self._look()
            observation = self.observe(state, step + 1, embeddings)
            watched = {name: max(value, float(self._told(info, name, "--watch"))) for name, value in watched.items()}
            if not done:
                terminated, done = ended, self._is_done(ended, info)
                over = truncated or (done and not act_on) or (ended and not done)
                states.append(state)
                observations.append(observation)
                actions.append(action)
                task_rewards.append(task_reward)
                if (step + 1) % interval == 0 or done or over:
                    seen.append(step)
                    if self.camera is not None:
                        pictures.append(self.camera.snapshot())
            over = over or truncated
            step += 1
        return Played(
            np.array(states),
            np.array(observations),
            np.array(actions),
            np.array(task_rewards),
            np.array(seen),
            np.array(pictures),
            embeddings,
            watched,
            done,
            terminated,
        )

    def _look(self) -> np.ndarray:
        """The embedding of the present frame."""
        assert self.camera is not None
        return self.embed(self.camera.snapshot()[None])[0]

    def _is_done(self, ended: bool, info: dict[str, Any]) -> bool:
        """Whether a step finished the task: as `info` says, or else, where endings are absorbing, by termination."""
        key = self.config.success
        if key is None:
            return ended and self.absorbing
        return bool(self._told(info, key, "--success"))

    def _told(self, info: dict[str, Any], key: str, option: str) -> Any:
        """An entry of the environment's info."""
        if key not in info:
            raise InputError(
                f"{self.task.env} never says {key!r}; its info has {', '.join(sorted(info)) or 'nothing'}: "
                f"name one of these with {option}."
            )
        return info[key]

    def _points(self, played: Played) -> np.ndarray:
        """Points of the steps seen: embedded frames, or state-action pairs as far as the demonstrations have them."""
        if self.config.compare == "frames":
            # What the policy saw is what the reward sees: drawn and encoded once.
            known = np.isin(played.seen + 1, [*played.embeddings])
            points = np.empty((len(known), EMBEDDING), np.float32)
            points[known] = [played.embeddings[step] for step in played.seen[known] + 1] if known.any() else 0.0
            if not known.all():
                points[~known] = self.embed(played.pictures[~known])
            return points
        pairs = self.env.pairs(played.states, played.actions)
        assert self.comparison is not None
        return pairs[played.seen, : self.comparison.features.shape[1]]

    def embed(self, pictures: np.ndarray) -> np.ndarray:
        """Embeddings of what the camera took: draw, then encode."""
        assert self.task.encoder is not None and self.camera is not None
        return self.task.encoder.embed(self.camera.draw(pictures))

    def _trajectory(
        self, played: Played, rewards: np.ndarray, statistics: dict[str, float], record: dict[str, np.ndarray]
    ) -> Trajectory:
        observations, actions, unplayed = played.observations, played.actions, 0
        # With an absorbing ending the mass of the demonstrations is spent at the horizon: nothing follows.
        terminal = played.terminated or self.absorbing
        if self.task.absorbing_bit and played.terminated:
            # DAC (Kostrikov et al. 2019, section 4.2): the last step leads to the absorbing state, where one more
            # transition, with the action 0, leads to itself; bootstrapping goes on for ever.
            absorbing = absorbing_state(observations.shape[1])
            observations = np.concatenate([observations[:-1], [absorbing, absorbing]])
            actions = np.concatenate([actions, np.zeros_like(actions[:1])])
            rewards, terminal, unplayed = np.append(rewards, 0.0), False, 1
        return Trajectory(
            observations, actions, rewards, terminal, statistics, record, finished=played.done, unplayed=unplayed
        )

    def measure(self, trajectory: Trajectory) -> dict[str, float]:
        """The paper's figures for an evaluation episode: returns, success, W1 and its greedy bound."""
        if self.comparison is None:
            return trajectory.statistics
        scored = self.comparison.score(trajectory.record["points"], absorbed=bool(trajectory.record["absorbed"]))
        paced = {} if scored.paced_w1 is None else {"paced_w1": scored.paced_w1}
        return {**trajectory.statistics, "w1": scored.w1, "greedy_w1": scored.greedy_w1, **paced}

    def film(self, trajectory: Trajectory) -> np.ndarray | None:
        """The episode as the encoder sees it; None where frames are not compared and would have to be drawn."""
        return None if self.camera is None else self.camera.draw(trajectory.record["pictures"])


def spread(paid: np.ndarray, seen: np.ndarray, interval: int) -> np.ndarray:
    """Rewards of every step from those of the steps `seen`, each standing for `interval` steps.

    Rewards beyond the last step seen, of an absorbed episode, follow it at the same interval.
    """
    after = seen[-1] + interval * np.arange(1, len(paid) - len(seen) + 1)
    places = np.concatenate([seen, after])
    rewards = np.zeros(places[-1] + 1)
    rewards[places] = interval * paid
    return rewards
