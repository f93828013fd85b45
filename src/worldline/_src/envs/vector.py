# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Many worlds of one batch as a vector environment of Gymnasium."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from worldline._src.envs.episodes import RENDER_MODES, Episodes, OnEpisodes
from worldline._src.envs.single import checked_render_mode, refuse_options, spaces_of
from worldline._src.envs.task import Outcome, Task, check_kind, of_options
from worldline._src.errors import ArgumentError, OperationError, ShapeError
from worldline._src.facade import values
from worldline._src.spatial.poses import Array, float_array


class VectorWorldEnv(OnEpisodes, VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """A task on many worlds that step together; made by `gymnasium.make_vec("worldline/Ant-v0", ...)`.

    Environment i has random numbers of its own: with the seed `s` its episodes are those of the environment
    that `gymnasium.make` gives and that is reset with the seed `s + i`, whatever the number of environments.

    Wrappers and training libraries store attributes in environments, so they take any attribute, as all
    of Gymnasium do: a misspelt name is not refused. Names of options are checked.

    Args:
        task: kind of the task.
        num_envs: how many worlds.
        max_episode_steps: steps after which an episode is cut off; that of the task when None.
        autoreset_mode: when a new episode follows one that ended: "NextStep" in the step after it, "SameStep"
            in the same step, with what was observed last in `infos["final_obs"]`, or "Disabled" when `reset`
            is called with `options={"reset_mask": ...}`.
        threads: processors to use, 0 for all.
        render_mode: "rgb_array" for pictures by `render`, or None.
        width, height: of pictures [pixels].
        options: of the task, such as `frame_skip`.

    Example:
        >>> import gymnasium, worldline.envs
        >>> envs = gymnasium.make_vec("worldline/Hopper-v0", 16, vectorization_mode="vector_entry_point")
        >>> observations, infos = envs.reset(seed=1)
        >>> observations, rewards, terminations, truncations, infos = envs.step(envs.action_space.sample())
        >>> observations.shape, rewards.shape
        ((16, 11), (16,))
    """

    def __init__(
        self,
        task: type[Task],
        num_envs: int = 1,
        *,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        threads: int = 1,
        render_mode: str | None = None,
        width: int = 480,
        height: int = 480,
        **options: Any,
    ) -> None:
        try:
            self._mode = AutoresetMode(autoreset_mode)
        except ValueError:
            known = ", ".join(mode.value for mode in AutoresetMode)
            raise ArgumentError(f"autoreset_mode must be one of {known}, got {autoreset_mode!r}") from None
        check_kind(task)
        self._longest = task.episode_steps if max_episode_steps is None else max_episode_steps
        if values.count(self._longest, "max_episode_steps") < 1:
            raise ArgumentError(f"max_episode_steps must be positive, got {self._longest}")
        self.render_mode = checked_render_mode(render_mode)
        self._size = width, height
        self.task = of_options(task, options)
        self._episodes = Episodes(self.task, num_envs, threads)
        self.num_envs = self.batch.num_worlds
        size = self.task.observation(self.task.read(np.arange(1))).shape[1]
        self.single_observation_space, self.single_action_space = spaces_of(self.task, size)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        rate = round(1.0 / self.task.dt)
        self.metadata = {"render_modes": list(RENDER_MODES), "render_fps": rate, "autoreset_mode": self._mode}
        self._rngs: list[np.random.Generator | None] = [None] * self.num_envs
        self._elapsed = np.zeros(self.num_envs, np.int64)
        self._ended = np.ones(self.num_envs, bool)
        self._observations = np.zeros(self.observation_space.shape or ())
        self._started = False

    # ---- episodes

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start episodes in all environments, or in those of `options={"reset_mask": bools}`.

        Args:
            seed: of environment 0, the next one's is larger by one; or one for each; the random numbers go
                on where they were when None.
            options: which environments.
        """
        which = self._chosen(options)
        seeds = self._seeds(seed)
        for i in which.tolist():
            if seeds[i] is not None or self._rngs[i] is None:
                self._rngs[i] = seeding.np_random(seeds[i])[0]
        infos: dict[str, Any] = {}
        self._begin(which, infos)
        self._started = True
        return self._observations.copy(), infos

    def _chosen(self, options: dict[str, Any] | None) -> np.ndarray:
        """Indices of the environments that options of `reset` name."""
        refuse_options(options, ("reset_mask",))
        if options is None or "reset_mask" not in options:
            return np.arange(self.num_envs)
        mask = options["reset_mask"]
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise ShapeError(
                f"reset_mask must be an array of bools of shape ({self.num_envs},), got {mask!r}"
            )
        if not mask.any():
            raise ArgumentError("reset_mask must name at least one environment")
        return np.flatnonzero(mask)

    def _seeds(self, seed: int | Sequence[int | None] | None) -> Sequence[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, (int, np.integer)) and not isinstance(seed, bool):
            seeds: list[Any] = [int(seed) + i for i in range(self.num_envs)]
        else:
            seeds = values.several(seed, "seed")
            if len(seeds) != self.num_envs:
                raise ArgumentError(f"seed must be one number or {self.num_envs}, got {len(seeds)}")
        for one in seeds:
            if one is not None and values.count(one, "seed") < 0:
                raise ArgumentError(f"seed must not be negative, got {one}")
        return seeds

    def _begin(self, which: np.ndarray, infos: dict[str, Any]) -> None:
        """Start episodes; observations and infos of these environments are those of the start."""
        rngs = [rng for i in which.tolist() if (rng := self._rngs[i]) is not None]
        self._observations[which], info = self._episodes.reset(which, rngs)
        self._elapsed[which], self._ended[which] = 0, False
        for name, rows in info.items():
            # rows of another step stay out
            whole = infos.setdefault(name, np.zeros((self.num_envs, *rows.shape[1:]), rows.dtype))
            whole[which] = rows
            infos.setdefault(f"_{name}", np.zeros(self.num_envs, bool))[which] = True

    # ---- steps

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Let every environment run on for `dt` under its action.

        Environments in which a new episode starts instead ("NextStep") have a reward of zero.
        """
        given = float_array(actions, "actions of an environment")
        if given.shape != self.action_space.shape:
            raise ShapeError(f"actions must have shape {self.action_space.shape}, got {given.shape}")
        if not self._started:
            raise OperationError("call reset before the first step")
        ended = self._ended.copy()
        if self._mode is AutoresetMode.DISABLED and ended.any():
            first = int(np.argmax(ended))
            raise OperationError(f"the episode of environment {first} is over; reset it with a reset_mask")
        observations, outcome = self._episodes.step(given)
        self._observations = observations
        self._elapsed += 1
        rewards = np.where(ended, 0.0, outcome.reward)
        terminated = outcome.terminated & ~ended
        truncated = (self._elapsed >= self._longest) & ~ended
        infos = _infos(outcome.info, ~ended)
        self._ended = terminated | truncated
        if ended.any():
            self._begin(np.flatnonzero(ended), infos)
        if self._mode is AutoresetMode.SAME_STEP and self._ended.any():
            infos = self._restart(np.flatnonzero(self._ended), outcome)
        return self._observations.copy(), rewards, terminated, truncated, infos

    def _restart(self, which: np.ndarray, outcome: Outcome) -> dict[str, Any]:
        """Start episodes in the step in which others ended; what was last observed is in the infos."""
        final = np.full(self.num_envs, None, object)
        for i in which.tolist():
            final[i] = self._observations[i].copy()
        mask = np.zeros(self.num_envs, bool)
        mask[which] = True
        last = _infos(outcome.info, mask)
        made = _infos(outcome.info, ~mask)
        self._begin(which, made)
        return made | {"final_obs": final, "_final_obs": mask, "final_info": last, "_final_info": mask.copy()}

    # ---- pictures

    def render(self) -> tuple[Any, ...] | None:
        """Pictures of all worlds as they stand, (height, width, 3) each; None without a render mode."""
        if self.render_mode is None:
            return None
        return tuple(self._episodes.picture(i, *self._size) for i in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        """Give back what pictures took."""
        self._episodes.close()


def _infos(rows: Mapping[str, Array], mask: np.ndarray) -> dict[str, Any]:
    """Infos by name with the mask of the environments that have them; rows of others are zero."""
    made: dict[str, Any] = {}
    for name, numbers in rows.items() if mask.any() else ():
        kept = numbers.copy()
        kept[~mask] = 0
        made[name], made[f"_{name}"] = kept, mask.copy()
    return made
