"""A saved policy, and the environment that it was trained in, to play it elsewhere."""

from pathlib import Path

import gymnasium as gym
import numpy as np

from vision_pwil.commands.evaluate import load_policy
from vision_pwil.door_env import ENV_ID
from vision_pwil.envs.flat import FlatEnv
from vision_pwil.system import checkpoint
from vision_pwil.system.run import LATEST
from vision_pwil.training.rollout import Choose


def load_player(path: Path) -> tuple[Choose, gym.Env]:
    """The policy of a run directory or a saved policy file, as actions of its environment, and the environment."""
    choose = load_policy(path)
    _, about = checkpoint.load_policy(path / LATEST if path.is_dir() else path)
    if about["task"] == "door":
        return choose, gym.make(ENV_ID, horizon=about["horizon"], disable_env_checker=True)
    env, bit = FlatEnv(about["env"], about["horizon"]), np.zeros(int(about["agent"] == "dac"))

    def play(observation: np.ndarray, step: int) -> np.ndarray:
        action = choose(np.append(observation, bit), step)
        return np.reshape(env.bounds.to_env(action), env.env.action_space.shape or ())

    return play, env.env
