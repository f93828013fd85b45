# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Learning environments: importing this module makes them known to Gymnasium; needs the extra `learn`.

>>> import gymnasium, worldline.envs
>>> worldline.envs.NAMES[:3]
('worldline/Hopper-v0', 'worldline/Walker2d-v0', 'worldline/HalfCheetah-v0')
>>> envs = gymnasium.make_vec("worldline/HalfCheetah-v0", 64, vectorization_mode="vector_entry_point")
>>> observations, infos = envs.reset(seed=0)
>>> observations.shape
(64, 17)
"""

import typing as _typing

from worldline._src.envs.packages import require as _require
from worldline._src.later import later as _later

_require("gymnasium", "learning environments", "learn")

from worldline._src.envs.registration import NAMES, TASKS  # noqa: E402
from worldline._src.envs.single import WorldEnv  # noqa: E402
from worldline._src.envs.task import Outcome, Task  # noqa: E402
from worldline._src.envs.vector import VectorWorldEnv  # noqa: E402

if _typing.TYPE_CHECKING:
    from worldline._src.envs.stable_baselines import StableBaselinesVecEnv

__getattr__ = _later(__name__, {"envs.stable_baselines": "StableBaselinesVecEnv"})

__all__ = ["NAMES", "TASKS", "Outcome", "StableBaselinesVecEnv", "Task", "VectorWorldEnv", "WorldEnv"]
