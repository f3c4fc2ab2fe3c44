"""Preset: any environment, imitated from videos alone. One recipe serves every task."""

from dataclasses import replace

from vision_pwil.agents import table
from vision_pwil.sac import SACConfig
from vision_pwil.system.errors import InputError
from vision_pwil.tasks.config import TaskConfig
from vision_pwil.tasks.preset import Preset
from vision_pwil.tasks.settings import Choice, ImitationConfig
from vision_pwil.training.settings import TrainingConfig

PIXELS = TaskConfig(compare="frames", ending="last", beta=1.0)
"""The paper's pixel reward (section "Door Opening Task")."""
TRAINING = TrainingConfig(
    steps=300_000, action_repeat=4, n_step=3, batch_size=128, random_steps=3_000, noise_exponent=1.0
)
SAC = SACConfig(
    actor_learning_rate=6e-4,
    critic_learning_rate=6e-4,
    temperature_learning_rate=1e-3,
    initial_temperature=0.2,
    final_target_entropy=-3.0,
    critic_layer_norm=True,
    normalize=True,
)


def defaults(choice: Choice) -> ImitationConfig:
    """The default recipe, or the paper's agent (appendix "Agent"). It names grids, not choices: of its grids, these.

    Episodes that reach the horizon end there with both; what the paper did then is not said.
    """
    if choice.ablation != "none":
        raise InputError("The ablations are of rewards on states: leave --ablation out, or give --reward support.")
    kind = table.find(choice.agent)
    if choice.recipe == "paper":
        task, training, settings = PIXELS, TrainingConfig(steps=1_500_000), kind.settings()
    else:
        task = replace(PIXELS, ending="shared", time_feature=True, point_interval=4)
        training, settings = TRAINING, SAC if choice.agent == "sac" else kind.settings()
    if kind.needs_actions:  # the baselines learn from pairs, step by step
        task = replace(task, compare="pairs", point_interval=1, time_feature=False)
        training = replace(training, n_step=1, action_repeat=1)
    return ImitationConfig(**vars(choice), task=task, training=training, settings=settings)


PRESET = Preset("videos", defaults)
