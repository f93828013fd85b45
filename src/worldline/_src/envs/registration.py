# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Names under which Gymnasium finds the environments."""

from __future__ import annotations

from functools import partial

import gymnasium

from worldline._src.envs.legged import Quadruped
from worldline._src.envs.manipulation import HandTurn
from worldline._src.envs.planar import HalfCheetah, Hopper, Walker2d
from worldline._src.envs.reaching import ArmReach, Reacher
from worldline._src.envs.single import WorldEnv
from worldline._src.envs.spatial_runners import Ant, Humanoid
from worldline._src.envs.task import Task
from worldline._src.envs.vector import VectorWorldEnv

TASKS: dict[str, type[Task]] = {
    "Hopper": Hopper,
    "Walker2d": Walker2d,
    "HalfCheetah": HalfCheetah,
    "Ant": Ant,
    "Humanoid": Humanoid,
    "Reacher": Reacher,
    "Quadruped": Quadruped,
    "ArmReach": ArmReach,
    "HandTurn": HandTurn,
}
"""Kinds of tasks by name."""


def _register() -> tuple[str, ...]:
    """Make all environments known to Gymnasium; returns their names."""
    made = []
    for name, task in TASKS.items():
        made.append(f"worldline/{name}-v0")
        gymnasium.register(
            made[-1],
            entry_point=partial(WorldEnv, task),
            vector_entry_point=partial(VectorWorldEnv, task),
            max_episode_steps=task.episode_steps,
            reward_threshold=task.reward_threshold,
        )
    return tuple(made)


NAMES = _register()
"""Names for `gymnasium.make` and `gymnasium.make_vec`, such as "worldline/Ant-v0"."""
