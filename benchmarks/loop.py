"""The training loop as the package runs it, in the hands of a benchmark, which says when an episode is played."""

from vision_pwil.agents import blueprint, table
from vision_pwil.system.run import Run
from vision_pwil.tasks.settings import ImitationConfig
from vision_pwil.tasks.task import Task
from vision_pwil.training.replay import Replay
from vision_pwil.training.trainer import Trainer


def make_trainer(config: ImitationConfig, task: Task, run: Run) -> Trainer:
    """A fresh agent and an empty replay, ready to play the task."""
    env, kind, training = task.make_env(), table.find(config.agent), config.training
    size = task.observation(env).size(env.observation_size)
    agent = kind.build(blueprint.Blueprint(config.settings, size, env.action_size, training.seed, training.device))
    replay = Replay(training.replay_capacity, size, env.action_size, training.seed)
    return Trainer(run, training, task=task, agent=agent, act=kind.act, replay=replay, about=task.about(env))
