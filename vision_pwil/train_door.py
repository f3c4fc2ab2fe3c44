"""Learn to open the door from demonstrations: `python -m vision_pwil.train_door`."""

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

from vision_pwil import cli, sac
from vision_pwil.demonstrations import read
from vision_pwil.demonstrations.door import render_door
from vision_pwil.door_env import HORIZON, OPEN_ANGLE
from vision_pwil.door_task import DoorTaskFactory, Metric, pixel_atoms, state_atoms
from vision_pwil.encoder import Encoder
from vision_pwil.errors import InputError
from vision_pwil.replay import Replay
from vision_pwil.run import Run
from vision_pwil.training import FREE, Trainer, TrainingConfig

STATE_SIZE, ACTION_SIZE = 39, 28


@dataclass(frozen=True)
class TrainDoor:
    """Learn to open the door from demonstrations."""

    demos: str | None = None
    """Demonstrations of the door, in any format that `python -m vision_pwil.demonstrations` reads."""
    run: str = "runs/door"
    """Directory of the run; an interrupted run found there is continued."""
    metric: Metric = "pixels"
    """What the reward compares: frames through the learned encoder, or standardised states (no rendering)."""
    encoder: str | None = None
    """Encoder file for the metric "pixels" (`python -m vision_pwil.tcc.train`)."""
    recipe: Literal["default", "paper"] = "default"
    """Settings to start from: those measured to learn faster, or the paper's agent as its appendix has it."""
    horizon: int = HORIZON
    """Steps in an episode."""
    open_angle: float = OPEN_ANGLE
    """Radians at which the door is open and the episode ends."""
    alpha: float = 5.0
    """Largest reward of a step (section "Door Opening Task")."""
    beta: float = 1.0
    """How fast the reward falls with the cost (section "Door Opening Task")."""
    time_feature: bool = True
    """Let the policy see t/T: the reward depends on what the episode has used up, which the state does not tell."""
    training: TrainingConfig = field(default_factory=TrainingConfig)
    agent: sac.SACConfig = field(default_factory=sac.SACConfig)


def factory(config: TrainDoor) -> DoorTaskFactory:
    """Make the atoms of the demonstrations, and all else that the task needs."""
    if config.demos is None:
        raise InputError("No demonstrations come with the package yet: name a file with --demos.")
    demonstrations = read(config.demos)
    if config.metric == "state":
        atoms, encoder = state_atoms(demonstrations, config.horizon, config.open_angle), None
    else:
        if config.encoder is None:
            raise InputError('The metric "pixels" needs an encoder: name its file with --encoder.')
        atoms = pixel_atoms(
            render_door(demonstrations, open_angle=config.open_angle), Encoder.load(config.encoder), config.horizon
        )
        encoder = config.encoder
    return DoorTaskFactory(
        atoms, config.metric, encoder, config.horizon, config.open_angle, config.alpha, config.beta, config.time_feature
    )


def main(config: TrainDoor) -> None:
    """Train, evaluate, and say where the outcome is."""
    with Run(config.run, asdict(config), free=(*FREE, "run")) as run:
        size = STATE_SIZE + config.time_feature
        agent = sac.SAC(size, ACTION_SIZE, config.agent, config.training.seed)
        replay = Replay(config.training.replay_capacity, size, ACTION_SIZE, config.training.seed)
        Trainer(run, agent, sac.act, factory(config), replay, config.training).train()


if __name__ == "__main__":
    cli.run(main)
