"""Soft actor-critic with twin critics and a learned temperature."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from vision_pwil.agents.activations import NormalizedRelu
from vision_pwil.agents.normalizer import Normalizer
from vision_pwil.agents.parameters import Average, Parameters
from vision_pwil.agents.parts import Noise, Part, gather, restore
from vision_pwil.agents.perceptron import RELU, Activations, backward, forward, shapes, twin_values
from vision_pwil.agents.protocol import Batch, Policy
from vision_pwil.sac import distribution, losses
from vision_pwil.system.settings import Count, NotNegative, Positive, Settings, Share


@dataclass(frozen=True)
class SACConfig(Settings):
    """SAC's own settings. "Grid" is the paper's hyperparameter search (appendix "Agent")."""

    hidden: tuple[Count, ...] = (256, 256)
    """Units of the hidden layers of actor and critics (the paper's appendix "Agent")."""
    actor_learning_rate: Positive = 3e-4
    """Adam's learning rate of the actor (grid: 1e-4, 3e-4)."""
    critic_learning_rate: Positive = 3e-4
    """Adam's learning rate of the critics (grid: 1e-4, 3e-4)."""
    temperature_learning_rate: Positive = 3e-4
    """Adam's learning rate of the temperature (grid: 1e-4, 3e-4)."""
    polyak: Share = 0.005
    """Rate tau at which the target critics follow (grid: 0.01, 0.005)."""
    min_variance: NotNegative = 1e-3
    """Lower bound of each term of the diagonal covariance before the tanh (the paper's appendix "Agent"), so the
    standard deviation is softplus + sqrt(1e-3)."""
    initial_temperature: Positive = 1.0
    """Temperature at the start (Haarnoja et al. 2018b)."""
    target_entropy: float = -1.0
    """Entropy the temperature aims at, per action dimension (-1: Haarnoja et al. 2018b)."""
    final_target_entropy: float | None = None
    """Where that aim moves to; None: it stays. After exploring, the hand has to be precise: when it
    was lowered, the door opened in one training episode of two, from one of ten (results/door). Not in the paper."""
    entropy_updates: Count = 25_000
    """Updates for which the aim stays, and as many again in which it moves there in a straight line."""
    critic_layer_norm: bool = False
    """Layer normalisation in the critics (Hiraoka et al. 2022, "DroQ"; Ball et al. 2023, "RLPD"); not in the paper."""
    normalize: bool = False
    """Observations minus running mean, over running standard deviation, clipped to +-10; not in the paper."""


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
        self.critic_hidden: Activations = (NormalizedRelu(),) if config.critic_layer_norm else RELU
        self.targets = Average(self.critics)
        self.temperature = Parameters({"log": (1,)}, config.temperature_learning_rate, generator)
        self.temperature.flat.fill_(math.log(config.initial_temperature))

    def observe(self, observations: np.ndarray) -> None:
        """Follow the observations' statistics, when they are used."""
        self.normalizer.observe(observations)

    @torch.no_grad()
    def update(self, batch: Batch) -> dict[str, Tensor]:
        """Critics, their targets, actor, temperature: one step each."""
        batch, hidden = batch.to(self.device), self.critic_hidden
        size, dimensions = batch.observation.shape
        observations = self.normalizer(torch.cat([batch.observation, batch.next_observation]))
        observation, next_observation = observations.split(size)
        temperature = self.temperature["log"].exp()
        # The actor's update comes last, so one pass of it serves the critics' targets and its own loss.
        output, actor_layers = forward(self.actor.tensors, observations)
        noise = torch.randn((2 * size, self.action_size), generator=self.noise.generator, device=self.device)
        both = distribution.sample(output, noise, self.min_std)
        drawn, after = (distribution.Sample(*parts) for parts in zip(*(part.split(size) for part in both), strict=True))

        # critics
        next_values, _ = twin_values(self.targets.tensors, next_observation, after.action, hidden)
        targets = losses.target(batch.reward, batch.discount, next_values, after.log_prob, temperature)
        values, layers = twin_values(self.critics.tensors, observation, batch.action, hidden)
        critic_loss, by_values = losses.critic_loss(values, targets)
        backward(self.critics.tensors, layers, by_values.unsqueeze(-1), self.critics.gradients, hidden)
        self.critics.step()
        self.targets.follow(self.critics, self.config.polyak)

        # actor, through the critics as they are now, to their inputs' part that is the action
        own_values, layers = twin_values(self.critics.tensors, observation, drawn.action, hidden)
        actor_loss, by_values, by_log_prob = losses.actor_loss(own_values, drawn.log_prob, temperature)
        to_action = {**self.critics.tensors, "weight0": self.critics["weight0"][:, dimensions:]}
        by_action = backward(to_action, layers, by_values.unsqueeze(-1), hidden=hidden).sum(0)
        by_output = distribution.backward(drawn, by_action, by_log_prob)
        actor_layers = [layer.first(size) for layer in actor_layers]
        backward(self.actor.tensors, actor_layers, by_output, self.actor.gradients)
        self.actor.step()

        # temperature
        self.temperature.gradients["log"].copy_(losses.temperature_gradient(drawn.log_prob, self.target_entropy()))
        self.temperature.step()

        return {
            "critic_loss": critic_loss,
            "actor_loss": actor_loss,
            "value": values.mean(),
            "entropy": -drawn.log_prob.mean(),
            "temperature": temperature[0],
            "deviation": drawn.std.mean(),
        }

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
