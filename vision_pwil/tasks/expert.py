"""Preset: an expert, trained on the environment's own reward, to record demonstrations of."""

from vision_pwil.agents import table
from vision_pwil.tasks.config import TaskConfig
from vision_pwil.tasks.settings import Choice, ImitationConfig
from vision_pwil.training.settings import TrainingConfig


def defaults(choice: Choice) -> ImitationConfig:
    """Settings known to learn locomotion. The paper's experts are D4PG's: its support must cover the returns."""
    if choice.agent == "d4pg":
        training = TrainingConfig(steps=1_000_000, n_step=5, update_interval=4.0, random_steps=1_000, threads=2)
    else:
        training = TrainingConfig(steps=1_000_000, update_interval=1.0, threads=2)
    return ImitationConfig(
        **vars(choice), task=TaskConfig(), training=training, settings=table.find(choice.agent).settings()
    )
