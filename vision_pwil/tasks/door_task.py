"""The door with its imitation reward, as the training loop plays it: physics, frames, embedding, coupling.

The reward of an episode is computed when the episode is over: its frames are drawn and encoded in one go, then coupled.
One point (frame or state) for each step, of the state after the step, so that the opened door is seen. While training,
one in `point_interval` steps may do: each such point then carries the mass of the steps it stands for. At the horizon
the episode is over for the learner too, as it is when the door opens: the demonstrations' mass is spent, and no reward
follows. Opening pays because the rewards of the absorbing steps that follow it are paid out at once.

Where the absorbing steps lie is a choice. "last": each at the point where its own episode ended (the paper, after
AIRL). "shared": all in the one absorbing state of the task (as in DAC, Kostrikov et al. 2019), whichever episode they
come from; its point is the mean of the demonstrations' last points. Then opening earns what no pose before an almost
open door can.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import torch

from vision_pwil.demonstrations import Demonstrations
from vision_pwil.door_env import FRAME, OPEN_ANGLE, SETTINGS, SUCCESS_ANGLE, DoorEnv
from vision_pwil.encoder import Encoder
from vision_pwil.envs.camera import MujocoCamera
from vision_pwil.envs.open_loop import ANGLE
from vision_pwil.rewards.reward import Rewarder
from vision_pwil.rewards.wasserstein import exact_w1, greedy_w1
from vision_pwil.system import checkpoint
from vision_pwil.system.errors import InputError
from vision_pwil.training.rollout import Choose, Trajectory

Metric = Literal["pixels", "state"]
Absorbing = Literal["last", "shared"]


class Atoms(NamedTuple):
    """The demonstrations as weighted points. An absorbing one stands for all steps to the horizon: the last point of
    each demonstration, or a point shared by all, which then is the last atom."""

    points: np.ndarray
    weights: np.ndarray


def _weighted(videos: list[np.ndarray], ended: list[bool], horizon: int, absorbing: Absorbing) -> Atoms:
    for number, video in enumerate(videos):
        if len(video) > horizon:
            raise InputError(
                f"Demonstration {number} takes {len(video)} steps, more than the horizon of {horizon}: raise --horizon."
            )
    weights = [np.ones(len(video), np.int64) for video in videos]
    after = [(horizon - len(video)) * end for video, end in zip(videos, ended, strict=True)]
    if absorbing == "last":
        for weight, steps in zip(weights, after, strict=True):
            weight[-1] += steps
    elif sum(after):
        mean = np.mean([video[-1] for video, end in zip(videos, ended, strict=True) if end], axis=0)
        videos, weights = [*videos, mean[None]], [*weights, np.array([sum(after)])]
    else:
        raise InputError(
            "No demonstration ends before the horizon with the door open, so there is no absorbing state to share: "
            "use --absorbing last."
        )
    return Atoms(np.concatenate(videos), np.concatenate(weights))


def pixel_atoms(demonstrations: Demonstrations, encoder: Encoder, horizon: int, absorbing: Absorbing = "last") -> Atoms:
    """Embeddings of the demonstrations' frames."""
    demonstrations.require("frames")
    episodes = demonstrations.episodes
    videos = [encoder.embed(episode.frames) for episode in episodes if episode.frames is not None]
    return _weighted(videos, [episode.absorbing for episode in episodes], horizon, absorbing)


def state_atoms(
    demonstrations: Demonstrations, horizon: int, open_angle: float = OPEN_ANGLE, absorbing: Absorbing = "last"
) -> Atoms:
    """The recorded states after each step, until the door is open."""
    demonstrations.require("states")
    videos, ended = [], []
    for episode in demonstrations.episodes:
        states = np.asarray(episode.states)[1:]
        beyond = np.flatnonzero(states[:, ANGLE] > open_angle)
        videos.append(states[: beyond[0] + 1] if len(beyond) else states[:horizon])
        ended.append(bool(len(beyond)))
    return _weighted(videos, ended, horizon, absorbing)


@dataclass(frozen=True)
class DoorTaskFactory:
    """All that a process needs to play the door."""

    atoms: Atoms
    metric: Metric
    encoder: str | None
    """File of the encoder, for the metric "pixels"."""
    horizon: int
    open_angle: float
    alpha: float
    beta: float
    time_feature: bool
    point_interval: int = 1
    """Steps for each point that the reward sees while training; evaluations see every step."""
    absorbing: Absorbing = "last"
    """Where the steps after the opening lie; the atoms were made with the same choice."""

    def build(self) -> "DoorTask":
        """Make the environment, the renderer and the rewarder."""
        return DoorTask(self)

    def save(self, path: Path) -> None:
        """Write all but the encoder, which stays a file of its own."""
        arrays = {name: torch.from_numpy(array) for name, array in self.atoms._asdict().items()}
        plain = {name: value for name, value in vars(self).items() if name not in ("atoms", "encoder")}
        checkpoint.save(path, arrays, plain)

    @classmethod
    def load(cls, path: Path, encoder: str | None) -> "DoorTaskFactory":
        """Read what `save` wrote; `encoder` is the encoder's file where the metric needs one."""
        arrays, plain = checkpoint.load(path)
        return cls(Atoms(**{name: array.numpy() for name, array in arrays.items()}), encoder=encoder, **plain)


class DoorTask:
    """The door under PWIL's reward."""

    def __init__(self, settings: DoorTaskFactory) -> None:
        self.settings, self.horizon = settings, settings.horizon
        self.env = DoorEnv(horizon=settings.horizon, open_angle=settings.open_angle)
        (self.action_size,) = self.env.action_space.shape or ()
        make = Rewarder.for_embeddings if settings.metric == "pixels" else Rewarder.for_states
        points, weights = settings.atoms

        def rewarder(horizon: int) -> Rewarder:
            return make(points, horizon, weights=weights, alpha=settings.alpha, beta=settings.beta)

        self.rewarder = rewarder(self.horizon)
        points_seen = -(-self.horizon // settings.point_interval)
        self._sparse = self.rewarder if points_seen == self.horizon else rewarder(points_seen)
        self._absorbing_point = points[-1] if settings.absorbing == "shared" else None
        self._encoder = Encoder.load(settings.encoder) if settings.encoder else None

    @cached_property
    def camera(self) -> MujocoCamera:
        """Made when the first frame is needed."""
        return MujocoCamera(self.env, SETTINGS)

    def rollout(self, choose: Choose, seed: int, *, evaluating: bool = False) -> Trajectory:
        """One episode. When `evaluating`, the policy acts on after the door is open, for the angle that it reaches."""
        state, _ = self.env.reset(seed=seed)
        states, actions, observations, qpos = [], [], [self._observe(state, 0)], []
        angle, opened = 0.0, False
        for step in range(self.horizon):
            action = choose(self._observe(state, step), step)
            state, _, terminated, _, info = self.env.step(action)
            angle = max(angle, info["door_angle"])
            if not opened:
                actions.append(action)
                states.append(state)
                observations.append(self._observe(state, step + 1))
                qpos.append(self.env.get_state()["qpos"])
            opened = opened or terminated
            if opened and not evaluating:
                break
        place = self.env.get_state()["door_body_pos"]
        interval = 1 if evaluating else self.settings.point_interval
        seen = np.union1d(np.arange(interval - 1, len(qpos), interval), len(qpos) - 1)
        points = self._points(np.array(states)[seen], np.array(qpos)[seen], place)
        rewarder = self.rewarder if evaluating else self._sparse
        costs, paid = rewarder.episode(points, absorbing=opened, absorbing_point=self._absorbing_point)
        rewards = spread(paid, seen, interval)
        return Trajectory(
            np.array(observations),
            np.array(actions),
            rewards,
            terminal=True,
            statistics={"return": rewards.sum(), "steps": len(actions), "opened": opened, "door_angle": angle},
            record={"points": points, "costs": costs, "qpos": np.array(qpos), "place": place},
        )

    def measure(self, trajectory: Trajectory) -> dict[str, float]:
        """The paper's figures for an episode: imitation return, W1 and its greedy bound, success."""
        points, costs = trajectory.record["points"], trajectory.record["costs"]
        end = points[-1] if self._absorbing_point is None else self._absorbing_point
        visited, masses = np.vstack([points, end]), np.append(np.ones(len(points)), len(costs) - len(points))
        to_features, (atoms, weights) = self.rewarder.metric, self.settings.atoms
        return {
            **trajectory.statistics,
            "success": trajectory.statistics["door_angle"] >= SUCCESS_ANGLE,
            "w1": exact_w1(to_features(visited), to_features(atoms), masses, weights),
            "greedy_w1": greedy_w1(costs),
        }

    def film(self, trajectory: Trajectory) -> np.ndarray | None:
        """The episode as the encoder sees it."""
        try:
            return self._draw(trajectory.record["qpos"], trajectory.record["place"])
        except InputError:  # no OpenGL here: the metric "state" needs none
            return None

    def embed(self, qpos: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Points of the metric "pixels" from joint positions (n,30) and the place of the door: draw, then encode."""
        assert self._encoder is not None
        return self._encoder.embed(self._draw(qpos, place))

    def _draw(self, qpos: np.ndarray, place: np.ndarray) -> np.ndarray:
        return self.camera.draw(self.camera.pose(qpos, {FRAME: place}))

    def _observe(self, state: np.ndarray, step: int) -> np.ndarray:
        """What the policy sees: the state, and with `time_feature` the fraction of the episode that is over."""
        return observe(state, step / self.horizon if self.settings.time_feature else None)

    def _points(self, states: np.ndarray, qpos: np.ndarray, place: np.ndarray) -> np.ndarray:
        return states if self._encoder is None else self.embed(qpos, place)


def spread(paid: np.ndarray, seen: np.ndarray, interval: int) -> np.ndarray:
    """Rewards of every step from those of the steps `seen`, each standing for `interval` steps.

    Rewards beyond the last step seen, of an absorbed episode, follow it at the same interval.
    """
    after = seen[-1] + interval * np.arange(1, len(paid) - len(seen) + 1)
    places = np.concatenate([seen, after])
    rewards = np.zeros(places[-1] + 1)
    rewards[places] = interval * paid
    return rewards


def observe(state: np.ndarray, time: float | None) -> np.ndarray:
    """A state as the policy's observation, float32."""
    return np.asarray(state if time is None else [*state, time], dtype=np.float32)
