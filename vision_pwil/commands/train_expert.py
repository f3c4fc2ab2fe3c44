"""Train an agent on a task's own reward: `python -m vision_pwil.commands.train_expert --env Hopper-v5`.

`python -m vision_pwil.demonstrations record RUN FILE` then turns it into demonstrations, also for an environment of
your own.
"""

from dataclasses import asdict, dataclass, field, replace
from typing import Literal

import tyro

from vision_pwil import sac
from vision_pwil.agents import d4pg, td3
from vision_pwil.agents import table as agents
from vision_pwil.commands.evaluate import TASK
from vision_pwil.envs.flat import FlatEnv
from vision_pwil.system import choices, cli
from vision_pwil.system.run import Run
from vision_pwil.tasks.locomotion_task import LocomotionTaskFactory
from vision_pwil.train_locomotion import about_policy, default_run, report
from vision_pwil.training.replay import Replay
from vision_pwil.training.trainer import FREE, Trainer, TrainingConfig


@dataclass(frozen=True)
class Choice:
    """The options that decide the defaults of others: name them, and --help shows those."""

    env: str = "Hopper-v5"
    """Id of a Gymnasium environment with Box spaces; "module:id" imports the module first."""
    agent: Literal["sac", "td3", "d4pg"] = "sac"
    """The paper's experts are D4PG's; its support must cover the discounted returns: see --value-max."""


@dataclass(frozen=True)
class TrainExpert(Choice):
    """Train an agent on a task's own reward."""

    run: str | None = None
    """Directory of the run, by default runs/ENV-expert; an interrupted run found there is continued."""
    horizon: int | None = None
    """The longest episode; by default the environment's own limit."""
    training: TrainingConfig = field(default_factory=TrainingConfig)
    settings: tyro.conf.AvoidSubcommands[agents.AgentConfig] = field(default_factory=sac.SACConfig)


def defaults(choice: Choice) -> TrainExpert:
    """Settings known to learn locomotion, by agent."""
    settings: agents.AgentConfig
    training = TrainingConfig(steps=1_000_000, update_interval=1.0, threads=2)
    if choice.agent == "d4pg":
        settings = d4pg.D4PGConfig()
        training = replace(training, n_step=5, update_interval=4.0, random_steps=1_000)
    else:
        settings = td3.TD3Config() if choice.agent == "td3" else sac.SACConfig()
    return TrainExpert(**asdict(choice), training=training, settings=settings)


def main(config: TrainExpert) -> None:
    """Train, evaluate, and say where the outcome is."""
    env, training = FlatEnv(config.env, config.horizon), config.training
    with Run(config.run or default_run(config.env, "expert"), asdict(config), free=(*FREE, "run")) as run:
        agent = agents.build(config.settings, env.observation_size, env.action_size, training.seed)
        replay = Replay(training.replay_capacity, env.observation_size, env.action_size, training.seed)
        factory = LocomotionTaskFactory(config.env, config.horizon)
        factory.save(run.path / TASK)
        act, about = agents.ACTS[config.agent], about_policy(config.env, env.horizon)
        finished = Trainer(run, agent, act, factory, replay, training, about).train()
        report(run, finished)


if __name__ == "__main__":
    cli.run(choices.command(main, Choice, defaults))
