"""SAC's settings."""

from dataclasses import dataclass

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
