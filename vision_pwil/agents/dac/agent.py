"""Discriminator-actor-critic: TD3 on the reward of a discriminator that learns beside it.

Observations end in a bit that is 1 in the absorbing state (`vision_pwil.tasks`), which episodes that end early enter
and never leave: bootstrapping never stops, and the actor learns from the other states only.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from vision_pwil.agents.blueprint import Blueprint
from vision_pwil.agents.dac import losses
from vision_pwil.agents.dac.expert import ExpertPairs
from vision_pwil.agents.dac.settings import DACConfig
from vision_pwil.agents.parameters import Parameters
from vision_pwil.agents.parts import Noise, Part, gather, restore
from vision_pwil.agents.perceptron import differentiable, shapes
from vision_pwil.agents.protocol import Batch, Policy
from vision_pwil.agents.td3 import TD3


class DAC:
    """One learner; every update is a function of its state and the batch.

    Args:
        expert: expert pairs; observations with the absorbing bit, actions in [-1, 1].
        config: hyperparameters.
        seed: of the initial weights and of the noise in the updates.
        device: where it learns.
    """

    name = "dac"

    def __init__(self, expert: ExpertPairs, config: DACConfig, seed: int, device: torch.device | str = "cpu") -> None:
        observation_size, action_size = expert.observations.shape[1], expert.actions.shape[1]
        self.config = config
        self.device = torch.device(device)
        self.noise = Noise(seed + 1, self.device)  # TD3 has the seed's own
        self.td3 = TD3(observation_size, action_size, config.td3, seed, self.device)
        self.discriminator = Parameters(
            shapes((observation_size + action_size, *config.discriminator_hidden, 1)),
            config.discriminator_learning_rate,
            self.noise.generator,
        )
        pairs = np.concatenate([expert.observations, expert.actions], 1)
        self._pairs, self._weights = (
            torch.from_numpy(array.astype(np.float32)).to(self.device) for array in (pairs, expert.weights)
        )

    def observe(self, observations: np.ndarray) -> None:
        """Nothing to learn from observations alone."""

    def logits(self, tensors: Mapping[str, Tensor], pairs: Tensor) -> Tensor:
        """The discriminator's log-odds that a pair is the expert's; they are the reward (DAC's code, "airl")."""
        return differentiable(tensors, pairs, torch.tanh).squeeze(-1)

    def update(self, batch: Batch) -> dict[str, Tensor]:
        """The discriminator, then TD3 on its reward, both on the same batch."""
        batch = batch.to(self.device)
        pairs = torch.cat([batch.observation, batch.action], dim=-1)
        metrics = self._discriminate(pairs)
        reward = self.logits(self.discriminator.tensors, pairs)
        decays = self.td3.updates.value // self.config.actor_decay_interval
        self.td3.actor.learning_rate = self.config.td3.actor_learning_rate * self.config.actor_decay**decays
        live, next_live = 1.0 - batch.observation[:, -1], 1.0 - batch.next_observation[:, -1]
        return {**metrics, **self.td3.update(batch._replace(reward=reward), live, next_live)}

    def _discriminate(self, agent: Tensor) -> dict[str, Tensor]:
        generator, tensors = self.noise.generator, self.discriminator.leaves()
        chosen = torch.randint(len(self._pairs), (len(agent),), generator=generator, device=self.device)
        expert = self._pairs[chosen]
        expert_logits, agent_logits = self.logits(tensors, torch.cat([expert, agent])).chunk(2)
        loss = losses.classification(expert_logits, agent_logits, self._weights[chosen])
        mix = torch.rand((len(agent), 1), generator=generator, device=self.device)
        penalty = losses.gradient_penalty(lambda points: self.logits(tensors, points), expert, agent, mix)
        self.discriminator.descend(loss + self.config.gradient_penalty * penalty, tensors)
        return {
            "discriminator_loss": loss.detach(),
            "gradient_penalty": penalty.detach(),
            "reward": agent_logits.detach().mean(),
            "expert_reward": expert_logits.detach().mean(),
        }

    def policy(self) -> Policy:
        """Arrays for `vision_pwil.agents.td3.policy.act`."""
        return self.td3.policy()

    def _parts(self) -> dict[str, Part]:
        return {"td3": self.td3, "discriminator": self.discriminator, "noise": self.noise}

    def state_dict(self) -> dict[str, Tensor]:
        """Networks, optimisers, the number of updates and the generators of noise."""
        return gather(self._parts())

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Return to a saved state, bit for bit."""
        restore(self._parts(), state)


def build(plan: Blueprint) -> DAC:
    """A fresh learner."""
    assert plan.expert is not None
    return DAC(ExpertPairs.of(*plan.expert), plan.settings, plan.seed, plan.device)
