"""The demonstrations' own transitions in an agent's batches: what each step earns, and what leads where."""

import numpy as np
import pytest
import torch

from benchmarks.transcription import transcription
from tests.toy import ToyTask, settings, trainer
from vision_pwil.demonstrations import Demonstrations, Episode
from vision_pwil.envs.flat import Bounds, FlatEnv
from vision_pwil.sac.settings import SACConfig
from vision_pwil.system.run import Run
from vision_pwil.tasks.config import TaskConfig
from vision_pwil.tasks.demonstrated import rewarded, transitions
from vision_pwil.tasks.observation import Observation
from vision_pwil.tasks.task import Task
from vision_pwil.training.replay import Replay, Transitions
from vision_pwil.training.settings import TrainingConfig


def test_every_step_leads_as_far_as_one_of_the_agents():
    """Two steps a decision, returns over one decision; the second episode is shorter than a decision."""
    states = np.arange(8.0).reshape(4, 2)
    actions = np.array([[0.0], [2.0], [1.0], [2.0]])
    shown = Demonstrations((Episode(states, actions, absorbing=True), Episode(states[:1] + 10, actions[:1])))
    rewards = [np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([6.0])]  # 5: of an absorbing step
    paid = [(with_pace, 10 * with_pace) for with_pace in rewards]
    training = TrainingConfig(gamma=0.5, action_repeat=2)
    bounds = Bounds(np.array([0.0]), np.array([2.0]))
    first, second, third = transitions(shown, paid, Observation(10, time=True), bounds, training, terminal=True)
    # From step 0: two decisions, at steps 0 and 2; the absorbing step's reward is paid with the last, halved.
    np.testing.assert_allclose(first.observation, [[0, 1, 0.0], [4, 5, 0.2]])
    np.testing.assert_allclose(first.action, [[-1.0], [0.0]])
    np.testing.assert_allclose(first.reward, [1 + 0.5 * 2, 3 + 0.5 * (4 + 0.5 * 5)])
    np.testing.assert_allclose(first.discount, [0.25, 0.0])
    np.testing.assert_allclose(first.next_observation[0], [4, 5, 0.2])
    # From step 1: decisions at steps 1 and 3.
    np.testing.assert_allclose(second.observation, [[2, 3, 0.1], [6, 7, 0.3]])
    np.testing.assert_allclose(second.reward, [2 + 0.5 * 3, 4 + 0.5 * 5])
    np.testing.assert_allclose(second.discount, [0.25, 0.0])
    np.testing.assert_allclose(second.unpaced, 10 * second.reward)
    np.testing.assert_allclose((third.reward, third.discount), ([6.0], [0.0]))


def test_a_demonstration_earns_what_an_agent_would_beside_the_others():
    rng = np.random.default_rng(0)
    env = FlatEnv("Reacher-v5")
    pairs = [rng.normal(size=(length, 12)) for length in (40, 50, 50)]
    shown = Demonstrations(tuple(Episode(path[:, :10], path[:, 10:]) for path in pairs))
    task = Task("Reacher-v5", "pwil", TaskConfig(standardized=False, alpha=3.0, beta=0.5))
    for number, rewards in enumerate(rewarded(task, shown, env)):
        others = np.concatenate([path for other, path in enumerate(pairs) if other != number])
        costs = transcription(pairs[number], others, 50)
        np.testing.assert_allclose(rewards, 3.0 * np.exp(-0.5 * 50 / np.sqrt(12) * costs), rtol=1e-6)


@pytest.mark.parametrize(("share", "shown"), [(0.25, 2), (0.5, 4)])
def test_every_batch_has_its_share(share, shown, tmp_path):
    with Run(tmp_path, {}) as run:
        config = settings(10, batch_size=8, demonstrated=share, elite=0.0)
        learner = trainer(run, config, SACConfig(hidden=(4,)), ToyTask())
        sizes = [rows.shape[1:] for rows in learner.replay._rows]
        for replay, mark, count in ((learner.replay, 0.0, 5), (Replay(9, sizes[0][0], sizes[1][0], 0), 1.0, 9)):
            replay.add(Transitions(*(np.full((count, *size), mark, np.float32) for size in sizes)))
        learner.demonstrated, replay.rng = replay, learner.replay.rng
        batches = learner._batches(3)
        assert [len(batch.reward) for batch in batches] == [8] * 3
        for batch in batches:
            for part in batch:
                assert torch.equal(
                    part.flatten(1).mean(1) if part.ndim > 1 else part,
                    torch.tensor([0.0] * (8 - shown) + [1.0] * shown),
                )
        learner.board.close()
