"""First what, then how: pace counts once the agent does the task, and the more the longer it goes on doing it.

A reward that asks for the demonstrations' pace from the start leads to the right poses at the right times, and the task
is never found: for that a policy has to be free. So the learner is paid without pace at first; when most of the last
training episodes have finished the task, pace comes in little by little, and goes again where it drives the task away.
"""

from collections.abc import Sequence

WINDOW = 20
"""Training episodes that are looked at."""
RAMP = 100
"""Training episodes in which pace comes in, where nothing goes wrong."""
SLACK = 0.2
"""How far the share of finished episodes may fall below the threshold before pace goes again."""


class Pacing:
    """The weight of the reward with pace beside the one without.

    Args:
        threshold: the share of the last episodes that has to finish the task; 0: pace counts from the start.
    """

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self.count = 0 if threshold else RAMP
        self.recent: tuple[bool, ...] = ()

    @property
    def weight(self) -> float:
        """From 0, without pace, to 1."""
        return self.count / RAMP

    def add(self, finished: bool) -> None:
        """One more training episode."""
        self.recent = (*self.recent, finished)[-WINDOW:]
        share = sum(self.recent) / WINDOW
        if self.threshold and share >= self.threshold:
            self.count = min(self.count + 1, RAMP)
        elif self.threshold and share < self.threshold - SLACK:
            self.count = max(self.count - 1, 0)

    def restore(self, count: int, recent: Sequence[bool]) -> None:
        """Go on where another was."""
        self.count, self.recent = count, tuple(recent)
