"""A preset: the choices that are known to suit an environment, or a family of them."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vision_pwil.demonstrations import Demonstrations
from vision_pwil.tasks.settings import Choice, ImitationConfig

if TYPE_CHECKING:
    from vision_pwil.envs.renderer import RenderSettings

EnvOptions = Mapping[str, Any]


class Preset(NamedTuple):
    """Defaults, and what only this environment can do."""

    name: str
    defaults: Callable[[Choice], ImitationConfig]
    """Settings for a choice of environment, agent and recipe."""
    env: str | None = None
    """The environment that it is for; None: any."""
    agent: str = "sac"
    """The agent that its command takes by default."""
    replay: Callable[[Demonstrations, EnvOptions, "RenderSettings | None"], Demonstrations] | None = None
    """Recorded actions played again, cut where the task is done; with frames, if there are settings for them."""
    pantomime: Callable[[Demonstrations, EnvOptions, "RenderSettings"], Iterator[np.ndarray]] | None = None
    """For each demonstration, frames of the robot's motion without its effect on the scene, for the audit."""
