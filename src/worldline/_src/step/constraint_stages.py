# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The constraint stages of a step: actuators, poses for collision, rows, the solve.

Their arenas are those of `kernels/constraints/tables.py`; the trees and the collision tables are reached
through the addresses at the front of `args`. All but `solve_rows` know no scalar and run in lanes too.
"""

from __future__ import annotations

from typing import Any

from worldline._src.kernels import actuation, body_matrices
from worldline._src.kernels.constraints import solve as solving
from worldline._src.kernels.constraints.contact import rows as row_kernels
from worldline._src.kernels.constraints.damping import damp_tree, is_damped
from worldline._src.kernels.constraints.friction import rows as friction
from worldline._src.kernels.constraints.islands import padded_columns
from worldline._src.kernels.constraints.limit import recovery as limit_recovery
from worldline._src.kernels.constraints.limit import rows as limits
from worldline._src.kernels.constraints.tables import ISLAND_COLUMNS, ISLAND_WIDTH, work_view
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.memory import matrix, pointer
from worldline._src.step.constraint_operands import constraint_stage


class Motion(NamedTuple):
    """Velocities by columns of an island, accelerations without its rows by degrees of freedom."""

    island_v: Any
    a: Any


actuator_forces = constraint_stage.of(actuation.actuator_forces)
advance_activations = constraint_stage.of(actuation.advance_activations)


@constraint_stage
def activations_first(act, h):
    """activations, their rates at the start -> activations of the second part, half a step on."""
    actuation.start_activation_parts(act)
    actuation.next_activation_part(1.0, 0.5 * h, act)


@constraint_stage
def activations_second(act, h):
    """rates of the second part -> activations of the third part, half a step on."""
    actuation.next_activation_part(2.0, 0.5 * h, act)


activations_third = constraint_stage.of(
    actuation.next_activation_part, name="activations_third", weight=2.0, reach="h"
)
activations_last = constraint_stage.of(actuation.join_activation_parts, name="activations_last")
collision_poses = constraint_stage.of(
    body_matrices.body_matrices, name="collision_poses", rows="body_link", X="collision_bodies"
)
friction_rows = constraint_stage.of(friction.friction_rows, v="island_v")
limit_rows = constraint_stage.of(limits.limit_rows, v="island_v")


@constraint_stage
def recover_limits(limit, h, tree, inertia, pos, art, acc, mom, step, q):
    """q -> q within its hard limits, at bounded speed."""
    n = q.shape[0]
    work = limit_recovery.RecoveryWork(
        art, acc, mom.dof_extra, mom.dof_gap, mom.dof_p, step.state[:n], step.controls[:n]
    )
    limit_recovery.recover_limits(limit, h, tree, inertia, pos, work, q)


@constraint_stage
def contact_rows(contacts, bodies, shapes, island, island_v, a, rows, notes, frames):
    """contacts, v -> rows of contacts."""
    row_kernels.contact_rows(contacts, bodies, shapes, island, Motion(island_v, a), rows, notes, frames)


solve_rows = constraint_stage.of(solving.solve_rows, prescribed="a_target", island_io="island_rows")


@constraint_stage
def damp_implicitly(m, c, args, d, damped, a, h, tree_masses):
    """a, M -> a with joint damping taken at the end of the step."""
    tree_dof = tree_masses.tree_dof
    for t in range(tree_dof.shape[0] - 1):
        first, n = tree_dof[t], tree_dof[t + 1] - tree_dof[t]
        if is_damped(damped, first, first + n):
            args[ISLAND_COLUMNS], args[ISLAND_WIDTH] = n, padded_columns(n)
            M = matrix(pointer(tree_masses.tree_mass), tree_masses.tree_mass_at[t], n, n)
            damp_tree(damped, M, first, n, h, work_view(m, c, args, d), a)
