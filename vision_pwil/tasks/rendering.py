"""Demonstrations without frames, drawn by replaying them."""

from collections.abc import Sequence
from pathlib import Path

from vision_pwil.demonstrations import Demonstrations, read
from vision_pwil.door_env import ENV_ID, OPEN_ANGLE
from vision_pwil.envs import open_loop
from vision_pwil.system.errors import InputError
from vision_pwil.tasks.config import TaskConfig, View
from vision_pwil.tasks.imitation import find_demonstrations
from vision_pwil.tasks.making import make_env
from vision_pwil.tasks.settings import ImitationConfig


def render(
    path: Path, env: str | None, env_options: Sequence[str], success: str | None, view: View
) -> tuple[Demonstrations, str | None]:
    """The demonstrations with frames, as a training would draw them; of the door, also how faithful the replay was."""
    env = env or read(path).env_id
    if env is None:
        raise InputError(f"{path} does not say which environment it is of: name one with --env.")
    # With an absorbing ending, success is looked for.
    task = TaskConfig(compare="frames", ending="last", env_options=tuple(env_options), success=success, view=view)
    config = ImitationConfig(env=env, demos=path, task=task)
    report = None
    if env == ENV_ID:
        angle = float(task.make_options.get("open_angle", OPEN_ANGLE))
        report = open_loop.replay_table(open_loop.replay(read(path), angle))
    return find_demonstrations(config, make_env(config)), report
