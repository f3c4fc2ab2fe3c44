"""D4PG's settings."""

from dataclasses import dataclass
from typing import Annotated

from vision_pwil.system.errors import InputError
from vision_pwil.system.settings import Count, NotNegative, Positive, Settings, at_least


@dataclass(frozen=True)
class D4PGConfig(Settings):
    """D4PG's own settings. Unless said otherwise, each is the paper's (appendix A)."""

    actor_hidden: tuple[Count, ...] = (256, 256, 256)
    """Units of the actor's hidden layers; the first has layer normalisation and tanh, the others ELU."""
    critic_hidden: tuple[Count, ...] = (512, 512, 256)
    """Units of the critic's hidden layers; the first has layer normalisation and tanh, the others ELU."""
    atoms: Annotated[int, at_least(2)] = 201
    """Atoms of the value's distribution."""
    value_min: float = -150.0
    """Lower end of the support. A fresh critic expects its middle of everything: above what actions earn, those never
    tried look best, and the actor may go to their ends. So lower this as far as you raise the other end."""
    value_max: float = 150.0
    """Upper end of the support. PWIL's values can reach alpha / (1 - gamma) = 500 and then saturate here; the mass at
    both ends is logged as `losses/edge_mass`. On a task's own reward, choose it above the discounted return."""
    actor_learning_rate: Positive = 5e-5
    """Adam's learning rate of the actor (grid: 1e-5, 5e-5, 7e-5, 1e-4)."""
    critic_learning_rate: Positive = 7e-5
    """Adam's learning rate of the critic (grid: 1e-5, 5e-5, 7e-5, 1e-4)."""
    sigma: NotNegative = 0.2
    """Standard deviation of the exploration noise, for actions in [-1, 1] (grid: 0.1, 0.2, 0.3 in the environment's
    units, so 0.5 here for Humanoid, whose actions end at 0.4). Beside much smaller actions of the expert it may
    hide what they earn: Reacher's deviate by 0.07 and were learned with 0.05."""
    max_norm: Positive = 40.0
    """L2 norm to which the gradients of actor and critic are clipped."""
    action_max_norm: Positive = 1.0
    """L2 norm to which the value's gradient by each action is clipped (Acme's D4PG, which the paper builds on)."""
    target_period: Count = 100
    """Updates between copies of the networks to the target networks (Acme's D4PG)."""
    normalize: bool = False
    """Observations minus running mean, over running standard deviation, clipped to +-10; not in the paper. Humanoid-v5
    has contact forces of thousands (zeros in v2 with MuJoCo 2.0: openai/gym, issue 1541), beside which a first layer
    that is normalised sees nothing else."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.value_min >= self.value_max:
            raise InputError(f"--value-min {self.value_min} must be below --value-max {self.value_max}.")
