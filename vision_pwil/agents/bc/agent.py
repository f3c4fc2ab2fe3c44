"""Behavioural cloning, the paper's first baseline (appendix "BC Implementation")."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from vision_pwil.agents.bc.settings import BCConfig
from vision_pwil.agents.blueprint import Blueprint
from vision_pwil.agents.parameters import Parameters
from vision_pwil.agents.parts import Noise
from vision_pwil.agents.perceptron import Perceptron, shapes
from vision_pwil.agents.protocol import Batch, Policy
from vision_pwil.rewards.metric import StandardizedEuclidean


class BC:
    """A policy fitted to expert pairs by the mean squared error.

    Args:
        states: (D, S), the expert's; observations are normalised by their mean and standard deviation.
        action_size: dimensions of an action; actions lie in [-1, 1].
        config: hyperparameters.
        seed: of the initial weights.
        device: where it learns.
    """

    name = "bc"

    def __init__(
        self,
        states: np.ndarray,
        action_size: int,
        config: BCConfig,
        seed: int,
        device: torch.device | str = "cpu",
    ) -> None:
        self.device = torch.device(device)
        mean: np.ndarray = states.mean(0, dtype=np.float64).astype(np.float32)
        # Dimensions that never change are left in their own unit, as in the metric.
        inverse_std = (1.0 / StandardizedEuclidean.of(states).std).astype(np.float32)
        self.scaling: Policy = {"mean": mean, "inverse_std": inverse_std, "clip": np.array([np.inf], np.float32)}
        """Arrays for `vision_pwil.agents.normalizer.normalized`."""
        self._mean, self._inverse_std = (torch.from_numpy(array).to(self.device) for array in (mean, inverse_std))
        sizes = (states.shape[1], *config.hidden, action_size)
        self.actor = Parameters(shapes(sizes), config.learning_rate, Noise(seed, self.device).generator)
        self.network = Perceptron(self.actor.tensors, gradients=self.actor.gradients)

    def observe(self, observations: np.ndarray) -> None:
        """Nothing to learn from observations alone."""

    @torch.no_grad()
    def update(self, batch: Batch) -> dict[str, Tensor]:
        """One step towards the expert's actions; the rest of the batch is not used."""
        batch = batch.to(self.device)
        output, trace = self.network.forward((batch.observation - self._mean) * self._inverse_std)
        action = output.tanh()
        errors = action - batch.action
        loss = errors.square().mean()
        by_output = errors.mul_(1.0 - action.square()).mul_(2.0 / errors.numel())
        self.network.backward(trace, by_output)
        self.actor.step()
        return {"loss": loss}

    def policy(self) -> Policy:
        """Arrays for `vision_pwil.agents.td3.policy.act`."""
        return {**self.actor.arrays(), **self.scaling, "sigma": np.zeros(1, np.float32)}

    def state_dict(self) -> dict[str, Tensor]:
        """Network and optimiser."""
        return self.actor.state_dict()

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Return to a saved state, bit for bit."""
        self.actor.load_state_dict(state)


def build(plan: Blueprint) -> BC:
    """A fresh learner."""
    assert plan.expert is not None
    return BC(plan.expert.states, plan.action_size, plan.settings, plan.seed, plan.device)
