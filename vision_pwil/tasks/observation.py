"""What a policy sees: the environment's state, or the embedding of what a camera sees; the time; an absorbing bit."""

from dataclasses import dataclass

import numpy as np

from vision_pwil.system.settings import Count, Settings, Whole


@dataclass(frozen=True)
class Observation(Settings):
    """Turns an environment's state at a step into what the policy sees."""

    horizon: Count
    time: bool = False
    """Add t/T."""
    absorbing_bit: bool = False
    """Add a bit that is 1 in the absorbing state only (DAC)."""
    embedding: Whole = 0
    """Numbers in an embedding; 0: the policy sees the state. Otherwise it sees embeddings of the present and of the
    previous decision's frame, and of the state only the robot's own part."""
    proprioception: tuple[Whole, ...] = ()
    """Beside embeddings: the dimensions of the state that are the robot's own."""
    interval: Count = 1
    """Steps between two decisions, and so between those frames."""

    def size(self, state_size: int) -> int:
        """Numbers in an observation."""
        seen = 2 * self.embedding + len(self.proprioception) if self.embedding else state_size
        return seen + int(self.time) + int(self.absorbing_bit)

    def __call__(self, state: np.ndarray, step: int, embeddings: dict[int, np.ndarray] | None = None) -> np.ndarray:
        """The observation, float32; `embeddings` are those of the frames so far, by their step."""
        extra = ([step / self.horizon] if self.time else []) + ([0.0] if self.absorbing_bit else [])
        if self.embedding:
            assert embeddings is not None
            present = step - step % self.interval
            previous = max(present - self.interval, 0)
            seen = [embeddings[present], embeddings[previous], state[list(self.proprioception)]]
            return np.concatenate([*seen, extra]).astype(np.float32)
        return np.asarray([*state, *extra] if extra else state, dtype=np.float32)
