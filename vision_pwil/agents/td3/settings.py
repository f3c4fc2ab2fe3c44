"""TD3's settings."""

from dataclasses import dataclass

from vision_pwil.system.settings import Count, NotNegative, Positive, Settings, Share


@dataclass(frozen=True)
class TD3Config(Settings):
    """TD3's own settings; the paper reproduces "the authors' implementation", so each is that of Fujimoto's code."""

    hidden: tuple[Count, ...] = (256, 256)
    """Units of the hidden layers of actor and critics (Fujimoto's code)."""
    actor_learning_rate: Positive = 3e-4
    """Adam's learning rate of the actor (Fujimoto's code)."""
    critic_learning_rate: Positive = 3e-4
    """Adam's learning rate of the critics (Fujimoto's code)."""
    polyak: Share = 0.005
    """Rate tau at which the target networks follow (Fujimoto et al. 2018)."""
    sigma: NotNegative = 0.1
    """Standard deviation of the exploration noise, for actions in [-1, 1] (Fujimoto et al. 2018)."""
    smoothing: NotNegative = 0.2
    """Standard deviation of the noise on target actions (Fujimoto et al. 2018)."""
    smoothing_clip: NotNegative = 0.5
    """Largest noise on target actions (Fujimoto et al. 2018)."""
    actor_interval: Count = 1
    """Critic updates for each update of the actor and the targets (the paper's appendix "Influence of the Direct RL
    Algorithm" removes the delay; Fujimoto et al. 2018: 2)."""
    actor_max_norm: Positive | None = None
    """L2 norm to which the actor's gradient is clipped (none in TD3; DAC's code: 40)."""
