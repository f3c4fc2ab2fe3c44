"""First what, then how: when pace begins to count, what is sampled meanwhile, and both rewards of an episode."""

import numpy as np
import pytest

from tests.test_task import constant, demonstrations
from vision_pwil.system.errors import InputError
from vision_pwil.tasks.atoms import points_of, weighted
from vision_pwil.tasks.config import TaskConfig
from vision_pwil.tasks.settings import ImitationConfig
from vision_pwil.tasks.task import Task
from vision_pwil.training.pacing import RAMP, WINDOW, Pacing
from vision_pwil.training.replay import Replay, Transitions
from vision_pwil.training.settings import TrainingConfig


def test_without_a_threshold_pace_counts_from_the_start():
    pacing = Pacing(0.0)
    for finished in [False] * 50:
        pacing.add(finished)
    assert pacing.weight == 1.0


def test_pace_waits_for_the_task_comes_in_little_by_little_and_goes_again():
    pacing = Pacing(0.5)
    for _ in range(100):
        pacing.add(False)
    assert pacing.weight == 0.0
    for _ in range(WINDOW // 2 - 1):
        pacing.add(True)
    assert pacing.weight == 0.0  # 9 of the last 20
    pacing.add(True)
    assert pacing.weight == 1 / RAMP
    for _ in range(2 * RAMP):
        pacing.add(True)
    assert pacing.weight == 1.0
    for _ in range(14):
        pacing.add(False)
    assert pacing.weight == 1.0  # 6 of 20 are still within the slack
    for _ in range(2):
        pacing.add(False)
    assert pacing.weight == 1.0 - 2 / RAMP

    again = Pacing(0.5)
    again.restore(pacing.count, pacing.recent)
    for finished in (False, True, True):
        pacing.add(finished)
        again.add(finished)
    assert again.weight == pacing.weight


@pytest.mark.parametrize(("weight", "expected"), [(0.0, 3.0), (0.25, 4.0), (1.0, 7.0)])
def test_what_is_sampled_lies_between_both_rewards(weight, expected):
    replay = Replay(10, 1, 1, seed=0)
    column, row = np.zeros((5, 1)), np.full(5, 1.0)
    replay.add(Transitions(column, column, 7 * row, row, column, 3 * row))
    replay.pace_weight = weight
    assert replay.sample(4).reward.tolist() == [expected] * 4


def test_an_episode_knows_both_rewards():
    """The one without pace is exactly what a task without pace pays."""
    atoms = weighted(points_of(demonstrations(), "pairs"), [False], 8, "none", timed=True)
    tasks = [Task("test/Grid-v0", "pwil", TaskConfig(standardized=False, pace=pace), atoms) for pace in (2.0, 0.0)]
    paced, free = (task.stage().rollout(constant(0.0), 0) for task in tasks)
    np.testing.assert_array_equal(paced.unpaced, free.rewards)
    assert free.unpaced is None and not np.allclose(paced.rewards, free.rewards)


def test_a_threshold_without_pace_or_without_an_end_is_refused():
    choice = {"env": "Hopper-v5"}
    with pytest.raises(InputError, match=r"--pace-after .* --pace"):
        ImitationConfig(**choice, training=TrainingConfig(pace_after=0.5))
    with pytest.raises(InputError, match=r"--pace-after .* --ending"):
        ImitationConfig(**choice, task=TaskConfig(pace=2.0), training=TrainingConfig(pace_after=0.5))
    with pytest.raises(InputError, match=r"--elite .* --ending"):
        ImitationConfig(**choice, training=TrainingConfig(elite=0.5))
