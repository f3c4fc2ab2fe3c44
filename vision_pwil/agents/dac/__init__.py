"""Discriminator-actor-critic, the paper's second baseline (Kostrikov et al. 2019)."""

from typing import TYPE_CHECKING

from vision_pwil.agents.dac.settings import DACConfig
from vision_pwil.system.lazy import lazily

if TYPE_CHECKING:
    from vision_pwil.agents.dac.agent import DAC, build
    from vision_pwil.agents.dac.expert import ExpertPairs
    from vision_pwil.agents.td3.policy import act

__all__ = ["DAC", "DACConfig", "ExpertPairs", "act", "build"]
__getattr__ = lazily(__name__, {"DAC": ".agent", "ExpertPairs": ".expert", "act": "..td3.policy", "build": ".agent"})
