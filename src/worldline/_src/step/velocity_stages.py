# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The stage of a step that takes all forces that depend on velocities at the end of the step."""

from __future__ import annotations

from worldline._src.jit import stage
from worldline._src.kernels.constraints.damping import Damped
from worldline._src.kernels.constraints.islands import padded_columns
from worldline._src.kernels.constraints.tables import (
    ISLAND_COLUMNS,
    ISLAND_WIDTH,
    actuator_view,
    tendon_view,
    tree_mass_view,
    work_view,
)
from worldline._src.kernels.constraints.velocity_gains import (
    VelocityGains,
    actuator_damping,
    damp_tree_velocities,
    needs_damping,
)
from worldline._src.model.views import (
    chain_view,
    drive_view,
    operand_view,
    passive_view,
    step_view,
)
from worldline._src.scalar.memory import matrix, pointer
from worldline._src.step.reaching import trees_of


@stage
def damp_velocities(m, c, args, d):
    """a, M, forces of actuators -> a with damping of joints, tendons and actuators at the end of the step."""
    tm, tc, td = trees_of(args, d)
    damped = Damped(chain_view(tm, tc, td), passive_view(tm, tc, td), drive_view(tm, tc, td))
    gains = VelocityGains(actuator_view(m, c, args, d), tendon_view(m, c, args, d))
    actuator_damping(gains.act)
    a, h, trees = (
        operand_view(tm, tc, td).a,
        step_view(tm, tc, td).time_step[0],
        tree_mass_view(m, c, args, d),
    )
    tree_dof = trees.tree_dof
    for t in range(tree_dof.shape[0] - 1):
        first, n = tree_dof[t], tree_dof[t + 1] - tree_dof[t]
        if needs_damping(damped, gains, first, first + n):
            args[ISLAND_COLUMNS], args[ISLAND_WIDTH] = n, padded_columns(n)
            at, work = trees.tree_mass_at[t], work_view(m, c, args, d)
            M = matrix(pointer(trees.tree_mass), at, n, n)
            damp_tree_velocities(damped, gains, M, first, n, h, work, a)
