# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The stage that takes slip out of a solved island.

`solve_islands` calls it after the solver where a scene asks for sweeps against slip.
"""

from __future__ import annotations

from worldline._src.jit import inline, stage
from worldline._src.kernels.constraints.no_slip import remove_slip
from worldline._src.kernels.constraints.solve import IslandRows, give_back, record_contacts
from worldline._src.kernels.constraints.tables import (
    ALL_ROWS,
    ROWS,
    SLIP_SWEEPS,
    SLIP_TOLERANCE,
    contact_frame_view,
    member_view,
    record_view,
    row_note_view,
    row_view,
    slip_view,
    solve_view,
)
from worldline._src.model.views import chain_view, operand_view
from worldline._src.step.reaching import trees_of


@inline
def _add_forces(rows, solution, count, sign, qfrc_io):
    """Generalized forces of the rows of an island, added or taken away."""
    for k in range(count):
        f = sign * solution.row_force[k]
        for j in range(solution.island_a.shape[0]):
            qfrc_io[solution.column_dof[j]] += f * rows.J[k, j]


@stage
def remove_slip_of_island(m, c, args, d):
    """M, rows, forces and a of a solved island -> forces of friction and a without slip."""
    tm, tc, td = trees_of(args, d)
    solution, records, rows = solve_view(m, c, args, d), record_view(m, c, args, d), row_view(m, c, args, d)
    counter, option = solution.counter, solution.option
    island = IslandRows(
        member_view(m, c, args, d), rows, row_note_view(m, c, args, d), contact_frame_view(m, c, args, d)
    )
    n = counter[ROWS]
    _add_forces(rows, solution, n, -1.0, records.qfrc)
    remove_slip(
        island,
        solution.M,
        int(option[SLIP_SWEEPS]),
        option[SLIP_TOLERANCE],
        slip_view(m, c, args, d),
        solution.row_force,
        solution.island_a,
    )
    _add_forces(rows, solution, n, 1.0, records.qfrc)
    # the rows of the island are the last that were recorded
    base = counter[ALL_ROWS] - n
    if base >= 0:
        for k in range(n):
            records.force[base + k] = solution.row_force[k]
    record_contacts(rows, island, solution.row_force, records.contact_force)
    give_back(chain_view(tm, tc, td), solution, operand_view(tm, tc, td).a)
