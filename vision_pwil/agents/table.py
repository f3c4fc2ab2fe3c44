"""The agents by name: how each is made, and how it acts."""

from vision_pwil import sac
from vision_pwil.agents.protocol import Act, Agent
from vision_pwil.agents import d4pg, td3

AgentConfig = d4pg.D4PGConfig | td3.TD3Config | sac.SACConfig

ACTS: dict[str, Act] = {"d4pg": d4pg.act, "td3": td3.act, "sac": sac.act, "bc": td3.act, "dac": td3.act}
"""How a policy snapshot of each agent acts."""


def build(config: AgentConfig, observation_size: int, action_size: int, seed: int) -> Agent:
    """A fresh learner with these settings."""
    if isinstance(config, d4pg.D4PGConfig):
        return d4pg.D4PG(observation_size, action_size, config, seed)
    if isinstance(config, td3.TD3Config):
        return td3.TD3(observation_size, action_size, config, seed)
    return sac.SAC(observation_size, action_size, config, seed)
