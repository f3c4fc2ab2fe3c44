"""TD3, an agent that the paper compares with (appendix "Influence of the Direct RL Algorithm")."""

from vision_pwil.agents.td3.agent import TD3, TD3Config
from vision_pwil.agents.td3.policy import act

__all__ = ["TD3", "TD3Config", "act"]
