"""TD3, an agent that the paper compares with (appendix "Influence of the Direct RL Algorithm")."""

from typing import TYPE_CHECKING

from vision_pwil.agents.td3.settings import TD3Config
from vision_pwil.system.lazy import lazily

if TYPE_CHECKING:
    from vision_pwil.agents.td3.agent import TD3, build
    from vision_pwil.agents.td3.policy import act

__all__ = ["TD3", "TD3Config", "act", "build"]
__getattr__ = lazily(__name__, {"TD3": ".agent", "act": ".policy", "build": ".agent"})
