"""`PWILReward`: a Gymnasium wrapper that puts the imitation reward in place of the environment's own."""

from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import NDArray

from vision_pwil.rewards.reward import Rewarder
from vision_pwil.system.errors import InputError


class PWILReward(gym.Wrapper[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]], RecordConstructorArgs):
    """Replaces an environment's reward by PWIL's, so that any RL library imitates unchanged (Algorithm 1).

    A step is compared as the pair (s, a) of the state in which the action was taken, or as s alone when the
    demonstrations hold no actions; which of the two follows from the atoms' dimension. The environment's own reward
    remains in `info["task_reward"]`.

    Args:
        env: an environment with Box observations and actions.
        rewarder: the reward against the demonstrations; its horizon must cover the environment's episodes.
        absorbing_discount: treat termination as absorbing (appendix "Environment"): the rewards of the remaining steps,
            discounted by this factor, are added to the last step's. By default an early end simply earns nothing more.
    """

    def __init__(self, env: gym.Env[Any, Any], rewarder: Rewarder, *, absorbing_discount: float | None = None):
        RecordConstructorArgs.__init__(self, rewarder=rewarder, absorbing_discount=absorbing_discount)
        gym.Wrapper.__init__(self, env)
        for name, space in (("observation", env.observation_space), ("action", env.action_space)):
            if not isinstance(space, Box):
                raise InputError(f"PWIL needs a Box {name} space, got {space}: flatten the environment.")
        limit = env.spec.max_episode_steps if env.spec is not None else None
        if limit is not None and limit > rewarder.horizon:
            raise InputError(
                f"Episodes here last up to {limit} steps but the rewarder's horizon is {rewarder.horizon}: "
                f"build it with a horizon of {limit}."
            )
        states, actions = (int(np.prod(s.shape)) for s in (env.observation_space, env.action_space))  # type: ignore[arg-type]
        dimension = rewarder.coupling.atoms.shape[1]
        if dimension not in (states, states + actions):
            raise InputError(
                f"The demonstrations' points have {dimension} dimensions, but this environment's have {states} "
                f"(states) or {states + actions} (states and actions): are they from another environment?"
            )
        self.rewarder = rewarder
        self.absorbing_discount = absorbing_discount
        self._with_action = dimension == states + actions
        self._observation: NDArray[Any] | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Begin an episode: the demonstrations have all their mass again."""
        observation, info = self.env.reset(seed=seed, options=options)
        self.rewarder.reset()
        self._observation = np.array(observation)
        return observation, info

    def step(self, action: NDArray[Any]) -> tuple[NDArray[Any], SupportsFloat, bool, bool, dict[str, Any]]:
        """Step the environment and reward the pair (s, a), or s."""
        if self._observation is None:
            raise InputError("Call reset() before step().")
        point = np.ravel(self._observation)
        if self._with_action:
            point = np.concatenate([point, np.ravel(action)])
        observation, task_reward, terminated, truncated, info = self.env.step(action)
        self._observation = np.array(observation)
        reward = self.rewarder.step(point)
        if terminated and self.absorbing_discount is not None:
            after = self.rewarder.absorb()
            reward += float(after @ self.absorbing_discount ** np.arange(1, len(after) + 1))
        return observation, reward, terminated, truncated, {**info, "task_reward": task_reward}
