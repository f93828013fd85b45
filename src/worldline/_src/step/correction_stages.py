# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Corrections of a solved island, called by `solve_islands` after its solver.

Energy bounds of hard contacts (`kernels/constraints/contact/recovery_energy.py`) and of restitution
(`kernels/constraints/restitution.py`): nearly all islands pass for the cost of looking, and one that gains
energy is solved a second time. The no-slip pass runs where a scene asks for sweeps against slip.
"""

from __future__ import annotations

from worldline._src.jit import inline, stage
from worldline._src.kernels.constraints import restitution
from worldline._src.kernels.constraints import tables as r
from worldline._src.kernels.constraints.contact.recovery_energy import bound_energy
from worldline._src.kernels.constraints.no_slip import remove_slip
from worldline._src.kernels.constraints.solve import IslandRows, give_back, record_contacts
from worldline._src.model.views import chain_view, operand_view
from worldline._src.step.constraint_operands import constraint_stage
from worldline._src.step.island_stages import solve_island
from worldline._src.step.reaching import trees_of

limit_energy = constraint_stage.of(bound_energy, name="limit_energy", v="island_v", trees_out="island_trees")


@stage
def limit_restitution(m, c, args, d):
    """M, rows, forces and a of a solved island -> the same, with no energy that was not there."""
    tm, tc, td = trees_of(args, d)
    solution, bounce = r.solve_view(m, c, args, d), r.bounce_view(m, c, args, d)
    rows = r.row_view(m, c, args, d)
    island = IslandRows(
        r.member_view(m, c, args, d),
        rows,
        r.row_note_view(m, c, args, d),
        r.contact_frame_view(m, c, args, d),
    )
    if restitution.gains_energy(island, solution, bounce):
        counter, records, a = solution.counter, r.record_view(m, c, args, d), operand_view(tm, tc, td).a
        dropped = counter[r.DROPPED]
        restitution.forget_rows(rows, solution, records)
        restitution.take_restitution(solution, island, a)
        solve_island(m, c, args, d)
        restitution.forget_rows(rows, solution, records)
        scratch = r.work_view(m, c, args, d).vectors[7]
        share = restitution.blend(chain_view(tm, tc, td), island, bounce, scratch, solution, records, a)
        if share < 1.0 and counter[r.BOUNCED] != r.BOUNCES:
            # what it got to with all restitution is too far
            counter[r.RESTITUTION_LIMITED] = 1
            for k in range(counter[r.TREE_FIRST], counter[r.TREE_END]):
                bounce.tree_share[island.members.island_tree[k]] = share
        # one island, however often it was solved
        counter[r.DROPPED] = dropped
        counter[r.UNCONVERGED] = min(counter[r.UNCONVERGED], counter[r.UNCONVERGED_BEFORE] + 1)


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
    n = counter[r.ROWS]
    _add_forces(rows, solution, n, -1.0, records.qfrc)
    remove_slip(
        island_rows,
        solution.M,
        int(option[r.SLIP_SWEEPS]),
        option[r.SLIP_TOLERANCE],
        slip,
        solution.row_force,
        solution.island_a,
    )
    _add_forces(rows, solution, n, 1.0, records.qfrc)
    # the rows of the island are the last that were recorded
    base = counter[r.ALL_ROWS] - n
    if base >= 0:
        for k in range(n):
            records.force[base + k] = solution.row_force[k]
    record_contacts(rows, island_rows, solution.row_force, records.contact_force)
    give_back(chain, solution, a)
