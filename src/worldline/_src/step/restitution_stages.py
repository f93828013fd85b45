# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Energy bound of restitution, applied to islands whose contacts bounce.

`solve_islands` calls it after the solver where a contact wants speed back. Most islands pass for the cost of
looking; one that gains is solved a second time (`kernels/constraints/restitution.py`).
"""

from __future__ import annotations

from worldline._src.jit import stage
from worldline._src.kernels.constraints import restitution
from worldline._src.kernels.constraints import tables as r
from worldline._src.kernels.constraints.solve import IslandRows
from worldline._src.model.views import chain_view, operand_view
from worldline._src.step.island_stages import solve_island
from worldline._src.step.reaching import trees_of


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
