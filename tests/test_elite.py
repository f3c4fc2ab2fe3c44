"""The agent's own best episodes: which they are, and that batches hold their share of them."""

import numpy as np
import pytest

from tests.toy import ToyTask, settings, trainer
from vision_pwil.sac import SACConfig
from vision_pwil.system.errors import InputError
from vision_pwil.system.run import Run
from vision_pwil.training.elite import Elite
from vision_pwil.training.replay import Transitions
from vision_pwil.training.settings import TrainingConfig


def test_the_best_episodes_by_their_return_and_of_equal_ones_the_earlier():
    elite = Elite(2)
    for number, score in enumerate([3.0, 1.0, 5.0, 3.0]):
        elite.add(score, 10 * number, 10 * number + 4)
    assert elite.spans == ((5.0, 20, 24), (3.0, 0, 4))
    assert elite.numbers(oldest=2).tolist() == [20, 21, 22, 23, 2, 3]
    assert Elite(2).numbers(oldest=0).tolist() == []


@pytest.mark.parametrize("capacity", [100, 14])
def test_every_batch_has_its_share(capacity, tmp_path):
    """Transitions are marked with their number; with the small replay some of the best have been overwritten."""
    with Run(tmp_path, {}) as run:
        config = settings(10, batch_size=8, elite=0.5, elite_episodes=1, replay_capacity=capacity)
        learner = trainer(run, config, SACConfig(hidden=(4,)), ToyTask())
        for number, score in enumerate([1.0, 9.0, 2.0]):
            marks = np.arange(6 * number, 6 * number + 6, dtype=np.float32)
            sizes = [rows.shape[1:] for rows in learner.replay._rows]
            learner.replay.add(Transitions(*(np.broadcast_to(marks.reshape(6, *[1] * len(s)), (6, *s)) for s in sizes)))
            learner.elite.add(score, 6 * number, 6 * number + 6)
        learner.pacing.count = 0
        best = {*range(max(6, 18 - capacity), 12)}
        batches = learner._batches(40)
        assert {int(mark) for batch in batches for mark in batch.reward[4:]} == best
        assert {int(mark) for batch in batches for mark in batch.reward[:4]} == {*range(max(0, 18 - capacity), 18)}
        learner.board.close()


def test_a_share_that_leaves_nothing_is_refused():
    with pytest.raises(InputError, match=r"--elite 0\.001 .* such as 0\.5"):
        TrainingConfig(elite=0.001)
    with pytest.raises(InputError, match=r"--elite 0\.5"):
        TrainingConfig(elite=0.5, demonstrated=0.5)
