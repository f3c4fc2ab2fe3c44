"""Recorded actions played again from their recorded start, in any environment that can be set to one, and drawn.

The environment takes its start as Adroit's do: `reset(options={"initial_state_dict": ...})`. One frame a step, of the
state after it. An episode ends where the environment says that the task is done; its last frame is then absorbing.
"""

import hashlib
import json
from dataclasses import replace

import numpy as np

from vision_pwil.demonstrations import format
from vision_pwil.demonstrations.cache import cache_folder, cached
from vision_pwil.demonstrations.episode import Demonstrations, Episode
from vision_pwil.envs.camera import Camera
from vision_pwil.envs.flat import FlatEnv
from vision_pwil.system.errors import InputError
from vision_pwil.system.progress import progress


def replayed(demonstrations: Demonstrations, env: FlatEnv, camera: Camera, success: str | None) -> Demonstrations:
    """The demonstrations with frames, cut where `success`, an entry of `info`, comes true; cached by content."""
    name = env.env.spec.id if env.env.spec is not None else None
    key = [demonstrations.checksum, name, camera.fingerprint, success, format.VERSION, _versions()]
    file = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:32]

    def make() -> Demonstrations:
        numbered = enumerate(progress(demonstrations.episodes, desc="replaying", unit="episode", leave=False))
        episodes = tuple([_replay(env, camera, episode, number, success) for number, episode in numbered])
        rate = env.env.metadata.get("render_fps")
        return Demonstrations(episodes, name, demonstrations.source, camera.fingerprint, rate)

    try:
        drawn = cached(cache_folder() / "replays" / f"{file}.demos", make)
        return replace(drawn, source=demonstrations.source, origin=demonstrations.identity)
    finally:
        camera.close()


def _versions() -> list[str]:
    """Another MuJoCo, or another version of the environments, may move or draw a little differently."""
    import gymnasium
    import gymnasium_robotics
    import mujoco

    return [module.__version__ for module in (mujoco, gymnasium, gymnasium_robotics)]


def _replay(env: FlatEnv, camera: Camera, episode: Episode, number: int, success: str | None) -> Episode:
    if episode.actions is None or episode.initial_state is None:
        raise InputError(f"Episode {number} cannot be replayed: that needs its actions and its initial state.")
    # Adroit's environments refuse entries that they do not know, such as those that follow from the others.
    known = getattr(env.env.unwrapped, "_state_space", episode.initial_state)
    start = {name: value for name, value in episode.initial_state.items() if name in [*known]}
    try:
        env.env.reset(seed=0, options={"initial_state_dict": start})
    except (AssertionError, KeyError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"Episode {number} does not start as this environment can: {reason}.") from None
    pictures, done = [], False
    for action in episode.actions:
        _, _, _, truncated, info = env.step(env.bounds.to_policy(action))
        pictures.append(camera.snapshot())
        done = success is not None and bool(info.get(success, False))
        if done or truncated:
            break
    before = None if episode.states is None else episode.states[: len(pictures)]
    actions = episode.actions[: len(pictures)]
    return Episode(before, actions, camera.draw(np.array(pictures)), episode.initial_state, done)
