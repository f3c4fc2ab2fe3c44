"""Films of episodes show what they are about."""

import numpy as np

from vision_pwil.demonstrations import ASSETS, Demonstrations
from vision_pwil.envs.flat import FlatEnv
from vision_pwil.tasks.config import OWN_REWARD, TaskConfig
from vision_pwil.tasks.film import film
from vision_pwil.tasks.task import Task
from vision_pwil.training.rollout import Trajectory


def test_the_camera_follows():
    """A demonstration that ships hops many lengths of the picture; its hopper, all orange, is in the last frame too."""
    episode = Demonstrations.load(ASSETS / "Hopper-v5.demos").episodes[0]
    states, actions = np.asarray(episode.states)[:300], np.asarray(episode.actions)[:300]
    assert states[:, 5].sum() * 0.008 > 4  # metres forward: the speed times the duration of a step
    played = FlatEnv("Hopper-v5").bounds.to_policy(actions)
    task = Task("Hopper-v5", OWN_REWARD, TaskConfig())
    frames, _ = film(task, 0, Trajectory(states, played, np.zeros(300), False, {}))
    orange = (frames[..., 0].astype(int) - frames[..., 2] > 40).sum((1, 2))
    assert orange[0] > 1_000
    assert orange.min() > 0.5 * orange[0]
