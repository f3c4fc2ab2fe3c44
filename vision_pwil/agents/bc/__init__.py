"""Behavioural cloning, the paper's first baseline (appendix "BC Implementation")."""

from typing import TYPE_CHECKING

from vision_pwil.agents.bc.settings import BCConfig
from vision_pwil.system.lazy import lazily

if TYPE_CHECKING:
    from vision_pwil.agents.bc.agent import BC, build
    from vision_pwil.agents.td3.policy import act

__all__ = ["BC", "BCConfig", "act", "build"]
__getattr__ = lazily(__name__, {"BC": ".agent", "act": "..td3.policy", "build": ".agent"})
