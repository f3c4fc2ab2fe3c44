"""Primal Wasserstein Imitation Learning (PWIL), from states or from pixels."""

__version__ = "0.1.0"
