"""DAC's settings."""

from dataclasses import dataclass, field

from vision_pwil.agents.td3 import TD3Config
from vision_pwil.system.settings import Count, NotNegative, Positive, Settings, Share


@dataclass(frozen=True)
class DACConfig(Settings):
    """DAC's own settings: those of its authors' code, which the paper used (appendix "DAC Implementation")."""

    discriminator_hidden: tuple[Count, ...] = (256, 256)
    """Units of the discriminator's hidden layers, tanh (DAC's code)."""
    discriminator_learning_rate: Positive = 1e-3
    """Adam's learning rate of the discriminator (DAC's code)."""
    gradient_penalty: NotNegative = 10.0
    """Weight of the gradient penalty (DAC's code; also the paper's best on Humanoid)."""
    actor_decay: Share = 0.5
    """Factor of the actor's learning rate after every `actor_decay_interval` updates (DAC's code; the paper's best on
    Humanoid: 0.8)."""
    actor_decay_interval: Count = 100_000
    """Updates between two decays (DAC's code)."""
    td3: TD3Config = field(
        default_factory=lambda: TD3Config(
            hidden=(400, 300),
            actor_learning_rate=1e-3,
            critic_learning_rate=1e-3,
            actor_interval=2,
            actor_max_norm=40.0,
        )
    )
    """TD3 as in DAC's code, with the delay."""
