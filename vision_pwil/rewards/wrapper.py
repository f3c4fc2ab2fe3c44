"""Gymnasium wrappers that put the imitation reward in place of the environment's own: on states, and on pixels."""

from collections.abc import Callable
from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import NDArray

from vision_pwil.rewards.reward import OnlineReward
from vision_pwil.system.errors import InputError

Embed = Callable[[NDArray[np.uint8]], NDArray[np.floating]]
"""Frames (n, height, width, 3) to embeddings (n, d), for example `Encoder.embed`."""
Step = tuple[NDArray[Any], SupportsFloat, bool, bool, dict[str, Any]]


class _ImitationReward(gym.Wrapper[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]], RecordConstructorArgs):
    """What both wrappers share: the horizon, the absorbing end, and the task's reward in `info`."""

    def __init__(self, env: gym.Env[Any, Any], rewarder: OnlineReward, absorbing_discount: float | None) -> None:
        gym.Wrapper.__init__(self, env)
        limit = env.spec.max_episode_steps if env.spec is not None else None
        if limit is not None and limit > rewarder.horizon:
            raise InputError(
                f"Episodes here last up to {limit} steps but the rewarder's horizon is {rewarder.horizon}: "
                f"build it with a horizon of {limit}."
            )
        self.rewarder = rewarder
        self.absorbing_discount = absorbing_discount
        self._observation: NDArray[Any] | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Begin an episode: the demonstrations have all their mass again."""
        observation, info = self.env.reset(seed=seed, options=options)
        self.rewarder.reset()
        self._observation = np.array(observation)
        return observation, info

    def step(self, action: NDArray[Any]) -> Step:
        """Step the environment and reward the point of the step."""
        if self._observation is None:
            raise InputError("Call reset() before step().")
        before = self._observation
        observation, task_reward, terminated, truncated, info = self.env.step(action)
        self._observation = np.array(observation)
        reward = self.rewarder.step(self._point(before, action))
        if terminated and self.absorbing_discount is not None:
            after = self.rewarder.absorb()
            reward += float(after @ self.absorbing_discount ** np.arange(1, len(after) + 1))
        return observation, reward, terminated, truncated, {**info, "task_reward": task_reward}

    def _point(self, before: NDArray[Any], action: NDArray[Any]) -> NDArray[Any]:
        raise NotImplementedError


class PWILReward(_ImitationReward):
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

    def __init__(self, env: gym.Env[Any, Any], rewarder: OnlineReward, *, absorbing_discount: float | None = None):
        RecordConstructorArgs.__init__(self, rewarder=rewarder, absorbing_discount=absorbing_discount)
        super().__init__(env, rewarder, absorbing_discount)
        for name, space in (("observation", env.observation_space), ("action", env.action_space)):
            if not isinstance(space, Box):
                raise InputError(f"PWIL needs a Box {name} space, got {space}: flatten the environment.")
        states, actions = (int(np.prod(s.shape)) for s in (env.observation_space, env.action_space))  # type: ignore[arg-type]
        dimension = rewarder.dimension
        if dimension not in (states, states + actions):
            raise InputError(
                f"The demonstrations' points have {dimension} dimensions, but this environment's have {states} "
                f"(states) or {states + actions} (states and actions): are they from another environment?"
            )
        self._with_action = dimension == states + actions

    def _point(self, before: NDArray[Any], action: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([np.ravel(before), np.ravel(action)]) if self._with_action else np.ravel(before)


class PixelReward(_ImitationReward):
    """Replaces an environment's reward by PWIL's on its pictures, through a learned encoder.

    A step is compared by the picture after it. The environment's own reward remains in `info["task_reward"]`.

    Args:
        env: any environment; without `draw`, one made with `render_mode="rgb_array"`.
        rewarder: the reward against the demonstrations' embeddings; its horizon must cover the environment's episodes.
        embed: the encoder, `Encoder.embed`.
        draw: takes the present picture (height, width, 3) as `embed` wants it; by default `env.render()`.
        absorbing_discount: as for `PWILReward`.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        rewarder: OnlineReward,
        embed: Embed,
        *,
        draw: Callable[[], NDArray[np.uint8]] | None = None,
        absorbing_discount: float | None = None,
    ):
        RecordConstructorArgs.__init__(self, rewarder=rewarder, absorbing_discount=absorbing_discount)
        if draw is None and env.render_mode != "rgb_array":
            raise InputError(
                'The pixel reward needs pictures: make the environment with render_mode="rgb_array", or give `draw`.'
            )
        super().__init__(env, rewarder, absorbing_discount)
        self._embed, self._draw = embed, draw or self._render

    def _render(self) -> NDArray[np.uint8]:
        frame: Any = self.env.render()
        return np.ascontiguousarray(frame)

    def _point(self, before: NDArray[Any], action: NDArray[Any]) -> NDArray[Any]:
        return self._embed(self._draw()[None])[0]
