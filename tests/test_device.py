"""Agents keep to the device that they are given, whatever torch's default device is."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tests.batches import ACTION, OBSERVATION, make_batch
from vision_pwil import sac
from vision_pwil.agents import bc, d4pg, dac, td3

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
