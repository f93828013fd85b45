# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""No-slip pass over a solved island.

`solve_islands` calls it after the solver where a scene asks for sweeps against slip.
"""

from __future__ import annotations

from worldline._src.jit import inline
from worldline._src.kernels.constraints.no_slip import remove_slip
from worldline._src.kernels.constraints.solve import give_back, record_contacts
from worldline._src.kernels.constraints.tables import (
    ALL_ROWS,
    ROWS,
    SLIP_SWEEPS,
    SLIP_TOLERANCE,
)
from worldline._src.step.constraint_operands import constraint_stage


@inline
def _add_forces(rows, solution, count, sign, qfrc_io):
    """Generalized forces of the rows of an island, added or taken away."""
    for k in range(count):
        f = sign * solution.row_force[k]
        for j in range(solution.island_a.shape[0]):
            qfrc_io[solution.column_dof[j]] += f * rows.J[k, j]


@constraint_stage
def remove_slip_of_island(chain, solution, records, rows, island_rows, slip, a):
    """M, rows, forces and a of a solved island -> forces of friction and a without slip."""
    counter, option = solution.counter, solution.option
    n = counter[ROWS]
    _add_forces(rows, solution, n, -1.0, records.qfrc)
    remove_slip(
        island_rows,
        solution.M,
        int(option[SLIP_SWEEPS]),
        option[SLIP_TOLERANCE],
        slip,
        solution.row_force,
        solution.island_a,
    )
    _add_forces(rows, solution, n, 1.0, records.qfrc)
    # the rows of the island are the last that were recorded
    base = counter[ALL_ROWS] - n
    if base >= 0:
        for k in range(n):
            records.force[base + k] = solution.row_force[k]
    record_contacts(rows, island_rows, solution.row_force, records.contact_force)
    give_back(chain, solution, a)
