"""Soft actor-critic with twin critics and a learned temperature."""

import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from vision_pwil.agents.activations import NormalizedRelu
from vision_pwil.agents.blueprint import Blueprint
from vision_pwil.agents.normalizer import Normalizer
from vision_pwil.agents.parameters import Average, Parameters
from vision_pwil.agents.parts import Noise, Part, gather, restore
from vision_pwil.agents.perceptron import RELU, Activations, Perceptron, shapes, twins
from vision_pwil.agents.protocol import Batch, Policy
from vision_pwil.sac import compiled, distribution, losses
from vision_pwil.sac.settings import SACConfig


class SAC:
    """One learner; every update is a function of its state and the batch.

    Args:
        observation_size: dimensions of an observation.
        action_size: dimensions of an action; actions lie in [-1, 1].
        config: hyperparameters.
        seed: of the initial weights and of the noise in the updates.
        device: where it learns.
    """

    name = "sac"

    def __init__(
        self,
        observation_size: int,
        action_size: int,
        config: SACConfig,
        seed: int,
        device: torch.device | str = "cpu",
    ) -> None:
        self.config = config
        self.device = torch.device(device)
        self.noise = Noise(seed, self.device)
        generator = self.noise.generator
        self.normalizer = Normalizer(observation_size, active=config.normalize, device=self.device)
        self.min_std = math.sqrt(config.min_variance)
        self.action_size = action_size
        actor_sizes = (observation_size, *config.hidden, 2 * action_size)
        critic_sizes = (observation_size + action_size, *config.hidden, 1)
        self.actor = Parameters(shapes(actor_sizes), config.actor_learning_rate, generator)
        self.critics = Parameters(shapes(critic_sizes, copies=2), config.critic_learning_rate, generator)
        self.targets = Average(self.critics)
        hidden: Activations = (NormalizedRelu(),) if config.critic_layer_norm else RELU
        self.actor_network = Perceptron(self.actor.tensors, gradients=self.actor.gradients)
        self.critic_networks = twins(self.critics.tensors, hidden, self.critics.gradients)
        self.target_networks = twins(self.targets.tensors, hidden)
        if self.device.type == "cpu":
            critics, targets = ([net.arrays for net in pair] for pair in (self.critic_networks, self.target_networks))
            by_critics = tuple(critic.gradient_arrays for critic in self.critic_networks)
            networks = (self.actor_network.arrays, tuple(critics), tuple(targets))
            self._arrays = networks, (self.actor_network.gradient_arrays, by_critics)
        self.temperature = Parameters({"log": (1,)}, config.temperature_learning_rate, generator)
        self.temperature.flat.fill_(math.log(config.initial_temperature))

    def observe(self, observations: np.ndarray) -> None:
        """Follow the observations' statistics, when they are used."""
        self.normalizer.observe(observations)

    @torch.no_grad()
    def update(self, batch: Batch) -> dict[str, Tensor]:
        """Critics, their targets, actor, temperature: one step each."""
        batch = batch.to(self.device)
        return self._update_compiled(batch) if self.device.type == "cpu" else self._update_in_torch(batch)

    def _update_in_torch(self, batch: Batch) -> dict[str, Tensor]:
        """On any device."""
        size, dimensions = batch.observation.shape
        observations = self.normalizer(torch.cat([batch.observation, batch.next_observation]))
        observation, next_observation = observations[:size], observations[size:]
        temperature = self.temperature["log"].exp()
        # The actor's update comes last, so one pass of it serves the critics' targets and its own loss.
        output, actor_trace = self.actor_network.forward(observations)
        noise = torch.randn((2 * size, self.action_size), generator=self.noise.generator, device=self.device)
        both = distribution.sample(output, noise, self.min_std)
        drawn = both.first(size)

        # critics
        next_pairs = torch.cat([next_observation, both.action[size:]], dim=-1)
        next_values = torch.stack([target.forward(next_pairs)[0][:, 0] for target in self.target_networks])
        targets = losses.target(batch.reward, batch.discount, next_values, both.log_prob[size:], temperature)
        pairs = torch.cat([observation, batch.action], dim=-1)
        critic_losses, values = [], []
        for critic in self.critic_networks:
            value, trace = critic.forward(pairs)
            loss, by_value = losses.critic_loss(value[:, 0], targets)
            critic.backward(trace, by_value[:, None])
            critic_losses.append(loss)
            values.append(value)
        self.critics.step(average=self.targets, rate=self.config.polyak)

        # actor, in each row through the critic that is the smaller there, as it is now, to the action
        own_pairs = torch.cat([observation, drawn.action], dim=-1)
        passes = [critic.forward(own_pairs) for critic in self.critic_networks]
        own_values = torch.stack([value[:, 0] for value, _ in passes])
        actor_loss, which = losses.actor_loss(own_values, drawn.log_prob, temperature)
        by_action = torch.empty_like(drawn.action)
        for number, critic in enumerate(self.critic_networks):
            rows = (which == number).nonzero()[:, 0]
            by_value = torch.full((len(rows), 1), -1.0 / size, device=self.device)
            by_action[rows] = critic.to_inputs(passes[number][1].at(rows), by_value, first=dimensions)
        by_output = distribution.backward(drawn, by_action, temperature / size)
        self.actor_network.backward(actor_trace.at(slice(size)), by_output)
        self.actor.step()

        # temperature
        self.temperature.gradients["log"].copy_(losses.temperature_gradient(drawn.log_prob, self.target_entropy()))
        self.temperature.step()

        return {
            "critic_loss": critic_losses[0] + critic_losses[1],
            "actor_loss": actor_loss,
            "value": torch.cat(values).mean(),
            "entropy": -drawn.log_prob.mean(),
            "temperature": temperature[0],
            "deviation": drawn.std.mean(),
        }

    def _update_compiled(self, batch: Batch) -> dict[str, Tensor]:
        """The same on the CPU."""
        observations = self.normalizer(torch.cat([batch.observation, batch.next_observation]))
        noise = torch.randn((len(observations), self.action_size), generator=self.noise.generator, device=self.device)
        tensors = (observations, batch.action, batch.reward, batch.discount, noise)
        adams = tuple(part.next_step() for part in (self.critics, self.actor, self.temperature))
        numbers = np.float32(self.min_std), np.float32(self.target_entropy())  # which counts the actor's steps
        follow = self.targets.flat.numpy(), np.float32(self.config.polyak)
        metrics = compiled.update(*self._arrays, *(tensor.numpy() for tensor in tensors), *numbers, adams, follow)
        return dict(zip(compiled.METRICS, torch.from_numpy(metrics), strict=True))

    def target_entropy(self) -> float:
        """What the temperature aims at in the next update."""
        first = self.config.target_entropy
        last = first if self.config.final_target_entropy is None else self.config.final_target_entropy
        moved = min(max(self.actor.steps / self.config.entropy_updates - 1.0, 0.0), 1.0)
        return self.action_size * (first + (last - first) * moved)

    def policy(self) -> Policy:
        """Arrays for `vision_pwil.sac.policy.act`."""
        return {**self.actor.arrays(), **self.normalizer.policy(), "min_std": np.array([self.min_std], np.float32)}

    def _parts(self) -> dict[str, Part]:
        return {
            "actor": self.actor,
            "critics": self.critics,
            "targets": self.targets,
            "temperature": self.temperature,
            "normalizer": self.normalizer,
            "noise": self.noise,
        }

    def state_dict(self) -> dict[str, Tensor]:
        """Networks, optimisers, statistics and the generator of noise."""
        return gather(self._parts())

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Return to a saved state, bit for bit."""
        restore(self._parts(), state)


def build(plan: Blueprint) -> SAC:
    """A fresh learner."""
    return SAC(plan.observation_size, plan.action_size, plan.settings, plan.seed, plan.device)
