"""Preset: the Adroit door, opened as in the paper's pixel experiment."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from vision_pwil.demonstrations import Demonstrations
from vision_pwil.tasks import videos
from vision_pwil.tasks.preset import EnvOptions, Preset
from vision_pwil.tasks.settings import Choice, ImitationConfig

if TYPE_CHECKING:
    from vision_pwil.envs.renderer import RenderSettings

ENV_ID = "vision_pwil/AdroitDoor-v0"
"""As `vision_pwil.door_env` registers it, which imports slowly: what plays in it imports it when it is needed."""


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


def replay(demonstrations: Demonstrations, options: EnvOptions, settings: "RenderSettings | None") -> Demonstrations:
    """`vision_pwil.envs.open_loop.replayed_door`."""
    from vision_pwil.envs import open_loop

    return open_loop.replayed_door(demonstrations, options, settings)


def pantomime(demonstrations: Demonstrations, options: EnvOptions, settings: "RenderSettings") -> Iterator[np.ndarray]:
    """`vision_pwil.envs.open_loop.hand_alone`."""
    from vision_pwil.envs import open_loop

    return open_loop.hand_alone(demonstrations, options, settings)


PRESET = Preset("door", defaults, env=ENV_ID, replay=replay, pantomime=pantomime)
