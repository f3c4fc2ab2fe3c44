"""Preset: locomotion from states and actions, with the paper's settings (section "Experiments", appendix A)."""

from dataclasses import replace
from typing import Any

from vision_pwil.agents import table
from vision_pwil.agents.d4pg import D4PGConfig
from vision_pwil.tasks.config import TaskConfig
from vision_pwil.tasks.preset import Preset
from vision_pwil.tasks.settings import Choice, ImitationConfig
from vision_pwil.training.settings import TrainingConfig

ENVIRONMENTS = ("Ant", "HalfCheetah", "Hopper", "Humanoid", "Reacher", "Walker2d")
_BASE = TrainingConfig(steps=1_000_000, update_interval=1.0, threads=2)


def defaults(choice: Choice) -> ImitationConfig:
    """The paper's settings for an environment, agent and ablation; both recipes are the same."""
    name, agent = choice.env.rpartition(":")[2].partition("-")[0], choice.agent
    # Fujimoto et al. 2018, appendix D: longer random play where no episode ends early; DAC's code does the same.
    random_steps = 10_000 if name in ("HalfCheetah", "Ant") else 1_000
    by_agent: dict[str, dict[str, Any]] = {
        "d4pg": {"n_step": 5, "update_interval": 4.0, "random_steps": 0},
        "td3": {"random_steps": random_steps},
        "dac": {"batch_size": 100, "random_steps": random_steps},
        "bc": {"steps": 100_000, "random_steps": 0, "threads": 1},
    }
    changes = by_agent.get(agent, {})
    steps = {"steps": 2_500_000} if name == "Humanoid" and agent != "bc" else {}
    prefill = {"d4pg": 50_000, "td3": 1_000 if name in ("Reacher", "Hopper", "Walker2d") else 0}.get(agent, 0)
    if choice.ablation in ("state", "nofill"):
        prefill = 0
    if agent == "d4pg" and not prefill:
        changes = {**changes, "random_steps": 1_000}  # as many as Acme waits for before it learns
    # The authors' code adds its noise of 0.2 in the environment's units; Humanoid's actions end at 0.4.
    wide = agent == "d4pg" and name == "Humanoid"
    return ImitationConfig(
        **{**vars(choice), "reward": "support" if choice.ablation == "support" else choice.reward},
        num_demos=1,
        subsample=1 if name == "Reacher" else 20,
        prefill=prefill,
        task=TaskConfig(
            compare="states" if choice.ablation == "state" else "pairs", standardized=choice.ablation != "l2"
        ),
        training=replace(_BASE, **{**steps, **changes}),
        settings=D4PGConfig(sigma=0.5) if wide else table.find(agent).settings(),
    )


PRESET = Preset("locomotion", defaults, agent="d4pg")
