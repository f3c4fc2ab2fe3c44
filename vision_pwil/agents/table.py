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
    device: str = "cpu"
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
    return dac.DAC(dac.ExpertPairs.of(*plan.expert), plan.settings, plan.seed, plan.device)


def _bc(plan: Blueprint) -> Agent:
    assert plan.expert is not None
    return bc.BC(plan.expert.states, plan.action_size, plan.settings, plan.seed, plan.device)


def _sac(plan: Blueprint) -> Agent:
    return sac.SAC(plan.observation_size, plan.action_size, plan.settings, plan.seed, plan.device)


def _d4pg(plan: Blueprint) -> Agent:
    return d4pg.D4PG(plan.observation_size, plan.action_size, plan.settings, plan.seed, plan.device)


def _td3(plan: Blueprint) -> Agent:
    return td3.TD3(plan.observation_size, plan.action_size, plan.settings, plan.seed, plan.device)


AGENTS: dict[str, AgentKind] = {
    "sac": AgentKind(sac.SACConfig, _sac, sac.act),
    "d4pg": AgentKind(d4pg.D4PGConfig, _d4pg, d4pg.act),
    "td3": AgentKind(td3.TD3Config, _td3, td3.act),
    "dac": AgentKind(dac.DACConfig, _dac, dac.act, needs_actions=True, absorbing_bit=True),
    "bc": AgentKind(bc.BCConfig, _bc, bc.act, needs_actions=True, plays=False),
}


def find(name: str) -> AgentKind:
    """The agent of that name, or one sentence that lists them."""
    if name not in AGENTS:
        raise InputError(f"There is no agent {name!r}: choose one of {', '.join(AGENTS)}.")
    return AGENTS[name]
