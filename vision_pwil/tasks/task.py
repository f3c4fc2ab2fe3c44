"""An imitation task: independent choices, and the demonstrations as they are compared."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from vision_pwil.encoder import EMBEDDING, Encoder
from vision_pwil.envs.camera import Camera, open_camera
from vision_pwil.envs.flat import TARGETS, FlatEnv, require_registered
from vision_pwil.envs.renderer import RenderSettings
from vision_pwil.system import checkpoint
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import parsing, require_file
from vision_pwil.system.settings import restore
from vision_pwil.tasks.atoms import Atoms
from vision_pwil.tasks.config import TaskConfig
from vision_pwil.tasks.observation import Observation

TASK, ENCODER = "task.safetensors", "encoder.safetensors"
"""Files of a run directory."""


def own_settings(env: FlatEnv) -> RenderSettings:
    """Settings that the environment itself names for its camera, or else the default ones."""
    return getattr(env.env.unwrapped, "render_settings", RenderSettings())


def require_files(options: dict[str, Any]) -> None:
    """Refuse options out of a file that name what one might wait for in vain (a pipe, a device)."""
    for text in options.values():
        if isinstance(text, str) and Path(text).exists():
            require_file(text)


@dataclass(frozen=True, eq=False)
class Task:
    """All that a process needs to play an environment and reward it; plain values, sent and saved as they are."""

    env: str
    """Id of the environment."""
    reward: str
    """Name of the reward, see `vision_pwil.rewards.table`; or "task", the environment's own."""
    config: TaskConfig
    atoms: Atoms | None = None
    """The demonstrations; None with the environment's own reward."""
    encoder: Encoder | None = None
    """Where frames are compared."""
    absorbing_bit: bool = False
    """Show the policy a last dimension that is 1 in the absorbing state, and end falls in it (DAC)."""

    def stage(self) -> Any:
        """Make the environment, the camera and the reward."""
        from vision_pwil.tasks.stage import TaskStage

        return TaskStage(self)

    def make_env(self, **options: Any) -> FlatEnv:
        """The environment with its options."""
        return FlatEnv(self.env, self.config.horizon, self.config.targets, **self.config.make_options, **options)

    def camera(self, env: FlatEnv, settings: RenderSettings | None = None) -> Camera:
        """A camera with the task's view: at the size of the encoder's frames, or as the settings say."""
        settings = self.render_settings(env) if settings is None else self.config.view.applied(settings)
        return open_camera(env.env, settings)

    def render_settings(self, env: FlatEnv) -> RenderSettings:
        """How the frames that are compared are drawn."""
        settings = own_settings(env)
        if self.encoder is not None:
            height, width, _ = self.encoder.frame_shape
            settings = replace(settings, height=height, width=width)
        return self.config.view.applied(settings)

    def observation(self, env: FlatEnv) -> Observation:
        """What the policy sees. A robot's own targets are among what it knows of itself."""
        config, sees = self.config, self.config.observe == "embedding"
        targets = range(env.observation_size)[env.parts[TARGETS]] if env.meaning else ()
        return Observation(
            env.horizon,
            config.time_feature,
            self.absorbing_bit,
            EMBEDDING if sees else 0,
            (*config.proprioception, *targets) if sees else (),
            config.point_interval,
        )

    def about(self, env: FlatEnv) -> dict[str, Any]:
        """What a saved policy says of its task: enough to act in the environment's own units, far from its run."""
        return {
            "env": self.env,
            "env_options": list(self.config.env_options),
            "parts": list(env.parts),
            "observation": asdict(self.observation(env)),
            "action": {
                "low": env.bounds.low.tolist(),
                "high": env.bounds.high.tolist(),
                "shape": env.action_shape,
                "targets": asdict(env.meaning),
            },
        }

    def save(self, folder: Path) -> None:
        """Write the task into a run directory, the encoder as a file of its own."""
        arrays = {} if self.atoms is None else {k: v for k, v in self.atoms._asdict().items() if v is not None}
        plain = {name: getattr(self, name) for name in ("env", "reward", "absorbing_bit")}
        plain = {**plain, "config": asdict(self.config)}
        checkpoint.save(folder / TASK, {name: torch.from_numpy(array) for name, array in arrays.items()}, plain)
        if self.encoder is not None:
            self.encoder.save(folder / ENCODER)

    @classmethod
    def load(cls, folder: Path) -> "Task":
        """Read what `save` wrote. The directory is not trusted: its environment must be registered already."""
        path = folder / TASK
        if not path.exists():
            raise InputError(f"{folder} is not the directory of a training run: it has no {TASK}.")
        arrays, plain = checkpoint.load(path)
        with parsing(path, "task of this package"):
            config = restore(TaskConfig, plain["config"])
            require_files(config.make_options)
            return cls(
                require_registered(str(plain["env"])),
                str(plain["reward"]),
                config,
                Atoms(**{name: array.numpy() for name, array in arrays.items()}).checked() if arrays else None,
                Encoder.load(folder / ENCODER) if config.compare == "frames" else None,
                bool(plain["absorbing_bit"]),
            )
