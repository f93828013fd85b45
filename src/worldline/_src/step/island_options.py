# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""How islands are solved, and when they fall asleep."""

from __future__ import annotations

from enum import Enum, auto

import numpy as np

from worldline._src.model.kinds import JointType
from worldline._src.model.model import Model
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array

BOXED_ROWS = 240
"""Rows of an island up to which it is solved as a boxed problem when asked for."""

SOLVED = 0.01
"""Residual up to which an island counts as solved, as a share of gravity; see `StepReport.residual`.

Sequential impulses end there; Newton's method and pivoting go on to tolerances of their own.
"""


class SolverMethod(Enum):
    """How islands are solved; see `Constraints.choose`."""

    AUTOMATIC, SEQUENTIAL_IMPULSE, NEWTON, BOXED = auto(), auto(), auto(), auto()


class Rest(NamedTuple):
    """When islands fall asleep: speeds [m/s, rad/s, either], quiet time [s], force that wakes [N].

    A quiet time ends above `scale` times those speeds.
    """

    linear: float
    angular: float
    joint: float
    time: float
    force: float
    scale: float

    def set_speeds(self, model: Model, speed_out: Array) -> None:
        """Speeds below which degrees of freedom are quiet, (nv,)."""
        speed_out[:] = self.joint
        free = np.isin(model.joint_type, [JointType.FREE, JointType.DISTANCE])
        for start in model.joint_qd_start[:-1][free].tolist():
            speed_out[start : start + 3], speed_out[start + 3 : start + 6] = self.linear, self.angular
