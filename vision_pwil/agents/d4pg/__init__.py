"""D4PG, the paper's agent for locomotion (appendix A)."""

from typing import TYPE_CHECKING

from vision_pwil.agents.d4pg.settings import D4PGConfig
from vision_pwil.system.lazy import lazily

if TYPE_CHECKING:
    from vision_pwil.agents.d4pg.agent import D4PG, build
    from vision_pwil.agents.d4pg.policy import act

__all__ = ["D4PG", "D4PGConfig", "act", "build"]
__getattr__ = lazily(__name__, {"D4PG": ".agent", "act": ".policy", "build": ".agent"})
