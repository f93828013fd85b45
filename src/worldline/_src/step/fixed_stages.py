# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Stages of the fixed layout: constraint solvers and implicit damping of worlds in lanes.

Rows are made by the stages of `constraint_stages.py`, which know no scalar; what is different is that there
are no islands and that all worlds share one list of rows.
"""

from __future__ import annotations

from worldline._src.derived_stages import Cut, Operand, Part, StageMaker, made_of
from worldline._src.jit import inline, stage
from worldline._src.kernels.constraints import fixed_positions as positions
from worldline._src.kernels.constraints import fixed_solve as solving
from worldline._src.kernels.constraints import tables
from worldline._src.kernels.constraints import tables as r
from worldline._src.kernels.constraints.fixed_record import record_world
from worldline._src.kernels.constraints.implicit_damping import damp_all
from worldline._src.kernels.narrowphase import tables as collision
from worldline._src.kernels.narrowphase.lanes import PAIR_CONTACTS
from worldline._src.kinds import int64
from worldline._src.model import views
from worldline._src.model.views import operand_view
from worldline._src.scalar.memory import address_as, vector
from worldline._src.step.constraint_operands import CONSTRAINTS, constraint_stage
from worldline._src.step.reaching import pairs_of, trees_of
from worldline._src.step.tree_operands import TREES

_COUNTER = collision.ENTRY["counter"]


@stage
def begin_fixed_rows(m, c, args, d):
    """v -> velocities by columns, which are the degrees of freedom; no rows yet; contacts of near pairs."""
    tm, tc, td = trees_of(args, d)
    counter, v = r.link_view(m, c, args, d).counter, operand_view(tm, tc, td).v
    counter[r.ROWS], counter[r.DROPPED], counter[r.ACTIVE_LIMITS], counter[r.BOUNCED] = 0, 0, 0, 0
    if args[r.COLLISION_M] != 0:
        hm, ha = address_as(args[r.COLLISION_M], int64), address_as(args[r.COLLISION_ARGS], int64)
        found = vector(ha, hm[_COUNTER], 8)
        if found[collision.NEAR] > found[collision.PAIRS]:
            args[r.SHORT] |= r.SHORT_OF_PAIRS
        contact_row = r.contact_frame_view(m, c, args, d).contact_row
        counter[r.CONTACT_END] = PAIR_CONTACTS * found[collision.PAIRS]
        for k in range(counter[r.CONTACT_END], contact_row.shape[0]):
            contact_row[k, 0] = -1
    island_v = r.motion_view(m, c, args, d).island_v
    for k in range(v.shape[0]):
        island_v[k] = v[k]


@inline
def layout_of(m, c, args, d):
    """What rows belong to."""
    limit = r.limit_view(m, c, args, d)
    return solving.Layout(
        pairs_of(m, c, args, d).ids,
        r.friction_view(m, c, args, d).friction_dof,
        limit.limit_dof,
        limit.limit_kind,
        r.speed_view(m, c, args, d).speed_dof,
        r.weight_view(m, c, args, d).body_link,
        r.motor_view(m, c, args, d).motor_dof,
        r.tendon_view(m, c, args, d),
        r.equality_view(m, c, args, d),
    )


_OPERANDS: dict[str, Operand] = {
    **CONSTRAINTS,
    "bounces": Cut(tables.fixed_bounce_view),
    "dual": Cut(tables.dual_view),
    "layout": Cut(layout_of),
    "made": made_of(solving.FixedRows, "rows notes frames dual packed work bounces"),
    "n": Cut(r.link_view, f"counter[{r.ROWS}]"),
    "packed": Cut(tables.packed_view),
    "slip_gravity": Cut(r.link_view, f"own_option[{r.GRAVITY}]"),
    "tolerance": Cut(r.link_view, f"own_option[{r.SPEED_TOLERANCE}]"),
}
fixed_stage = StageMaker(
    Part(_OPERANDS, tables), Part({**TREES, "dof": TREES["chain"]}, views, "t", trees_of)
)
"""Stages over the rows of all worlds, by the names of `fixed_solve.py`."""


@fixed_stage
def begin_fixed_solve(args, counter, layout, option, n, a, made):
    """rows, kept forces -> guesses of forces; rows without room are counted."""
    if counter[r.DROPPED] > 0:
        args[r.SHORT] |= r.SHORT_OF_ROWS
    solving.begin_solve(layout, option, n, a, made)


newton_fixed_rows = fixed_stage.of(solving.newton_plain, name="newton_fixed_rows")
newton_fixed_cones = fixed_stage.of(solving.newton_cones, name="newton_fixed_cones")
newton_fixed_coulomb = fixed_stage.of(
    solving.newton_coulomb, name="newton_fixed_coulomb", gravity="slip_gravity"
)
sweep_fixed_rows = fixed_stage.of(solving.sweep_rows, name="sweep_fixed_rows")
begin_fixed_positions = fixed_stage.of(positions.begin_positions, name="begin_fixed_positions", v="island_v")
begin_fixed_velocities = fixed_stage.of(positions.begin_velocities, name="begin_fixed_velocities")
end_fixed_velocities = fixed_stage.of(positions.end_velocities, name="end_fixed_velocities")
begin_fixed_restitution = fixed_stage.of(solving.begin_restitution, name="begin_fixed_restitution")
end_fixed_restitution = fixed_stage.of(solving.end_restitution, name="end_fixed_restitution")
end_fixed_solve = fixed_stage.of(solving.end_solve, name="end_fixed_solve")
record_fixed = fixed_stage.of(record_world, name="record_fixed")


@fixed_stage
def correct_fixed_positions(tree, option, split, counter, made, step, q):
    """q, position correction -> q moved by it."""
    positions.correct_positions(tree, option, split, counter, made, step.state[: q.shape[0]], q)


damp_fixed = constraint_stage.of(damp_all, name="damp_fixed", work_out="dof_u")
