"""Open-loop replay of the door's demonstrations: the recorded actions from the recorded start, and each state drawn.

One frame for each step, drawn from the state after the step, so that the opened door is seen. An episode ends at the
step where the door passes `open_angle`; its last frame is absorbing.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from vision_pwil.system import opengl  # noqa: F401  (before mujoco)
from vision_pwil.system.progress import progress

# isort: split
import mujoco

from vision_pwil.demonstrations import format
from vision_pwil.demonstrations.cache import cache_folder, cached
from vision_pwil.demonstrations.episode import Array, Demonstrations, Episode
from vision_pwil.door_env import ENV_ID, FRAME, OPEN_ANGLE, SETTINGS, DoorEnv
from vision_pwil.envs.camera import MujocoCamera
from vision_pwil.envs.renderer import RenderSettings
from vision_pwil.system.errors import InputError
from vision_pwil.system.table import table

ANGLE = 28
"""Where the observation holds the door's angle."""
_CONTINUOUS = slice(0, 38)  # the last entry is the flag that the door is open, which jumps from -1 to 1


@dataclass(frozen=True, eq=False)
class OpenLoop:
    """One demonstration, replayed open loop until the door opened or the actions ran out."""

    states: Array
    """(n, 39): the observation at which action t was taken."""
    qpos: Array
    """(n, 30): joint positions after step t."""
    recorded_steps: int
    """Length of the recording."""
    opened: int | None
    """Steps until the door passed the opening angle, replayed."""
    recorded_opened: int | None
    """The same in the recorded states; None where they never show it, or were not recorded."""
    deviation: float
    """Largest absolute difference of any entry of the state from the recording; NaN without recorded states."""
    deviation_step: int
    """Where that was."""
    angle_deviation: float
    """Largest absolute difference of the door's angle."""

    @property
    def done(self) -> bool:
        """The replay opened the door."""
        return self.opened is not None


def _replay(env: DoorEnv, episode: Episode, number: int) -> OpenLoop:
    if episode.actions is None or episode.initial_state is None:
        raise InputError(f"Episode {number} cannot be replayed: that needs its actions and its initial state.")
    observation, _ = env.reset(options={"state": episode.initial_state})
    states, qpos, opened = [], [], None
    for step, action in enumerate(episode.actions):
        states.append(observation)
        observation, _, terminated, _, _ = env.step(action)
        qpos.append(env.get_state()["qpos"])
        if terminated:
            opened = step + 1
            break
    replayed, recorded_opened = np.array(states), None
    deviation, worst, angle = float("nan"), 0, float("nan")
    if episode.states is not None:
        if episode.states.shape[1] != replayed.shape[1]:
            raise InputError(f"Episode {number} has states of {episode.states.shape[1]} numbers, the door has 39.")
        differences = np.abs(replayed - episode.states[: len(replayed)])[:, _CONTINUOUS]
        worst, deviation = int(differences.max(axis=1).argmax()), float(differences.max())
        angle = float(differences[:, ANGLE].max())
        beyond = np.flatnonzero(episode.states[:, ANGLE] > env.open_angle)
        # The state at which action t is taken is the one after t steps.
        recorded_opened = int(beyond[0]) if len(beyond) else None
    return OpenLoop(replayed, np.array(qpos), len(episode), opened, recorded_opened, deviation, worst, angle)


def replay(demonstrations: Demonstrations, open_angle: float = OPEN_ANGLE) -> list[OpenLoop]:
    """Replay every demonstration and compare it with its recording."""
    env = DoorEnv(horizon=max(map(len, demonstrations.episodes)) + 1, open_angle=open_angle)
    episodes = progress(demonstrations.episodes, desc="replaying", unit="episode", leave=False)
    return [_replay(env, episode, number) for number, episode in enumerate(episodes)]


def replay_table(replays: list[OpenLoop]) -> str:
    """How closely each replay followed its recording, and when the door opened."""
    header = (
        "episode",
        "recorded steps",
        "opened, recorded",
        "opened, replayed",
        "largest deviation",
        "at step",
        "of the door, rad",
    )
    rows = [
        (
            number,
            each.recorded_steps,
            each.recorded_opened,
            each.opened,
            f"{each.deviation:.3f}",
            each.deviation_step,
            f"{each.angle_deviation:.4f}",
        )
        for number, each in enumerate(replays)
    ]
    return table(header, rows)


def render_door(
    demonstrations: Demonstrations,
    settings: RenderSettings = SETTINGS,
    open_angle: float = OPEN_ANGLE,
    cache_dir: str | Path | None = None,
) -> Demonstrations:
    """Demonstrations with frames, cut where the door opens; the states are those of the replay.

    The result is cached by content and settings under `cache_dir` (default: see `cache_folder`).
    """
    # Another MuJoCo may move or draw a little differently.
    key = [demonstrations.checksum, settings.fingerprint, open_angle, format.VERSION, mujoco.__version__]
    name = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:32]
    path = cache_folder(cache_dir) / "door-frames" / f"{name}.demos"
    rendered = cached(path, lambda: _render(demonstrations, settings, open_angle))
    # The same content may come from elsewhere.
    return replace(rendered, source=demonstrations.source, origin=demonstrations.identity)


def replayed_door(
    demonstrations: Demonstrations, options: Mapping[str, Any], settings: RenderSettings | None
) -> Demonstrations:
    """Demonstrations cut where the door opens, with the states of the replay, and with frames if there are settings.

    `options` are those of the environment.
    """
    open_angle = float(options.get("open_angle", OPEN_ANGLE))
    if settings is not None:
        return render_door(demonstrations, settings, open_angle)
    cut = [
        Episode(
            played.states, np.asarray(episode.actions)[: len(played.states)], None, episode.initial_state, played.done
        )
        for played, episode in zip(replay(demonstrations, open_angle), demonstrations.episodes, strict=True)
    ]
    return Demonstrations(tuple(cut), ENV_ID, demonstrations.source, origin=demonstrations.identity)


def hand_alone(
    demonstrations: Demonstrations, options: Mapping[str, Any], settings: RenderSettings = SETTINGS
) -> Iterator[Array]:
    """Frames of each demonstration's hand, the door not moving with it."""
    open_angle = float(options.get("open_angle", OPEN_ANGLE))
    hinge = DoorEnv().hinge
    with closing(MujocoCamera(DoorEnv(), settings)) as camera:
        for played, episode in zip(replay(demonstrations, open_angle), demonstrations.episodes, strict=True):
            qpos = played.qpos.copy()
            qpos[:, hinge] = 0.0
            yield _drawn(camera, qpos, episode)


def _drawn(camera: MujocoCamera, qpos: Array, episode: Episode) -> Array:
    """Frames of an episode's joint positions, its door in its place."""
    return camera.draw(camera.pose(qpos, {FRAME: (episode.initial_state or {})["door_body_pos"]}))


def _render(demonstrations: Demonstrations, settings: RenderSettings, open_angle: float) -> Demonstrations:
    replays = replay(demonstrations, open_angle)
    episodes = []
    with (
        closing(MujocoCamera(DoorEnv(), settings)) as camera,
        progress(total=sum(len(each.qpos) for each in replays), desc="rendering", unit="frame") as bar,
    ):
        for each, episode in zip(replays, demonstrations.episodes, strict=True):
            frames = _drawn(camera, each.qpos, episode)
            actions = None if episode.actions is None else episode.actions[: len(frames)]
            episodes.append(Episode(each.states, actions, frames, episode.initial_state, each.done))
            bar.update(len(frames))
    rate = DoorEnv.metadata["render_fps"]
    return Demonstrations(tuple(episodes), ENV_ID, demonstrations.source, camera.fingerprint, rate)
