# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The stage that looks after the energy of an island whose contacts bounce.

`solve_islands` calls it after the solver where a contact wants speed back. Most islands pass for the cost of
looking; one that gains is solved a second time (`kernels/constraints/restitution.py`).
"""

from __future__ import annotations

from worldline._src.jit import stage
from worldline._src.kernels.constraints import restitution
from worldline._src.kernels.constraints.solve import IslandRows
from worldline._src.kernels.constraints.tables import (
    BOUNCED,
    BOUNCES,
    DROPPED,
    RESTITUTION_LIMITED,
    TREE_END,
    TREE_FIRST,
    UNCONVERGED,
    UNCONVERGED_BEFORE,
    bounce_view,
    contact_frame_view,
    member_view,
    record_view,
    row_note_view,
    row_view,
    solve_view,
    work_view,
)
from worldline._src.model.views import chain_view, operand_view
from worldline._src.step.island_stages import solve_island
from worldline._src.step.reaching import trees_of


@stage
def limit_restitution(m, c, args, d):
    """M, rows, forces and a of a solved island -> the same, with no energy that was not there."""
    tm, tc, td = trees_of(args, d)
    solution, bounce = solve_view(m, c, args, d), bounce_view(m, c, args, d)
    rows = row_view(m, c, args, d)
    island = IslandRows(
        member_view(m, c, args, d), rows, row_note_view(m, c, args, d), contact_frame_view(m, c, args, d)
    )
    if restitution.gains_energy(island, solution, bounce):
        counter, records, a = solution.counter, record_view(m, c, args, d), operand_view(tm, tc, td).a
        dropped = counter[DROPPED]
        restitution.forget_rows(rows, solution, records)
        restitution.take_restitution(solution, island, a)
        solve_island(m, c, args, d)
        restitution.forget_rows(rows, solution, records)
        scratch = work_view(m, c, args, d).vectors[7]
        share = restitution.blend(chain_view(tm, tc, td), island, bounce, scratch, solution, records, a)
        if share < 1.0 and counter[BOUNCED] != BOUNCES:
            # what it got to with all restitution is too far
            counter[RESTITUTION_LIMITED] = 1
            for k in range(counter[TREE_FIRST], counter[TREE_END]):
                bounce.tree_share[island.members.island_tree[k]] = share
        # one island, however often it was solved
        counter[DROPPED] = dropped
        counter[UNCONVERGED] = min(counter[UNCONVERGED], counter[UNCONVERGED_BEFORE] + 1)
