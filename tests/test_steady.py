"""The averaged policy, by hand; over one episode it is the learner's own, bit for bit."""

import numpy as np
import torch

from vision_pwil.training.steady import SteadyPolicy


def policy(value: float) -> dict[str, np.ndarray]:
    return {"weight0": np.full((2, 3), value, np.float32), "bias0": np.full(3, -value, np.float32)}


def test_it_is_the_average_of_the_last_episodes():
    steady = SteadyPolicy(policy(1.0), 4)
    for value in (5.0, 9.0):
        steady.follow(policy(value))
    np.testing.assert_allclose(steady.arrays["weight0"], 0.75 * (0.75 * 1.0 + 0.25 * 5.0) + 0.25 * 9.0)
    assert all(array.dtype == np.float32 for array in steady.arrays.values())
    again = SteadyPolicy(policy(0.0), 4)
    again.load_state_dict({name: torch.clone(tensor) for name, tensor in steady.state_dict().items()})
    for each in (steady, again):
        each.follow(policy(2.0))
    np.testing.assert_array_equal(again.arrays["bias0"], steady.arrays["bias0"])


def test_over_one_episode_it_is_the_latest():
    steady = SteadyPolicy(policy(0.1), 1)
    steady.follow(policy(1 / 3))
    np.testing.assert_array_equal(steady.arrays["weight0"], policy(1 / 3)["weight0"])
