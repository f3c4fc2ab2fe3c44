"""Distributed distributional deterministic policy gradients, with one actor (Barth-Maron et al. 2018)."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from vision_pwil.agents.blueprint import Blueprint
from vision_pwil.agents.d4pg import categorical, networks
from vision_pwil.agents.d4pg.networks import HIDDEN
from vision_pwil.agents.d4pg.settings import D4PGConfig
from vision_pwil.agents.normalizer import Normalizer
from vision_pwil.agents.parameters import Average
from vision_pwil.agents.parts import Counter, Noise, Part, gather, restore
from vision_pwil.agents.perceptron import Perceptron
from vision_pwil.agents.protocol import Batch, Policy


class D4PG:
    """One learner; every update is a function of its state and the batch.

    Args:
        observation_size: dimensions of an observation.
        action_size: dimensions of an action; actions lie in [-1, 1].
        config: hyperparameters.
        seed: of the initial weights.
        device: where it learns.
    """

    name = "d4pg"

    def __init__(
        self,
        observation_size: int,
        action_size: int,
        config: D4PGConfig,
        seed: int,
        device: torch.device | str = "cpu",
    ) -> None:
        self.config = config
        self.device = torch.device(device)
        self.normalizer = Normalizer(observation_size, active=config.normalize, device=self.device)
        generator = Noise(seed, self.device).generator
        actor_sizes = (observation_size, *config.actor_hidden, action_size)
        critic_sizes = (observation_size + action_size, *config.critic_hidden, config.atoms)
        self.actor = networks.parameters(actor_sizes, config.actor_learning_rate, generator)
        self.critic = networks.parameters(critic_sizes, config.critic_learning_rate, generator, normal_head=True)
        self.target_actor, self.target_critic = Average(self.actor), Average(self.critic)
        self.actor_network = Perceptron(self.actor.tensors, HIDDEN, self.actor.gradients)
        self.critic_network = Perceptron(self.critic.tensors, HIDDEN, self.critic.gradients)
        self.target_actor_network = Perceptron(self.target_actor.tensors, HIDDEN)
        self.target_critic_network = Perceptron(self.target_critic.tensors, HIDDEN)
        self.support = torch.linspace(config.value_min, config.value_max, config.atoms, device=self.device)
        self.updates = Counter()

    def observe(self, observations: np.ndarray) -> None:
        """Follow the observations' statistics, when they are used."""
        self.normalizer.observe(observations)

    @torch.no_grad()
    def update(self, batch: Batch) -> dict[str, Tensor]:
        """Critic, then actor; now and then their targets."""
        config, batch, size = self.config, batch.to(self.device), batch.observation.shape[1]
        observation, next_observation = self.normalizer(batch.observation), self.normalizer(batch.next_observation)
        # critic
        next_action = self.target_actor_network.forward(next_observation)[0].tanh_()
        next_pairs = torch.cat([next_observation, next_action], dim=-1)
        next_logits, _ = self.target_critic_network.forward(next_pairs)
        target = categorical.project(self.support, next_logits.softmax(-1), batch.reward, batch.discount)
        logits, trace = self.critic_network.forward(torch.cat([observation, batch.action], dim=-1))
        critic_loss, by_logits, probabilities = categorical.cross_entropy(target, logits)
        self.critic_network.backward(trace, by_logits)
        self.critic.step(config.max_norm)

        # actor, through the critic as it is now, to its inputs' part that is the action
        output, actor_trace = self.actor_network.forward(observation)
        action = output.tanh_()
        logits, trace = self.critic_network.forward(torch.cat([observation, action], dim=-1))
        values, by_logits = categorical.mean(self.support, logits)
        by_action = self.critic_network.to_inputs(trace, by_logits, first=size)
        by_action *= (config.action_max_norm / by_action.norm(dim=-1, keepdim=True)).clamp_(max=1.0)
        by_output = by_action.mul_(1.0 - action.square()).div_(-len(action))
        self.actor_network.backward(actor_trace, by_output)
        self.actor.step(config.max_norm)

        self.updates.value += 1
        if self.updates.value % config.target_period == 0:
            self.target_actor.follow(self.actor, 1.0)
            self.target_critic.follow(self.critic, 1.0)
        return {
            "critic_loss": critic_loss,
            "actor_loss": -values.mean(),
            "value": (probabilities @ self.support).mean(),
            "edge_mass": categorical.edge_mass(probabilities),
        }

    def policy(self) -> Policy:
        """Arrays for `vision_pwil.agents.d4pg.policy.act`."""
        return {**self.actor.arrays(), **self.normalizer.policy(), "sigma": np.array([self.config.sigma], np.float32)}

    def _parts(self) -> dict[str, Part]:
        return {
            "actor": self.actor,
            "critic": self.critic,
            "target_actor": self.target_actor,
            "target_critic": self.target_critic,
            "updates": self.updates,
            "normalizer": self.normalizer,
        }

    def state_dict(self) -> dict[str, Tensor]:
        """Networks, optimisers, statistics and the number of updates."""
        return gather(self._parts())

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Return to a saved state, bit for bit."""
        restore(self._parts(), state)


def build(plan: Blueprint) -> D4PG:
    """A fresh learner."""
    return D4PG(plan.observation_size, plan.action_size, plan.settings, plan.seed, plan.device)
