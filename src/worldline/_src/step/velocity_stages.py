# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Implicit integration of forces that depend on velocities."""

from __future__ import annotations

from worldline._src.kernels.constraints.islands import padded_columns
from worldline._src.kernels.constraints.tables import (
    ISLAND_COLUMNS,
    ISLAND_WIDTH,
    work_view,
)
from worldline._src.kernels.constraints.velocity_gains import (
    VelocityGains,
    actuator_damping,
    damp_tree_velocities,
    needs_damping,
)
from worldline._src.scalar.memory import matrix, pointer
from worldline._src.step.constraint_operands import constraint_stage


@constraint_stage
def damp_velocities(m, c, args, d, damped, act, tendon, a, h, tree_masses):
    """a, M, forces of actuators -> a with damping of joints, tendons and actuators at the end of the step."""
    gains = VelocityGains(act, tendon)
    actuator_damping(gains.act)
    tree_dof = tree_masses.tree_dof
    for t in range(tree_dof.shape[0] - 1):
        first, n = tree_dof[t], tree_dof[t + 1] - tree_dof[t]
        if needs_damping(damped, gains, first, first + n):
            args[ISLAND_COLUMNS], args[ISLAND_WIDTH] = n, padded_columns(n)
            M = matrix(pointer(tree_masses.tree_mass), tree_masses.tree_mass_at[t], n, n)
            damp_tree_velocities(damped, gains, M, first, n, h, work_view(m, c, args, d), a)
