"""D4PG, the paper's agent for locomotion (appendix A)."""

from vision_pwil.agents.d4pg.agent import D4PG, D4PGConfig
from vision_pwil.agents.d4pg.policy import act

__all__ = ["D4PG", "D4PGConfig", "act"]
