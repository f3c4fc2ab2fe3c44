"""Preset: the Adroit door, opened as in the paper's pixel experiment."""

from dataclasses import replace

from vision_pwil.door_env import ENV_ID
from vision_pwil.envs import open_loop
from vision_pwil.tasks import videos
from vision_pwil.tasks.preset import Preset
from vision_pwil.tasks.settings import Choice, ImitationConfig


def defaults(choice: Choice) -> ImitationConfig:
    """As from any videos; opening the door is the success, and the angle is reported beside it.

    The first 27 numbers of a state are the joints of arm and hand.
    """
    config = videos.defaults(choice)
    task = replace(
        config.task,
        proprioception=tuple(range(27)),
        env_options=("reward=dense",),
        success="opened",
        watch=("door_angle", "success"),
    )
    return replace(config, task=task)


PRESET = Preset("door", defaults, env=ENV_ID, replay=open_loop.replayed_door, pantomime=open_loop.hand_alone)
