# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The constraint stages of a step: actuators, poses for collision, rows, the solve.

Their arenas are those of `kernels/constraints/tables.py`; the trees and the collision tables are reached
through the addresses at the front of `args`. All but `solve_rows` know no scalar and run in lanes too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from worldline._src.jit import inline, stage
from worldline._src.kernels import actuation, body_matrices
from worldline._src.kernels.constraints import solve as solving
from worldline._src.kernels.constraints.contact import rows as contacts
from worldline._src.kernels.constraints.damping import Damped, damp_tree, is_damped
from worldline._src.kernels.constraints.friction import rows as friction
from worldline._src.kernels.constraints.islands import padded_columns
from worldline._src.kernels.constraints.limit import recovery as limit_recovery
from worldline._src.kernels.constraints.limit import rows as limits
from worldline._src.kernels.constraints.tables import (
    COLLISION_D,
    COLLISION_M,
    ISLAND_COLUMNS,
    ISLAND_WIDTH,
    actuator_view,
    contact_frame_view,
    friction_view,
    limit_view,
    member_view,
    motion_view,
    record_view,
    row_note_view,
    row_view,
    shape_law_view,
    solve_view,
    tree_mass_view,
    weight_view,
    work_view,
)
from worldline._src.kernels.narrowphase import tables as collision
from worldline._src.kinds import int64
from worldline._src.model.views import (
    acceleration_view,
    articulated_view,
    body_view,
    chain_view,
    control_view,
    drive_view,
    inertia_view,
    momentum_view,
    operand_view,
    passive_view,
    position_view,
    step_view,
    tree_view,
)
from worldline._src.scalar.memory import address_as, matrix, pointer
from worldline._src.step.reaching import Bodies, address_like, contacts_of, trees_of

_BODY_X, _NBODY = collision.ENTRY["body_X_W"], collision.ENTRY["nbody"]


class Motion(NamedTuple):
    """Velocities by columns of an island, accelerations without its rows by degrees of freedom."""

    island_v: Any
    a: Any


@inline
def _time_step(args, d):
    tm, tc, td = trees_of(args, d)
    return step_view(tm, tc, td).time_step[0]


@stage
def actuator_forces(m, c, args, d):
    """q, v, controls, activations -> tau grows by the forces of actuators."""
    tm, tc, td = trees_of(args, d)
    operands = operand_view(tm, tc, td)
    actuation.actuator_forces(operands.q, operands.v, actuator_view(m, c, args, d), operands.tau)


@stage
def advance_activations(m, c, args, d):
    """activations, their rates -> activations a step later."""
    actuation.advance_activations(actuator_view(m, c, args, d))


@stage
def activations_first(m, c, args, d):
    """activations, their rates at the start -> activations of the second part, half a step on."""
    act, h = actuator_view(m, c, args, d), _time_step(args, d)
    actuation.start_activation_parts(act)
    actuation.next_activation_part(1.0, 0.5 * h, act)


@stage
def activations_second(m, c, args, d):
    """rates of the second part -> activations of the third part, half a step on."""
    actuation.next_activation_part(2.0, 0.5 * _time_step(args, d), actuator_view(m, c, args, d))


@stage
def activations_third(m, c, args, d):
    """rates of the third part -> activations of the fourth part, a whole step on."""
    actuation.next_activation_part(2.0, _time_step(args, d), actuator_view(m, c, args, d))


@stage
def activations_last(m, c, args, d):
    """rates of the fourth part -> activations of the start, their mean rates."""
    actuation.join_activation_parts(actuator_view(m, c, args, d))


@stage
def collision_poses(m, c, args, d):
    """link poses -> poses of bodies in the collision tables."""
    tm, tc, td = trees_of(args, d)
    hm, hd = address_as(args[COLLISION_M], int64), address_like(args[COLLISION_D], d)
    body_matrices.body_matrices(
        tree_view(tm, tc, td),
        body_view(tm, tc, td),
        position_view(tm, tc, td),
        weight_view(m, c, args, d).body_link,
        matrix(hd, hm[_BODY_X], hm[_NBODY], 12),
    )


@stage
def friction_rows(m, c, args, d):
    """v -> rows of dry friction."""
    friction.friction_rows(
        friction_view(m, c, args, d),
        weight_view(m, c, args, d),
        member_view(m, c, args, d),
        motion_view(m, c, args, d).island_v,
        row_view(m, c, args, d),
        row_note_view(m, c, args, d),
    )


@stage
def limit_rows(m, c, args, d):
    """q, v -> rows of limits."""
    tm, tc, td = trees_of(args, d)
    limits.limit_rows(
        limit_view(m, c, args, d),
        weight_view(m, c, args, d),
        member_view(m, c, args, d),
        operand_view(tm, tc, td).q,
        motion_view(m, c, args, d).island_v,
        row_view(m, c, args, d),
        row_note_view(m, c, args, d),
    )


@stage
def recover_limits(m, c, args, d):
    """q -> q within its hard limits, at bounded speed."""
    tm, tc, td = trees_of(args, d)
    q, momenta, step = operand_view(tm, tc, td).q, momentum_view(tm, tc, td), step_view(tm, tc, td)
    limit_recovery.recover_limits(
        limit_view(m, c, args, d),
        step.time_step[0],
        tree_view(tm, tc, td),
        inertia_view(tm, tc, td),
        position_view(tm, tc, td),
        limit_recovery.RecoveryWork(
            articulated_view(tm, tc, td),
            acceleration_view(tm, tc, td),
            momenta.dof_extra,
            momenta.dof_gap,
            momenta.dof_p,
            step.state[: q.shape[0]],
            step.controls[: q.shape[0]],
        ),
        q,
    )


@stage
def contact_rows(m, c, args, d):
    """contacts, v -> rows of contacts."""
    tm, tc, td = trees_of(args, d)
    weights, members = weight_view(m, c, args, d), member_view(m, c, args, d)
    contacts.contact_rows(
        contacts_of(args, d),
        Bodies(
            chain_view(tm, tc, td),
            tree_view(tm, tc, td),
            position_view(tm, tc, td),
            weights.body_link,
            weights.body_invweight,
            weights.option,
            members.dof_column,
        ),
        shape_law_view(m, c, args, d),
        members,
        Motion(motion_view(m, c, args, d).island_v, operand_view(tm, tc, td).a),
        row_view(m, c, args, d),
        row_note_view(m, c, args, d),
        contact_frame_view(m, c, args, d),
    )


@stage
def solve_rows(m, c, args, d):
    """M, a, rows of an island -> a with constraints, forces of rows, generalized constraint forces."""
    tm, tc, td = trees_of(args, d)
    solving.solve_rows(
        chain_view(tm, tc, td),
        control_view(tm, tc, td).a_target,
        solving.IslandRows(
            member_view(m, c, args, d),
            row_view(m, c, args, d),
            row_note_view(m, c, args, d),
            contact_frame_view(m, c, args, d),
        ),
        work_view(m, c, args, d),
        solve_view(m, c, args, d),
        record_view(m, c, args, d),
        operand_view(tm, tc, td).a,
    )


@stage
def damp_implicitly(m, c, args, d):
    """a, M -> a with joint damping taken at the end of the step."""
    tm, tc, td = trees_of(args, d)
    damped = Damped(chain_view(tm, tc, td), passive_view(tm, tc, td), drive_view(tm, tc, td))
    a, h, trees = (
        operand_view(tm, tc, td).a,
        step_view(tm, tc, td).time_step[0],
        tree_mass_view(m, c, args, d),
    )
    tree_dof = trees.tree_dof
    for t in range(tree_dof.shape[0] - 1):
        first, n = tree_dof[t], tree_dof[t + 1] - tree_dof[t]
        if is_damped(damped, first, first + n):
            args[ISLAND_COLUMNS], args[ISLAND_WIDTH] = n, padded_columns(n)
            at = trees.tree_mass_at[t]
            M = matrix(pointer(trees.tree_mass), at, n, n)
            damp_tree(damped, M, first, n, h, work_view(m, c, args, d), a)
