# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""One world as a Gymnasium environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from worldline._src.envs.episodes import RENDER_MODES, Episodes, OnEpisodes
from worldline._src.envs.task import Task, of_options
from worldline._src.errors import ArgumentError, ShapeError, one_of
from worldline._src.facade import values
from worldline._src.spatial.poses import float_array


def spaces_of(task: Task, size: int) -> tuple[Box, Box]:
    """Observation and action space of a task whose observations have `size` numbers."""
    low, high = task.action_bounds
    actions = Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)
    return Box(-np.inf, np.inf, (size,), np.float64), actions


def checked_render_mode(render_mode: str | None) -> str | None:
    """A render mode that environments have."""
    return None if render_mode is None else one_of(render_mode, RENDER_MODES, "render_mode, if not None,")


def refuse_options(options: dict[str, Any] | None, known: tuple[str, ...]) -> None:
    """Raise for options of a reset that an environment does not have."""
    for name in values.mapping(options, "options of a reset"):
        if name not in known:
            there = f"; it has {', '.join(known)}" if known else ""
            raise ArgumentError(f"reset has no option {name!r}{there}")


class WorldEnv(OnEpisodes, gymnasium.Env[np.ndarray, np.ndarray]):
    """A task on one world; made by `gymnasium.make("worldline/Ant-v0")`.

    Wrappers and training libraries store attributes in environments, so they take any attribute, as all
    of Gymnasium do: a misspelt name is not refused. Names of options are checked.

    Args:
        task: kind of the task.
        render_mode: "rgb_array" for pictures by `render`, or None.
        width, height: of pictures [pixels].
        options: of the task, such as `frame_skip`.

    Example:
        >>> import gymnasium, worldline.envs
        >>> env = gymnasium.make("worldline/Hopper-v0")
        >>> observation, info = env.reset(seed=1)
        >>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        >>> observation.shape, sorted(info)[:2]
        ((11,), ['reward_ctrl', 'reward_forward'])
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 50}  # noqa: RUF012 # as Gymnasium has it

    def __init__(
        self,
        task: type[Task],
        *,
        render_mode: str | None = None,
        width: int = 480,
        height: int = 480,
        **options: Any,
    ) -> None:
        self.render_mode = checked_render_mode(render_mode)
        self._size = width, height
        self.task = of_options(task, options)
        self._episodes = Episodes(self.task, 1, 1)
        self._only = np.zeros(1, np.int64)
        size = self.task.observation(self.task.read(self._only)).shape[1]
        self.observation_space, self.action_space = spaces_of(self.task, size)
        self.metadata = {**self.metadata, "render_fps": round(1.0 / self.task.dt)}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode; a seed makes this one and those after it repeatable. There are no options."""
        refuse_options(options, ())
        if seed is not None and values.count(seed, "seed") < 0:
            raise ArgumentError(f"seed must be 0 or more, got {seed}")
        super().reset(seed=seed)
        observation, info = self._episodes.reset(self._only, [self.np_random])
        return observation[0], {name: values[0] for name, values in info.items()}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Let the task run on for `dt` under an action."""
        given = float_array(action, "action of an environment")
        if given.shape != self.action_space.shape:
            raise ShapeError(f"action must have shape {self.action_space.shape}, got {given.shape}")
        observation, outcome = self._episodes.step(given[None])
        info = {name: values[0] for name, values in outcome.info.items()}
        return observation[0], float(outcome.reward[0]), bool(outcome.terminated[0]), False, info

    def render(self) -> Any:
        """A picture of the world as it stands, (height, width, 3), uint8; None without a render mode."""
        return None if self.render_mode is None else self._episodes.picture(0, *self._size)

    def close(self) -> None:
        """Give back what pictures took."""
        self._episodes.close()
