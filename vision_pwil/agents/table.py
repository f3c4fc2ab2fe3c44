"""The agents by name: how each is made, and how it acts."""

import torch

from vision_pwil import sac
from vision_pwil.agents import d4pg, td3
from vision_pwil.agents.protocol import Act, Agent

AgentConfig = d4pg.D4PGConfig | td3.TD3Config | sac.SACConfig

ACTS: dict[str, Act] = {"d4pg": d4pg.act, "td3": td3.act, "sac": sac.act, "bc": td3.act, "dac": td3.act}
"""How a policy snapshot of each agent acts."""


def build(
    config: AgentConfig, observation_size: int, action_size: int, seed: int, device: torch.device | str = "cpu"
) -> Agent:
    """A fresh learner with these settings, on this device."""
    if isinstance(config, d4pg.D4PGConfig):
        return d4pg.D4PG(observation_size, action_size, config, seed, device)
    if isinstance(config, td3.TD3Config):
        return td3.TD3(observation_size, action_size, config, seed, device)
    return sac.SAC(observation_size, action_size, config, seed, device)
