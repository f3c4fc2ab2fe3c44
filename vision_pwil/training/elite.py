"""The agent's own best episodes, of which batches may hold a share ("self-imitation learning", Oh et al. 2018).

An episode is as good as the return that it earned under the run's own reward, if it finished the task: to repeat the
best of those that did not is to settle for a pose. What was done once is so learned from at each update from then on,
and not only as often as chance draws it from all that was ever played.
"""

from collections.abc import Sequence

import numpy as np

Span = tuple[float, int, int]
"""An episode: its return, and where its transitions begin and end in the count of all transitions ever added."""


class Elite:
    """The `size` episodes with the highest returns so far; of equal ones the earlier."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.spans: tuple[Span, ...] = ()

    def add(self, score: float, first: int, end: int) -> None:
        """Consider one more episode."""
        self.restore([*self.spans, (score, first, end)])

    def restore(self, spans: Sequence[Span]) -> None:
        """The best of these episodes, and no others."""
        self.spans = tuple(sorted(spans, key=lambda span: (-span[0], span[1]))[: self.size])

    def numbers(self, oldest: int) -> np.ndarray:
        """Of their transitions, those no older than the `oldest` that the replay still has."""
        spans = [np.arange(max(first, oldest), max(end, oldest)) for _, first, end in self.spans]
        return np.concatenate(spans) if spans else np.empty(0, np.int64)
