# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The stages of a step that run in dual numbers alone.

`differentiate_islands` takes the place of `solve_islands`: rows of every island are made by the same stages,
and their solution, which the step found, is differentiated implicitly. `relax_islands` does so with relaxed
complementarity.
"""

from __future__ import annotations

from worldline._src.jit import inline, stage
from worldline._src.kernels.constraints import islands
from worldline._src.kernels.constraints.row_derivatives import differentiate_rows
from worldline._src.kernels.constraints.solve import IslandRows
from worldline._src.kernels.constraints.tables import (
    BOUNCED,
    COLLISION_ARGS,
    COLLISION_M,
    FIRST_ROW_LINK,
    ISLAND_COLUMNS,
    ISLAND_WIDTH,
    ISLANDS,
    MASS_LINK,
    ROW_STAGES,
    ROWS,
    contact_frame_view,
    island_view,
    member_view,
    motion_view,
    program_view,
    row_note_view,
    row_view,
    solve_view,
    work_view,
)
from worldline._src.kernels.narrowphase import tables as collision
from worldline._src.kinds import int64
from worldline._src.model.views import chain_view, control_view, operand_view
from worldline._src.scalar.memory import address_as, call_stage, matrix
from worldline._src.step.reaching import trees_of

_CONTACT_ID, _NCONTACT = collision.ENTRY["contact_id"], collision.ENTRY["ncontact"]

RELAXATION = 5.0
"""Relaxation of complementarity: accelerations between those of firm contacts and of open ones [m/s^2]."""


@stage
def differentiate_islands(m, c, args, d):
    """islands, v, solved a -> a with constraints and its derivatives."""
    _differentiate(m, c, args, d, 0.0)


@stage
def relax_islands(m, c, args, d):
    """islands, v, solved a -> a with constraints and its derivatives with relaxed complementarity."""
    _differentiate(m, c, args, d, RELAXATION)


@inline
def _differentiate(m, c, args, d, a0):
    tm, tc, td = trees_of(args, d)
    program, island = program_view(m, c, args, d).program, island_view(m, c, args, d)
    operands, counter = operand_view(tm, tc, td), island.counter
    pair = contact_frame_view(m, c, args, d).contact_row
    if args[COLLISION_M] != 0:
        hm, ha = address_as(args[COLLISION_M], int64), address_as(args[COLLISION_ARGS], int64)
        pair = matrix(ha, hm[_CONTACT_ID], hm[_NCONTACT], 6)
    for i in range(counter[ISLANDS]):
        n = islands.open_island(pair, i, island)
        args[ISLAND_COLUMNS], args[ISLAND_WIDTH] = n, islands.padded_columns(n)
        # views are cut by the size of the island at hand
        motion = motion_view(m, c, args, d)
        for j in range(n):
            motion.island_v[j] = operands.v[motion.column_dof[j]]
        counter[ROWS], counter[BOUNCED] = 0, 0
        for k in range(counter[ROW_STAGES]):
            call_stage(program[FIRST_ROW_LINK + k], m, c, args, d)
        if counter[ROWS] > 0:
            call_stage(program[MASS_LINK], m, c, args, d)
            differentiate_rows(
                chain_view(tm, tc, td),
                control_view(tm, tc, td).a_target,
                a0,
                IslandRows(
                    member_view(m, c, args, d),
                    row_view(m, c, args, d),
                    row_note_view(m, c, args, d),
                    contact_frame_view(m, c, args, d),
                ),
                work_view(m, c, args, d),
                solve_view(m, c, args, d),
                operands.a,
            )
