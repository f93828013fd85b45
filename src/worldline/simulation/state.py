# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""State of worlds as named flat vectors, and arithmetic on it that knows rotations.

>>> from worldline import simulation as sx
>>> world = sx.World()
>>> box = world.add_rigid_body("box")
>>> space = sx.state.StateSpace().add_variable("box.pose", dimension=7).finalize()
>>> world.get_state(space).tangent_dimension
6
"""

from worldline._src.facade.batch.rollout import Feedback, RolloutTrajectory, rollout
from worldline._src.facade.state_space import StateSpace, StateVariable
from worldline._src.facade.world_state import (
    WorldControl,
    WorldState,
    difference,
    distance,
    integrate,
    interpolate,
    neutral,
    normalize,
    random,
)

__all__ = [
    "Feedback", "RolloutTrajectory", "StateSpace", "StateVariable", "WorldControl", "WorldState",
    "difference", "distance", "integrate", "interpolate", "neutral", "normalize", "random", "rollout",
]  # fmt: skip
