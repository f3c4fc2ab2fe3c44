"""The rewards by name. To add one, write a file with a class that fits `Reward`, and a row here."""

from functools import partial
from typing import Any, Protocol

from numpy.typing import ArrayLike

from vision_pwil.rewards.metric import Metric
from vision_pwil.rewards.pwil import Rewarder
from vision_pwil.rewards.reward import Reward
from vision_pwil.rewards.transport import TransportReward
from vision_pwil.system.errors import InputError


class MakeReward(Protocol):
    """Makes a reward from demonstrations' points; the arguments are those of `CostReward`."""

    def __call__(
        self,
        atoms: Any,
        horizon: int,
        *,
        metric: Metric,
        scale: float,
        weights: ArrayLike | None,
        alpha: float,
        beta: float,
    ) -> Reward:
        """The reward."""


REWARDS: dict[str, MakeReward] = {
    "pwil": Rewarder,
    "support": partial(Rewarder, support=True),
    "transport": TransportReward,
    "sinkhorn": partial(TransportReward, regularization=0.05),
}
"""PWIL; its ablation PWIL-support; exact optimal transport of a whole episode; the same by Sinkhorn's iterations."""


def find(name: str) -> MakeReward:
    """The reward of that name, or one sentence that lists them."""
    if name not in REWARDS:
        raise InputError(f"There is no reward {name!r}: choose one of {', '.join(REWARDS)}.")
    return REWARDS[name]
