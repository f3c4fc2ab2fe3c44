"""A small task for the training loop, and a command that trains on it: `python -m tests.toy RUN STEPS`.

A point on a line steps towards a goal at 1; reaching it ends the episode early, and the rest pays the best reward.
"""

import sys
from dataclasses import asdict, dataclass

import numpy as np

from vision_pwil.envs.control import Choose
from vision_pwil.sac import SAC, SACConfig, act
from vision_pwil.system.run import Run
from vision_pwil.training.replay import Replay
from vision_pwil.training.rollout import Trajectory
from vision_pwil.training.settings import FREE, TrainingConfig
from vision_pwil.training.trainer import Trainer

HORIZON = 20


@dataclass(frozen=True)
class ToyTask:
    broken_after: int | None = None

    def stage(self) -> "ToyStage":
        return ToyStage(self.broken_after)


class ToyStage:
    horizon = HORIZON
    action_size = 1

    def __init__(self, broken_after: int | None) -> None:
        self.left = broken_after

    def rollout(self, choose: Choose, seed: int, *, evaluating: bool = False) -> Trajectory:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise ValueError("the toy broke")
        position = np.random.default_rng(seed).uniform(-0.5, 0.0)
        observations, actions, rewards = [np.array([position, 0.0])], [], []
        for step in range(HORIZON):
            action = np.asarray(choose(observations[-1], step))
            position += 0.2 * float(action[0])
            actions.append(action)
            observations.append(np.array([position, (step + 1) / HORIZON]))
            rewards.append(float(np.exp(-abs(1.0 - position))))
            if position >= 1.0:
                break
        reached = position >= 1.0
        rewards += [1.0] * (HORIZON - len(actions)) if reached else []
        statistics = {"return": float(np.sum(rewards)), "opened": float(reached)}
        paid = np.array(rewards)
        return Trajectory(
            np.array(observations), np.array(actions), paid, True, statistics, unpaced=0.9 * paid, finished=reached
        )

    def measure(self, trajectory: Trajectory) -> dict[str, float]:
        return trajectory.statistics

    def film(self, trajectory: Trajectory) -> np.ndarray | None:
        frames = np.zeros((len(trajectory.actions), 8, 8, 3), np.uint8)
        frames[..., 0] = np.arange(len(frames))[:, None, None]
        return frames


def trainer(run: Run, config: TrainingConfig, agent: SACConfig, task: ToyTask) -> Trainer:
    replay = Replay(config.replay_capacity, 2, 1, config.seed)
    learner = SAC(2, 1, agent, config.seed)
    return Trainer(run, config, task=task, agent=learner, act=act, replay=replay, about={})


def settings(steps: int, **changes) -> TrainingConfig:
    defaults = {
        "random_steps": 200,
        "update_interval": 1.0,
        "batch_size": 32,
        "n_step": 2,
        "replay_capacity": 700,
        "evaluation_interval": 300,
        "evaluation_episodes": 2,
        "checkpoint_seconds": 0.2,
        "noise_exponent": 1.0,
        "action_repeat": 2,
        "elite": 0.25,
        "elite_episodes": 5,
        "pace_after": 0.5,
        "steady_episodes": 3,
    }
    return TrainingConfig(steps=steps, **{**defaults, **changes})


AGENT = SACConfig(hidden=(32, 32), normalize=True, critic_learning_rate=3e-3, actor_learning_rate=3e-3)


if __name__ == "__main__":
    config = settings(int(sys.argv[2]))
    with Run(sys.argv[1], {"training": asdict(config)}, FREE) as directory:
        done = trainer(directory, config, AGENT, ToyTask()).train()
    print("finished" if done else "stopped")
