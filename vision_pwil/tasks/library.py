"""The commands as functions of Python: `vision_pwil.train_encoder`, `audit` and `train`.

Settings are keyword arguments, named as the options of the command lines are: `--random-steps 500` is
`random_steps=500`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vision_pwil.encoder import Encoder
from vision_pwil.envs.control import Choose
from vision_pwil.system.errors import InputError
from vision_pwil.system.settings import Count, Whole, changed, require
from vision_pwil.tasks import presets
from vision_pwil.tasks.actor import read_actor
from vision_pwil.tasks.auditing import audit_task, audit_videos
from vision_pwil.tasks.imitation import Outcome, find_demonstrations, find_encoder, imitate
from vision_pwil.tasks.making import make_env
from vision_pwil.tasks.policy import load_flat_policy
from vision_pwil.tasks.settings import Choice, ImitationConfig
from vision_pwil.tcc.recipes import RECIPES
from vision_pwil.tcc.session import train as run_training
from vision_pwil.tcc.settings import TrainConfig
from vision_pwil.tcc.videos import read_videos
from vision_pwil.verdict.audit import AuditReport

AnyPath = str | Path


def train_encoder(demos: AnyPath, out: AnyPath, *, recipe: str = "default", **options: Any) -> Encoder:
    """Learn a frame encoder from videos, as `vision-pwil encoder train` does; its `provenance` tells its tau.

    The encoder is in `out`, as encoder.safetensors; the same call continues an interrupted training.
    """
    if recipe not in RECIPES:
        raise InputError(f"There is no recipe {recipe!r}: choose one of {', '.join(RECIPES)}.")
    start: Any = {"demos": Path(demos), "out": Path(out), "recipe": recipe, "settings": RECIPES[recipe]}
    return Encoder.load(run_training(changed(TrainConfig(**start), options)).encoder_path)


def train(env: str, demos: AnyPath | None = None, run: AnyPath | None = None, **options: Any) -> Outcome:
    """Learn a policy from demonstrations, as `vision-pwil train` does; everything goes to the directory `run`.

    A script guards the call with `if __name__ == "__main__":`, since a training plays in a process of its own, which
    imports the script.
    """
    return imitate(_settings(env, demos=demos, run=run, **options))


def audit(
    demos: AnyPath | None = None,
    encoder: AnyPath | None = None,
    env: str = "",
    *,
    episodes: int = 5,
    seed: int = 0,
    policies: Sequence[AnyPath] = (),
    **options: Any,
) -> AuditReport:
    """Ask whether a reward ranks behaviour, as `vision-pwil audit` does: of videos alone, or of an environment's."""
    config = _settings(env, demos=demos, encoder=encoder, **options)
    return audit_reward(config, episodes=episodes, seed=seed, policies=policies)


def audit_reward(config: ImitationConfig, *, episodes: int, seed: int, policies: Sequence[AnyPath]) -> AuditReport:
    """Audit the reward of a training with these settings; `policies` are played beside idle play, by their paths."""
    require("episodes", Count, episodes)
    require("seed", Whole, seed)
    if not config.env:
        if config.encoder is None or config.demos is None:
            raise InputError("Name an environment with --env, or videos and their encoder with --demos and --encoder.")
        return audit_videos(config, read_videos(config.demos, config.reading), Encoder.load(config.encoder), seed=seed)
    env = make_env(config)
    demonstrations = find_demonstrations(config, env)
    encoder = find_encoder(config, demonstrations) if config.task.compare == "frames" else None
    for path in policies:
        if read_actor(path).about.action.targets != config.task.targets:
            raise InputError(
                f"The actions of the policy {path} mean something else than those of this task: audit with the "
                "--action-rate, --action-smoothing and --action-targets that it was trained with (or with 0 and none)."
            )
    played = [(Path(path).name, _of_state(load_flat_policy(path), env.observation_size)) for path in policies]
    return audit_task(config, demonstrations, encoder, episodes=episodes, seed=seed, policies=played)


def _of_state(choose: Choose, size: int) -> Choose:
    """A policy that looks at the state alone, whatever else the task shows."""

    def look(observation: np.ndarray, step: int) -> np.ndarray:
        return choose(observation[:size], step)

    return look


def _settings(env: str, **options: Any) -> ImitationConfig:
    """The settings that a command line with these options would have."""
    deciding: dict[str, Any] = {
        name: options.pop(name) for name in ("agent", "recipe", "reward", "ablation") if name in options
    }
    if options.get("demos") is not None:
        deciding["demos"] = Path(options["demos"])
    return changed(presets.defaults(Choice(env, **{"agent": "", **deciding})), options)
