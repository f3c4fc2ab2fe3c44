"""Soft actor-critic, the paper's agent for the door (appendix "Agent")."""

from typing import TYPE_CHECKING

from vision_pwil.sac.settings import SACConfig
from vision_pwil.system.lazy import lazily

if TYPE_CHECKING:
    from vision_pwil.sac.agent import SAC, build
    from vision_pwil.sac.policy import act

__all__ = ["SAC", "SACConfig", "act", "build"]
__getattr__ = lazily(__name__, {"SAC": ".agent", "act": ".policy", "build": ".agent"})
