# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Damping clamp: keeps damping times time step of limits and contacts at most 1.

The impedance model sets an acceleration -d v over a step h: with d h above 2 every step turns the
velocity round and makes it larger. Where the description wants dampers clamped, d h stays at 1, which ends
the motion within a step. Time constants have a guard of their own (`disable_reference_safety`): they are at
least two steps, so that d h <= 1 where d = 2 / time constant; dry friction has it here. The other laws take
their dampers at the end of the step, where all are stable.
"""

from __future__ import annotations

import numpy as np

from worldline._src.kernels.constraints import tables as t
from worldline._src.model.model import Model
from worldline._src.scene.options import SimulateOption
from worldline._src.spatial.poses import Array
from worldline._src.step.pack_joints import joint_of_dofs

LAWS = ("shape_law", "pair_law", "limit_law")
"""Columns of the laws of contacts and of limits of joints."""
FRICTION = ("friction_law", "tendon_friction")
"""Columns of dry friction: force, damping, impedance, dmax."""


def given_damping(column: t.ConstraintColumns) -> dict[str, Array]:
    """The dampers as they are described, by column."""
    damping = {name: column[name][:, t.DAMPING].copy() for name in LAWS}
    return damping | {name: column[name][:, 1].copy() for name in FRICTION}


def friction_with_time_constants(model: Model, rubbing: np.ndarray) -> dict[str, np.ndarray]:
    """Rows of dry friction whose damping is given as a time constant, by column."""
    found = {"friction_law": np.zeros(len(rubbing), bool), "tendon_friction": np.zeros(0, bool)}
    if model.joint_forces is not None:
        found["friction_law"] = ~model.joint_forces.friction.direct[joint_of_dofs(model)[rubbing]]
    if model.tendons is not None:
        found["tendon_friction"] = ~model.tendons.friction_force.direct
    return found


def guard_friction(
    column: t.ConstraintColumns, given: dict[str, Array], timed: dict[str, np.ndarray], h: float
) -> None:
    """Write the damping of dry friction for steps of `h` seconds: time constants of two steps at least."""
    for name in FRICTION:
        damping, rows = given[name], timed[name]
        if len(damping) == len(rows):
            column[name][:, 1] = np.where(rows, np.minimum(damping, 1.0 / h), damping)


def clamp_damping(
    column: t.ConstraintColumns, given: dict[str, Array], option: SimulateOption, h: float
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
