"""Demonstrations of our own: roll out a policy and keep what it did."""

import gymnasium as gym
import numpy as np

from vision_pwil.demonstrations.episode import Array, Demonstrations, Episode
from vision_pwil.envs.control import Choose
from vision_pwil.system.errors import InputError
from vision_pwil.system.progress import progress

_REPLAYABLE = ("qpos", "qvel", "door_body_pos")


def record(choose: Choose, env: gym.Env, episodes: int, seed: int, only_absorbing: bool = False) -> Demonstrations:
    """Roll out `episodes` episodes from the environment's seeds `seed`, `seed` + 1, ...

    An environment that can tell its state (`get_state`, as DoorEnv) has its initial state recorded, for replay. With
    `only_absorbing`, episodes that did not end absorbing (that did not open the door) are left out.
    """
    if episodes < 1:
        raise InputError(f"At least one episode must be recorded, not {episodes}.")
    numbers = progress(range(episodes), desc="recording", unit="episode")
    recorded = [_rollout(choose, env, seed + number) for number in numbers]
    kept = [episode for episode in recorded if episode.absorbing or not only_absorbing]
    if not kept:
        raise InputError(f"None of the {episodes} episodes ended absorbing: the policy does not solve the task yet.")
    env_id = env.spec.id if env.spec is not None else None
    return Demonstrations(tuple(kept), env_id, source=f"rollouts, seeds {seed} to {seed + episodes - 1}")


def _rollout(choose: Choose, env: gym.Env, seed: int) -> Episode:
    observation, _ = env.reset(seed=seed)
    state = env.unwrapped.get_state() if hasattr(env.unwrapped, "get_state") else {}
    states: list[Array] = []
    actions: list[Array] = []
    while True:
        action = np.array(choose(observation, len(actions)))
        states.append(observation)
        actions.append(action)
        observation, _, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            break
    initial = {name: state[name] for name in _REPLAYABLE if name in state}
    absorbing = bool(info.get("absorbing", terminated))
    # What cannot be replayed to the last bit need not be kept to it: single precision, half the bytes.
    kept = np.asarray(states, None if initial else np.float32)
    return Episode(kept, np.array(actions), None, initial or None, absorbing)
