"""What actions mean where they are targets, places that a robot's actuators go to.

Sent there at once, a robot is jerked about by a policy that explores. Two other meanings are smoother. Relative: an
action changes the target, and zero holds still. Smoothed: in each step the target goes part of the way to the action.
Targets begin where they hold the pose of the reset, and the policy sees them, for they are part of what happens next.
"""

from dataclasses import dataclass

import numpy as np

from vision_pwil.system.errors import InputError
from vision_pwil.system.settings import NotNegative, Settings, Share, Whole


@dataclass(frozen=True)
class Targets(Settings):
    """The environment's own actions, unless a rate or a smoothing says otherwise. None of it is in the paper."""

    action_rate: NotNegative = 0.0
    """Relative actions: an action changes the target of a position actuator by up to so much of its range of [-1, 1] in
    a step (0.04 goes through it in 50 steps). The policy sees the targets. 0: the environment's own actions."""
    action_smoothing: Share = 0.0
    """Smoothed actions: in a step the target of a position actuator goes this share of the way to the action (0.1: two
    thirds of it in 10 steps). The policy sees the targets. 0: the environment's own actions."""
    action_targets: tuple[Whole, ...] = ()
    """The actions that this is about, counted from 0 (default: all), such as those of an arm and not of its fingers."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.action_rate and self.action_smoothing:
            raise InputError("--action-rate and --action-smoothing say what actions mean: give one of them.")
        if self.action_targets and not self:
            raise InputError(
                "--action-targets says for which actions --action-smoothing or --action-rate holds: give one."
            )

    def __bool__(self) -> bool:
        return bool(self.action_rate or self.action_smoothing)

    def require(self, actions: int) -> None:
        """Raise one clear sentence unless an environment with so many actions has those named."""
        if not all(index < actions for index in self.action_targets):
            raise InputError(f"--action-targets names actions from 0 to {actions - 1}, not {max(self.action_targets)}.")

    def moved(self, targets: np.ndarray, action: np.ndarray) -> np.ndarray:
        """Targets after a step with an action; all of them of [-1, 1]."""
        action = np.clip(action, -1.0, 1.0)
        if self.action_rate:
            there = np.clip(targets + self.action_rate * action, -1.0, 1.0)
        else:
            there = targets + self.action_smoothing * (action - targets)
        if self.action_targets:
            chosen = list(self.action_targets)
            action[chosen] = there[chosen]
            return action
        return there


OWN = Targets()
"""The environment's own actions."""
