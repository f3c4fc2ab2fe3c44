"""The agents by name. To add one, write a package with its settings, its learner and how it acts, and a row here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from vision_pwil import sac
from vision_pwil.agents import bc, d4pg, dac, td3
from vision_pwil.agents.protocol import Act, Agent
from vision_pwil.system.errors import InputError


class Expert(NamedTuple):
    """What the baselines learn from beside the reward: the demonstrations' own pairs."""

    states: np.ndarray
    """(D, S)."""
    actions: np.ndarray
    """(D, A), in [-1, 1]."""
    ends: int
    """Demonstrations that ended early."""
    every: int
    """Steps for each pair kept."""


class Blueprint(NamedTuple):
    """All that a fresh learner is made from."""

    settings: Any
    observation_size: int
    action_size: int
    seed: int
    expert: Expert | None = None


@dataclass(frozen=True)
class AgentKind:
    """One agent."""

    settings: Callable[[], Any]
    """Its settings, a dataclass, with their defaults."""
    build: Callable[[Blueprint], Agent]
    """A fresh learner."""
    act: Act
    """How a process without the learner acts with its policy."""
    needs_actions: bool = False
    """It learns from the demonstrations' own pairs: a baseline, without PWIL's reward."""
    plays: bool = True
    """It learns from episodes that it plays; otherwise from the demonstrations alone (BC)."""
    absorbing_bit: bool = False
    """It sees a bit that is 1 in the absorbing state (DAC)."""


def _dac(plan: Blueprint) -> Agent:
    assert plan.expert is not None
    return dac.DAC(dac.ExpertPairs.of(*plan.expert), plan.settings, plan.seed)


def _bc(plan: Blueprint) -> Agent:
    assert plan.expert is not None
    return bc.BC(plan.expert.states, plan.action_size, plan.settings, plan.seed)


AGENTS: dict[str, AgentKind] = {
    "sac": AgentKind(sac.SACConfig, lambda p: sac.SAC(p.observation_size, p.action_size, p.settings, p.seed), sac.act),
    "d4pg": AgentKind(
        d4pg.D4PGConfig, lambda p: d4pg.D4PG(p.observation_size, p.action_size, p.settings, p.seed), d4pg.act
    ),
    "td3": AgentKind(td3.TD3Config, lambda p: td3.TD3(p.observation_size, p.action_size, p.settings, p.seed), td3.act),
    "dac": AgentKind(dac.DACConfig, _dac, dac.act, needs_actions=True, absorbing_bit=True),
    "bc": AgentKind(bc.BCConfig, _bc, bc.act, needs_actions=True, plays=False),
}


def find(name: str) -> AgentKind:
    """The agent of that name, or one sentence that lists them."""
    if name not in AGENTS:
        raise InputError(f"There is no agent {name!r}: choose one of {', '.join(AGENTS)}.")
    return AGENTS[name]
