# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Which limits and dry friction of joints have rows in a step."""

from __future__ import annotations

import numpy as np

from worldline._src.model.model import Model
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.options import SimulateOption
from worldline._src.step.pack_joints import Limit, position_limits
from worldline._src.step.pack_motors import limited_speeds


class JointRows(NamedTuple):
    """Position limits, degrees of freedom with dry friction, and those with limits of speed."""

    limits: list[Limit]
    rubbing: np.ndarray
    speeds: np.ndarray

    @classmethod
    def of(cls, model: Model, option: SimulateOption, known: JointRows | None = None) -> JointRows:
        """Those of a model, by its present numbers; the position limits are those of `known` when given."""
        bounded = not (option.disable_constraints or option.disable_limit)
        rubs = not (option.disable_constraints or option.disable_frictionloss)
        none = np.zeros(0, np.int64)
        found = position_limits(model) if bounded and known is None else []
        return cls(
            found if known is None else known.limits,
            np.flatnonzero(model.joint_friction > 0.0) if rubs else none,
            limited_speeds(model) if bounded else none,
        )

    def is_like(self, other: JointRows) -> bool:
        """Whether both are the same rows, with other numbers in them at most."""
        return (
            (self.limits is other.limits or [x.place for x in self.limits] == [x.place for x in other.limits])
            and np.array_equal(self.rubbing, other.rubbing)
            and np.array_equal(self.speeds, other.speeds)
        )
