"""Primal Wasserstein Imitation Learning (PWIL), from states or from pixels."""

import sys
from typing import TYPE_CHECKING

from vision_pwil.system.lazy import lazily

if TYPE_CHECKING:
    from vision_pwil.demonstrations import read
    from vision_pwil.encoder import Encoder
    from vision_pwil.rewards.pwil import Rewarder
    from vision_pwil.rewards.wrapper import PixelReward, PWILReward
    from vision_pwil.tasks.library import audit, train, train_encoder
    from vision_pwil.tasks.playback import evaluate
    from vision_pwil.tasks.policy import load_policy
    from vision_pwil.tasks.scoring import score

__version__ = "0.1.0"
__all__ = [
    "Encoder",
    "PWILReward",
    "PixelReward",
    "Rewarder",
    "audit",
    "evaluate",
    "load_policy",
    "read",
    "score",
    "train",
    "train_encoder",
]

__getattr__ = lazily(
    __name__,
    {
        "Encoder": ".encoder",
        "PWILReward": ".rewards.wrapper",
        "PixelReward": ".rewards.wrapper",
        "Rewarder": ".rewards.pwil",
        "audit": ".tasks.library",
        "evaluate": ".tasks.playback",
        "load_policy": ".tasks.policy",
        "read": ".demonstrations",
        "score": ".tasks.scoring",
        "train": ".tasks.library",
        "train_encoder": ".tasks.library",
    },
)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


if sys.argv[:1] == ["-m"]:  # Python is looking for a command of this package, and will import much before it starts
    from vision_pwil.system.interrupt import end_quietly

    end_quietly()
