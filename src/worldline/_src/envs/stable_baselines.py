# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Many worlds of one batch as a vector environment of Stable-Baselines3."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode

from worldline._src.envs.packages import require
from worldline._src.envs.registration import TASKS
from worldline._src.envs.vector import VectorWorldEnv
from worldline._src.errors import ArgumentError, CapabilityError, NotFoundError, nearest_name
from worldline._src.facade.batch.selecting import indices_of

require("stable_baselines3", "vector environments of Stable-Baselines3", "baselines")

from stable_baselines3.common.vec_env import VecEnv  # noqa: E402  # pyright: ignore[reportMissingImports]


class StableBaselinesVecEnv(VecEnv):
    """A task on many worlds, for algorithms of Stable-Baselines3; needs the extra `baselines`.

    An episode that ends is followed by a new one in the same step. `infos[i]` has `terminal_observation` and
    `TimeLimit.truncated` then, and the parts of the reward always. Observations are float32, as the networks
    of Stable-Baselines3 take them.

    Args:
        name: of an environment, such as "worldline/Ant-v0", or of its task, "Ant".
        num_envs: how many worlds.
        options: of `VectorWorldEnv` and of the task, such as `threads` and `frame_skip`.

    Example:
        >>> from worldline.envs import StableBaselinesVecEnv
        >>> envs = StableBaselinesVecEnv("Hopper", 8)  # doctest: +SKIP
        >>> model = stable_baselines3.PPO("MlpPolicy", envs).learn(100_000)  # doctest: +SKIP
    """

    def __init__(self, name: str, num_envs: int, **options: Any) -> None:
        task = name.removeprefix("worldline/").removesuffix("-v0")
        if task not in TASKS:
            raise NotFoundError(f"no environment '{name}'{nearest_name(task, list(TASKS))}")
        if "autoreset_mode" in options:
            raise ArgumentError("autoreset_mode is SameStep for Stable-Baselines3; leave it out")
        self.envs = VectorWorldEnv(TASKS[task], num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **options)
        self._names: dict[str, Any] = {}
        self.render_mode = self.envs.render_mode
        self.metadata = self.envs.metadata
        size = self.envs.observation_space.shape or (0, 0)
        self._actions = np.zeros(self.envs.action_space.shape or ())
        super().__init__(
            self.envs.num_envs, Box(-np.inf, np.inf, size[1:], np.float32), self.envs.single_action_space
        )

    def reset(self) -> np.ndarray:
        """Start episodes in all worlds, with the seeds of `seed` where it was called before."""
        seeds = self._seeds if any(seed is not None for seed in self._seeds) else None
        observations, infos = self.envs.reset(seed=seeds)
        self.reset_infos = self._rows(infos)
        self._reset_seeds()
        self._reset_options()
        return observations.astype(np.float32)

    def step_async(self, actions: np.ndarray) -> None:
        """Take the actions of the next step, (num_envs, n)."""
        self._actions = actions

    def step_wait(self) -> Any:
        """Make the step: observations, rewards, ends and infos."""
        observations, rewards, terminated, truncated, infos = self.envs.step(self._actions)
        rows = self._rows(infos)
        for i in np.flatnonzero(terminated | truncated).tolist():
            rows[i] |= {n: v[i] for n, v in infos["final_info"].items() if not n.startswith("_")}
            rows[i]["terminal_observation"] = infos["final_obs"][i].astype(np.float32)
            rows[i]["TimeLimit.truncated"] = bool(truncated[i] and not terminated[i])
        return observations.astype(np.float32), rewards.astype(np.float32), terminated | truncated, rows

    def _rows(self, infos: dict[str, Any]) -> list[dict[str, Any]]:
        """Infos of every environment."""
        names = [n for n in infos if f"_{n}" in infos and not n.startswith("final_")]
        return [{n: infos[n][i] for n in names if infos[f"_{n}"][i]} for i in range(self.num_envs)]

    def close(self) -> None:
        """Give back what pictures took."""
        self.envs.close()

    # ---- what algorithms and wrappers ask of single environments

    def _which(self, indices: int | Iterable[int] | None) -> Sequence[int]:
        return indices_of(indices, self.num_envs).tolist()  # type: ignore[arg-type]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute that all environments share, once for each."""
        value = self._names[attr_name] if attr_name in self._names else getattr(self.envs, attr_name)
        return [value for _ in self._which(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Remember an attribute of all environments; the worlds have none that differ."""
        if len(self._which(indices)) != self.num_envs:
            raise CapabilityError(f"'{attr_name}' cannot differ between worlds of a batch; set it for all")
        if hasattr(self.envs, attr_name):
            raise CapabilityError(f"'{attr_name}' is set when the environments are made")
        self._names[attr_name] = value

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Refused: the worlds of a batch have no environments of their own whose methods could be called."""
        raise CapabilityError(f"worlds of a batch have no method '{method_name}'; use `envs.batch.worlds[i]`")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """No environment is wrapped."""
        return [False for _ in self._which(indices)]

    def get_images(self) -> Sequence[Any]:
        """Pictures of all worlds."""
        return self.envs.render() or [None] * self.num_envs
