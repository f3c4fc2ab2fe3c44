"""Discriminator-actor-critic, the paper's second baseline (Kostrikov et al. 2019)."""

from vision_pwil.agents.dac.agent import DAC, DACConfig
from vision_pwil.agents.dac.expert import ExpertPairs
from vision_pwil.agents.td3 import act

__all__ = ["DAC", "DACConfig", "ExpertPairs", "act"]
