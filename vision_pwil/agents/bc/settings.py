"""Behavioural cloning's settings."""

from dataclasses import dataclass

from vision_pwil.system.settings import Count, Positive, Settings


@dataclass(frozen=True)
class BCConfig(Settings):
    """Behavioural cloning's own settings."""

    hidden: tuple[Count, ...] = (128, 64)
    """Units of the hidden layers, ReLU (the paper's appendix "BC Implementation")."""
    learning_rate: Positive = 1e-4
    """Adam's learning rate (grid: 1e-5, 1e-4, 1e-3)."""
