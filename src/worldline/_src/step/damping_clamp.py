# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Dampers of limits and contacts that a step cannot follow are weakened to what it can.

The impedance model asks for an acceleration -d v over a step h: with d h above 2 every step turns the
velocity round and makes it larger. Where the description wants dampers clamped, d h stays at 1, which ends
the motion within a step. Time constants have a guard of their own (`disable_reference_safety`), and the other
laws take their dampers at the end of the step, where all are stable.
"""

from __future__ import annotations

import numpy as np

from worldline._src.kernels.constraints import tables as t
from worldline._src.scene.options import SimulateOption
from worldline._src.spatial.poses import Array

LAWS = ("shape_law", "pair_law", "limit_law")
"""Columns of the laws of contacts and of limits of joints."""


def given_damping(column: dict[str, Array]) -> dict[str, Array]:
    """The dampers as they are described, by column."""
    return {name: column[name][:, t.DAMPING].copy() for name in LAWS}


def clamp_damping(
    column: dict[str, Array], given: dict[str, Array], option: SimulateOption, h: float
) -> None:
    """Write the dampers for steps of `h` seconds."""
    for name in LAWS:
        laws, damping = column[name], given[name]
        if option.safty_damping_clamp:
            # what is given as a time constant is kept stable together with its stiffness
            guarded = (laws[:, t.DIRECT] == 0.0) & (not option.disable_reference_safety)
            clamped = (laws[:, t.KIND] == t.IMPEDANCE) & ~guarded
            damping = np.where(clamped, np.minimum(damping, 1.0 / h), damping)
        laws[:, t.DAMPING] = damping
