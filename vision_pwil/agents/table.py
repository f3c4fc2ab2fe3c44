"""The agents by name. To add one, write a package with its settings, its learner and how it acts, and a row here."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vision_pwil.agents.bc import BCConfig
from vision_pwil.agents.d4pg import D4PGConfig
from vision_pwil.agents.dac import DACConfig
from vision_pwil.agents.td3 import TD3Config
from vision_pwil.sac import SACConfig
from vision_pwil.system.errors import InputError

if TYPE_CHECKING:
    from vision_pwil.agents.blueprint import Blueprint
    from vision_pwil.agents.protocol import Act, Agent


@dataclass(frozen=True)
class AgentKind:
    """One agent."""

    settings: Callable[[], Any]
    """Its settings, a dataclass, with their defaults."""
    package: str
    """Where its `build` and `act` are; imported when they are used, since learners take seconds to import."""
    needs_actions: bool = False
    """It learns from the demonstrations' own pairs: a baseline, without PWIL's reward."""
    plays: bool = True
    """It learns from episodes that it plays; otherwise from the demonstrations alone (BC)."""
    absorbing_bit: bool = False
    """It sees a bit that is 1 in the absorbing state (DAC)."""

    @property
    def build(self) -> "Callable[[Blueprint], Agent]":
        """Makes a fresh learner: the package's `build`."""
        return importlib.import_module(self.package).build

    @property
    def act(self) -> "Act":
        """How a process without the learner acts with its policy: the package's `act`."""
        return importlib.import_module(self.package).act


AGENTS: dict[str, AgentKind] = {
    "sac": AgentKind(SACConfig, "vision_pwil.sac"),
    "d4pg": AgentKind(D4PGConfig, "vision_pwil.agents.d4pg"),
    "td3": AgentKind(TD3Config, "vision_pwil.agents.td3"),
    "dac": AgentKind(DACConfig, "vision_pwil.agents.dac", needs_actions=True, absorbing_bit=True),
    "bc": AgentKind(BCConfig, "vision_pwil.agents.bc", needs_actions=True, plays=False),
}


def find(name: str) -> AgentKind:
    """The agent of that name, or one sentence that lists them."""
    if name not in AGENTS:
        raise InputError(f"There is no agent {name!r}: choose one of {', '.join(AGENTS)}.")
    return AGENTS[name]
