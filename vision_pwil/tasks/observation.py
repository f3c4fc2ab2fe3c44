"""What a policy sees of an environment: its state, and perhaps the time and an absorbing bit."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Observation:
    """Turns an environment's state at a step into what the policy sees."""

    horizon: int
    time: bool = False
    """Add t/T."""
    absorbing_bit: bool = False
    """Add a bit that is 1 in the absorbing state only (DAC)."""

    @property
    def added(self) -> int:
        """Numbers beside the state."""
        return int(self.time) + int(self.absorbing_bit)

    def __call__(self, state: np.ndarray, step: int) -> np.ndarray:
        """The observation, float32."""
        extra = ([step / self.horizon] if self.time else []) + ([0.0] if self.absorbing_bit else [])
        return np.asarray([*state, *extra] if extra else state, dtype=np.float32)
