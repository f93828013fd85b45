# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The stages of a step of several worlds at once that a step of one world has no use for.

Rows are made by the stages of `constraint_stages.py`, which know no scalar; what is different is that there
are no islands and that all worlds share one list of rows.
"""

from __future__ import annotations

from worldline._src.jit import inline, stage
from worldline._src.kernels.constraints import fixed_solve as solving
from worldline._src.kernels.constraints.implicit_damping import damp_all
from worldline._src.kernels.constraints.tables import (
    ACTIVE_LIMITS,
    BOUNCED,
    COLLISION_ARGS,
    COLLISION_M,
    CONTACT_END,
    DROPPED,
    GRAVITY,
    ROWS,
    SHORT,
    SHORT_OF_PAIRS,
    SHORT_OF_ROWS,
    SPEED_TOLERANCE,
    contact_frame_view,
    dual_view,
    equality_view,
    fixed_bounce_view,
    friction_view,
    limit_view,
    link_view,
    motion_view,
    motor_view,
    packed_view,
    row_note_view,
    row_view,
    speed_view,
    tendon_view,
    weight_view,
    work_view,
)
from worldline._src.kernels.narrowphase import tables as collision
from worldline._src.kernels.narrowphase.lanes import PAIR_CONTACTS
from worldline._src.kinds import int64
from worldline._src.model.views import (
    chain_view,
    mass_view,
    operand_view,
)
from worldline._src.scalar.memory import address_as, matrix, vector
from worldline._src.step.constraint_operands import constraint_stage
from worldline._src.step.reaching import trees_of

_CONTACT_ID, _NCONTACT = collision.ENTRY["contact_id"], collision.ENTRY["ncontact"]
_COUNTER = collision.ENTRY["counter"]


@stage
def begin_fixed_rows(m, c, args, d):
    """v -> velocities by columns, which are the degrees of freedom; no rows yet; contacts of near pairs."""
    tm, tc, td = trees_of(args, d)
    counter, v = link_view(m, c, args, d).counter, operand_view(tm, tc, td).v
    counter[ROWS], counter[DROPPED], counter[ACTIVE_LIMITS], counter[BOUNCED] = 0, 0, 0, 0
    if args[COLLISION_M] != 0:
        hm, ha = address_as(args[COLLISION_M], int64), address_as(args[COLLISION_ARGS], int64)
        found = vector(ha, hm[_COUNTER], 8)
        if found[collision.NEAR] > found[collision.PAIRS]:
            args[SHORT] |= SHORT_OF_PAIRS
        contact_row = contact_frame_view(m, c, args, d).contact_row
        counter[CONTACT_END] = PAIR_CONTACTS * found[collision.PAIRS]
        for k in range(counter[CONTACT_END], contact_row.shape[0]):
            contact_row[k, 0] = -1
    island_v = motion_view(m, c, args, d).island_v
    for k in range(v.shape[0]):
        island_v[k] = v[k]


@inline
def _rows_at(m, c, args, d):
    """The rows of a step and all that solving them needs."""
    return solving.FixedRows(
        row_view(m, c, args, d),
        row_note_view(m, c, args, d),
        contact_frame_view(m, c, args, d),
        dual_view(m, c, args, d),
        packed_view(m, c, args, d),
        work_view(m, c, args, d),
        fixed_bounce_view(m, c, args, d),
    )


@inline
def _layout_at(m, c, args, d):
    """What rows belong to."""
    contact_id = contact_frame_view(m, c, args, d).contact_row
    if args[COLLISION_M] != 0:
        hm, ha = address_as(args[COLLISION_M], int64), address_as(args[COLLISION_ARGS], int64)
        contact_id = matrix(ha, hm[_CONTACT_ID], hm[_NCONTACT], 6)
    limit = limit_view(m, c, args, d)
    return solving.Layout(
        contact_id,
        friction_view(m, c, args, d).friction_dof,
        limit.limit_dof,
        limit.limit_kind,
        speed_view(m, c, args, d).speed_dof,
        weight_view(m, c, args, d).body_link,
        motor_view(m, c, args, d).motor_dof,
        tendon_view(m, c, args, d),
        equality_view(m, c, args, d),
    )


@stage
def begin_fixed_solve(m, c, args, d):
    """rows, kept forces -> guesses of forces; rows without room are counted."""
    tm, tc, td = trees_of(args, d)
    link = link_view(m, c, args, d)
    if link.counter[DROPPED] > 0:
        args[SHORT] |= SHORT_OF_ROWS
    solving.begin_solve(
        _layout_at(m, c, args, d),
        link.option,
        link.counter[ROWS],
        operand_view(tm, tc, td).a,
        _rows_at(m, c, args, d),
    )


@stage
def newton_fixed_rows(m, c, args, d):
    """M, a, plain rows -> a with constraints and their forces, where Newton's method finds them."""
    tm, tc, td = trees_of(args, d)
    n = link_view(m, c, args, d).counter[ROWS]
    a = operand_view(tm, tc, td).a
    solving.newton_plain(
        chain_view(tm, tc, td),
        _layout_at(m, c, args, d),
        mass_view(tm, tc, td),
        n,
        _rows_at(m, c, args, d),
        a,
    )


@stage
def newton_fixed_cones(m, c, args, d):
    """M, L, a, rows with cones -> a with constraints and their forces, where Newton's method finds them."""
    tm, tc, td = trees_of(args, d)
    link = link_view(m, c, args, d)
    solving.newton_cones(
        chain_view(tm, tc, td),
        _layout_at(m, c, args, d),
        mass_view(tm, tc, td),
        link.own_option[SPEED_TOLERANCE],
        link.counter[ROWS],
        _rows_at(m, c, args, d),
        operand_view(tm, tc, td).a,
    )


@stage
def newton_fixed_coulomb(m, c, args, d):
    """M, L, a, rows with cones of Coulomb's law -> a with constraints and their forces, where Newton's method
    finds them."""
    tm, tc, td = trees_of(args, d)
    link = link_view(m, c, args, d)
    solving.newton_coulomb(
        chain_view(tm, tc, td),
        _layout_at(m, c, args, d),
        mass_view(tm, tc, td),
        link.own_option[SPEED_TOLERANCE],
        link.own_option[GRAVITY],
        link.counter[ROWS],
        _rows_at(m, c, args, d),
        operand_view(tm, tc, td).a,
    )


@stage
def sweep_fixed_rows(m, c, args, d):
    """L, a, rows -> a with constraints and their forces, in worlds that are not solved."""
    tm, tc, td = trees_of(args, d)
    link = link_view(m, c, args, d)
    solving.sweep_rows(
        chain_view(tm, tc, td),
        mass_view(tm, tc, td),
        link.option,
        link.own_option[SPEED_TOLERANCE],
        link.counter[ROWS],
        _rows_at(m, c, args, d),
        operand_view(tm, tc, td).a,
    )


@stage
def begin_fixed_restitution(m, c, args, d):
    """a, forces -> worlds that gain energy, to be solved without restitution."""
    tm, tc, td = trees_of(args, d)
    link, a = link_view(m, c, args, d), operand_view(tm, tc, td).a
    made, layout = _rows_at(m, c, args, d), _layout_at(m, c, args, d)
    solving.begin_restitution(layout, link.option, link.counter[ROWS], made, a)


@stage
def end_fixed_restitution(m, c, args, d):
    """a, forces with and without restitution -> those between that gain no energy."""
    tm, tc, td = trees_of(args, d)
    link, a = link_view(m, c, args, d), operand_view(tm, tc, td).a
    made, layout = _rows_at(m, c, args, d), _layout_at(m, c, args, d)
    solving.end_restitution(layout, link.option, link.counter[ROWS], made, a)


@stage
def end_fixed_solve(m, c, args, d):
    """forces -> forces for the next step."""
    n = link_view(m, c, args, d).counter[ROWS]
    solving.end_solve(_layout_at(m, c, args, d), n, _rows_at(m, c, args, d))


damp_fixed = constraint_stage.of(
    damp_all, "damp_fixed", "a, M -> a with joint damping taken at the end of the step.", work_out="dof_u"
)
