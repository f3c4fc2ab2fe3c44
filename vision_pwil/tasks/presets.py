"""Which preset suits an environment. To add one, write a file with a `PRESET` and a row here."""

from dataclasses import replace

from vision_pwil.tasks import door, expert, locomotion, videos
from vision_pwil.tasks.preset import Preset
from vision_pwil.tasks.settings import Choice, ImitationConfig
from vision_pwil.tasks.task import OWN_REWARD

PRESETS: list[Preset] = [door.PRESET]
"""Presets of single environments."""


def find(env_id: str) -> Preset:
    """The environment's own preset; else locomotion's for the paper's tasks; else that for videos."""
    name = env_id.rpartition(":")[2]
    own = next((preset for preset in PRESETS if preset.env == name), None)
    if own is not None:
        return own
    return locomotion.PRESET if name.partition("-")[0] in locomotion.ENVIRONMENTS else videos.PRESET


def defaults(choice: Choice, preset: Preset | None = None) -> ImitationConfig:
    """The settings that a choice starts from: those of the preset, of one found for the environment, or an expert's.

    Where no agent is named, it is the preset's.
    """
    preset = preset or find(choice.env)
    choice = choice if choice.agent else replace(choice, agent=preset.agent)
    if choice.reward == OWN_REWARD:
        return expert.defaults(choice)
    return preset.defaults(choice)
