"""Agents and encoders keep to the device that they are given, whatever torch's default device is."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tests.batches import ACTION, OBSERVATION, make_batch
from tests.videos import ball_videos
from vision_pwil import sac
from vision_pwil.agents import bc, d4pg, dac, td3
from vision_pwil.system.device import require_device
from vision_pwil.system.errors import InputError
from vision_pwil.tcc.learner import Learner
from vision_pwil.tcc.recipes import RECIPES, Recipe
from vision_pwil.tcc.sampling import sample

STATES = np.random.default_rng(0).normal(size=(9, OBSERVATION))
PAIRS = dac.ExpertPairs.of(STATES[:, 1:], np.zeros((9, ACTION)), ends=1, every=2)
MAKERS: dict[str, Callable[[str], Any]] = {
    "sac": lambda device: sac.SAC(OBSERVATION, ACTION, sac.SACConfig(normalize=True), 0, device=device),
    "sac-layer-norm": lambda device: sac.SAC(
        OBSERVATION, ACTION, sac.SACConfig(critic_layer_norm=True), 0, device=device
    ),
    "td3": lambda device: td3.TD3(OBSERVATION, ACTION, td3.TD3Config(), 0, device=device),
    "d4pg": lambda device: d4pg.D4PG(OBSERVATION, ACTION, d4pg.D4PGConfig(normalize=True), 0, device=device),
    "dac": lambda device: dac.DAC(PAIRS, dac.DACConfig(), 0, device=device),
    "bc": lambda device: bc.BC(STATES, ACTION, bc.BCConfig(), 0, device=device),
}


def learned(make: Callable[[str], Any]) -> dict[str, torch.Tensor]:
    agent = make("cpu")
    agent.observe(STATES)
    metrics = [agent.update(batch) for batch in BATCHES]
    agent.policy()
    return {**agent.state_dict(), **metrics[-1]}


BATCHES = [make_batch(seed) for seed in range(2)]


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_nothing_is_made_on_torchs_default_device(make: Callable[[str], Any]):
    """A tensor that forgot its device would be made on "meta" here, which holds no numbers, and be caught."""
    expected = learned(make)
    with torch.device("meta"):
        found = learned(make)
    for name, value in expected.items():
        assert found[name].device.type == "cpu", name
        assert torch.equal(found[name], value), name


@pytest.mark.parametrize(
    "recipe",
    [Recipe(), RECIPES["paper"], replace(Recipe(), loss="regression_mse")],
    ids=["default", "paper", "regression"],
)
def test_an_encoder_is_learned_on_its_own_device(recipe: Recipe):
    learners = [Learner(ball_videos(4), replace(recipe, subsampling=4), seed=0, device="cpu") for _ in range(2)]
    batch = sample(learners[0].videos, learners[0].recipe, seed=0, update=0)
    expected = learners[0].learn(batch)
    with torch.device("meta"):
        assert learners[1].learn(batch) == expected
    moved = batch.to(torch.device("meta"))
    assert all(part.is_meta for part in moved if isinstance(part, torch.Tensor)) and moved.lengths == batch.lengths


@pytest.mark.parametrize("name", ["cdua", "cuda:77", "meta", ""])
def test_a_device_that_cannot_compute_is_refused(name: str):
    require_device("cpu")
    with pytest.raises(InputError, match=f"^--device {name} is not a device"):
        require_device(name)
