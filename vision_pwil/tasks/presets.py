"""Which preset suits an environment. To add one, write a file with a `PRESET` and a row here."""

from dataclasses import replace
from pathlib import Path

from vision_pwil.tasks import door, expert, locomotion, videos
from vision_pwil.tasks.config import OWN_REWARD
from vision_pwil.tasks.preset import Preset
from vision_pwil.tasks.settings import Choice, ImitationConfig

PRESETS: list[Preset] = [door.PRESET]
"""Presets of single environments."""


def find(env_id: str, demos: Path | None = None) -> Preset:
    """The environment's own preset; else locomotion's for the paper's tasks, unless there are videos; else videos'."""
    name = env_id.rpartition(":")[2]
    own = next((preset for preset in PRESETS if preset.env == name), None)
    if own is not None:
        return own
    known = name.partition("-")[0] in locomotion.ENVIRONMENTS
    return locomotion.PRESET if known and not (demos and _filmed(demos)) else videos.PRESET


def _filmed(demos: Path) -> bool:
    """Whether demonstrations are plain videos, which have no states and no actions."""
    from vision_pwil.demonstrations.formats import FORMATS, video  # imports slowly

    reader = next((format.read for format in FORMATS if demos.exists() and format.recognises(demos)), None)
    return reader is video.read


def defaults(choice: Choice, preset: Preset | None = None) -> ImitationConfig:
    """The settings that a choice starts from: those of the preset, of one found for the environment, or an expert's.

    Where no agent is named, it is the preset's.
    """
    preset = preset or find(choice.env, choice.demos)
    choice = choice if choice.agent else replace(choice, agent=preset.agent)
    if choice.reward == OWN_REWARD:
        return expert.defaults(choice)
    return preset.defaults(choice)
