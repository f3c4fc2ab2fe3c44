"""Soft actor-critic, the paper's agent for the door (appendix "Agent")."""

from vision_pwil.sac.agent import SAC, SACConfig
from vision_pwil.sac.policy import act

__all__ = ["SAC", "SACConfig", "act"]
