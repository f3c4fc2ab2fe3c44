"""Twin delayed deep deterministic policy gradients (Fujimoto et al. 2018), by default without the delay."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from vision_pwil.agents.blueprint import Blueprint
from vision_pwil.agents.parameters import Average, Parameters
from vision_pwil.agents.parts import Counter, Noise, Part, gather, restore
from vision_pwil.agents.perceptron import Perceptron, shapes, twins
from vision_pwil.agents.protocol import Batch, Policy
from vision_pwil.agents.td3 import losses
from vision_pwil.agents.td3.settings import TD3Config


class TD3:
    """One learner; every update is a function of its state and the batch.

    Args:
        observation_size: dimensions of an observation.
        action_size: dimensions of an action; actions lie in [-1, 1].
        config: hyperparameters.
        seed: of the initial weights and of the noise in the updates.
        device: where it learns.
    """

    name = "td3"

    def __init__(
        self,
        observation_size: int,
        action_size: int,
        config: TD3Config,
        seed: int,
        device: torch.device | str = "cpu",
    ) -> None:
        self.config = config
        self.device = torch.device(device)
        self.noise = Noise(seed, self.device)
        actor_sizes = (observation_size, *config.hidden, action_size)
        critic_sizes = (observation_size + action_size, *config.hidden, 1)
        self.actor = Parameters(shapes(actor_sizes), config.actor_learning_rate, self.noise.generator)
        self.critics = Parameters(shapes(critic_sizes, copies=2), config.critic_learning_rate, self.noise.generator)
        self.target_actor, self.target_critics = Average(self.actor), Average(self.critics)
        self.actor_network = Perceptron(self.actor.tensors, gradients=self.actor.gradients)
        self.critic_networks = twins(self.critics.tensors, gradients=self.critics.gradients)
        self.target_actor_network = Perceptron(self.target_actor.tensors)
        self.target_critic_networks = twins(self.target_critics.tensors)
        self.updates = Counter()

    def observe(self, observations: np.ndarray) -> None:
        """Nothing to learn from observations alone."""

    @torch.no_grad()
    def update(self, batch: Batch, live: Tensor | None = None, next_live: Tensor | None = None) -> dict[str, Tensor]:
        """Critics, actor and their targets.

        DAC says which states are no absorbing ones, by a 1 for each: `live` of the observations, which alone teach the
        actor, and `next_live` of the next ones; in an absorbing state the only action is 0.
        """
        config, batch = self.config, batch.to(self.device)
        observation = batch.observation

        # critics
        next_action = self.target_actor_network.forward(batch.next_observation)[0].tanh()
        blur = torch.randn(next_action.shape, generator=self.noise.generator, device=self.device)
        next_action = losses.smooth(next_action, blur, config.smoothing, config.smoothing_clip)
        if next_live is not None:
            next_action *= next_live[:, None]
        next_pairs = torch.cat([batch.next_observation, next_action], dim=-1)
        next_values = torch.stack([target.forward(next_pairs)[0][:, 0] for target in self.target_critic_networks])
        targets = losses.target(batch.reward, batch.discount, next_values)
        pairs = torch.cat([observation, batch.action], dim=-1)
        critic_losses, values = [], []
        for critic in self.critic_networks:
            value, trace = critic.forward(pairs)
            loss, by_value = losses.critic_loss(value[:, 0], targets)
            critic.backward(trace, by_value[:, None])
            critic_losses.append(loss)
            values.append(value)
        self.critics.step()
        metrics = {"critic_loss": critic_losses[0] + critic_losses[1], "value": torch.cat(values).mean()}

        # actor, through the first critic as it is now
        self.updates.value += 1
        if self.updates.value % config.actor_interval == 0:
            output, actor_trace = self.actor_network.forward(observation)
            action, critic = output.tanh(), self.critic_networks[0]
            value, trace = critic.forward(torch.cat([observation, action], dim=-1))
            by_value = losses.actor_gradient(value[:, 0], live)[:, None]
            by_action = critic.to_inputs(trace, by_value, first=observation.shape[1])
            self.actor_network.backward(actor_trace, by_action * (1.0 - action.square()))
            self.actor.step(config.actor_max_norm)
            self.target_actor.follow(self.actor, config.polyak)
            self.target_critics.follow(self.critics, config.polyak)
        return metrics

    def policy(self) -> Policy:
        """Arrays for `vision_pwil.agents.td3.policy.act`."""
        return {**self.actor.arrays(), "sigma": np.array([self.config.sigma], np.float32)}

    def _parts(self) -> dict[str, Part]:
        return {
            "actor": self.actor,
            "critics": self.critics,
            "target_actor": self.target_actor,
            "target_critics": self.target_critics,
            "updates": self.updates,
            "noise": self.noise,
        }

    def state_dict(self) -> dict[str, Tensor]:
        """Networks, optimisers, the number of updates and the generator of noise."""
        return gather(self._parts())

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Return to a saved state, bit for bit."""
        restore(self._parts(), state)


def build(plan: Blueprint) -> TD3:
    """A fresh learner."""
    return TD3(plan.observation_size, plan.action_size, plan.settings, plan.seed, plan.device)
