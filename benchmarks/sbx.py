"""SBX's side of `benchmarks.sac`: a script for the Python of a virtual environment that has `sbx-rl`.

    pip install sbx-rl==0.28.0

It reads lines "batch layer_norm updates" and answers each with the milliseconds of one core that an update took.
"""

import os
import sys
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"
if hasattr(os, "sched_setaffinity"):  # one core from the start: else XLA's threads take a third more of it together
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
if sys.path[0] == os.path.dirname(os.path.abspath(__file__)):  # noqa: PTH100, PTH120
    del sys.path[0]  # this file's name would hide the library's

import gymnasium as gym
import jax
import numpy as np
import sbx
from stable_baselines3.common.logger import Logger

OBSERVATION, ACTION, HIDDEN = map(int, sys.argv[1:4])


class Spaces(gym.Env):
    """An environment of these sizes that is never stepped."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (OBSERVATION,), np.float32)
    action_space = gym.spaces.Box(-1.0, 1.0, (ACTION,), np.float32)


def learner(size: int, layer_norm: bool) -> sbx.SAC:
    """SBX's SAC on a filled replay buffer."""
    model = sbx.SAC(
        "MlpPolicy",
        Spaces(),
        batch_size=size,
        buffer_size=10_000,
        policy_kwargs={"net_arch": [HIDDEN, HIDDEN], "layer_norm": layer_norm},
        seed=0,
    )
    model.set_logger(Logger(None, []))
    for name in ("observations", "next_observations", "actions", "rewards"):
        array = getattr(model.replay_buffer, name)
        array[:] = np.random.default_rng(0).uniform(-1, 1, array.shape)
    model.replay_buffer.full = True
    return model


def main() -> None:
    """Answer until the input ends."""
    learners: dict[str, sbx.SAC] = {}
    for line in sys.stdin:
        size, layer_norm, updates = map(int, line.split())
        name = f"{size} {layer_norm}"
        if name not in learners:
            learners[name] = learner(size, bool(layer_norm))
            learners[name].train(gradient_steps=updates, batch_size=size)  # compiles
        started = time.process_time()
        learners[name].train(gradient_steps=updates, batch_size=size)
        jax.block_until_ready(learners[name].policy.actor_state.params)
        print(1e3 * (time.process_time() - started) / updates, flush=True)


main()  # a script for another Python, never imported here
