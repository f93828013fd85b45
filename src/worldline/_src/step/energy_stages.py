# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The stage that looks after the energy of an island with hard contacts, after its solver.

Nearly all islands pass for the cost of looking; see `kernels/constraints/contact/recovery_energy.py`.
"""

from __future__ import annotations

from worldline._src.jit import stage
from worldline._src.kernels.constraints.contact.recovery_energy import IslandTrees, bound_energy
from worldline._src.kernels.constraints.solve import IslandRows
from worldline._src.kernels.constraints.tables import (
    contact_frame_view,
    member_view,
    motion_view,
    record_view,
    row_note_view,
    row_view,
    solve_view,
    split_view,
    tree_span_view,
    work_view,
)
from worldline._src.model.views import chain_view, inertia_view, operand_view
from worldline._src.step.reaching import trees_of


@stage
def limit_energy(m, c, args, d):
    """M, rows, forces and a of an island -> the same within bounds; whether it is moved apart."""
    tm, tc, td = trees_of(args, d)
    bound_energy(
        chain_view(tm, tc, td),
        IslandRows(
            member_view(m, c, args, d),
            row_view(m, c, args, d),
            row_note_view(m, c, args, d),
            contact_frame_view(m, c, args, d),
        ),
        motion_view(m, c, args, d).island_v,
        work_view(m, c, args, d).vectors[7],
        IslandTrees(
            inertia_view(tm, tc, td).link_mass,
            tree_span_view(m, c, args, d).tree_links,
            split_view(m, c, args, d).tree_recovery,
        ),
        solve_view(m, c, args, d),
        record_view(m, c, args, d),
        operand_view(tm, tc, td).a,
    )
