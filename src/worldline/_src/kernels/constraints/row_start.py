# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""How a row starts: its number among the rows at hand, and what it belongs to."""

from __future__ import annotations

from worldline._src.jit import inline
from worldline._src.kernels.constraints.jacobians import clear_rows
from worldline._src.kernels.constraints.numbering import DROPPED, ROWS


@inline
def note_row(notes_out, n, owner, k, residual):
    """Count row `n` of constraint `k` of the kind `owner`, with its residual; it counts in every world."""
    notes_out.row_active[n], notes_out.row_residual[n] = 1.0, residual
    notes_out.row_note[n, 0], notes_out.row_note[n, 1] = owner, k
    notes_out.counter[ROWS] = n + 1


@inline
def begin_row(rows_out, notes_out, owner, k):
    """An empty row of constraint `k` of the kind `owner`; returns its number, -1 when there is no room."""
    n = notes_out.counter[ROWS]
    if n >= rows_out.kind.shape[0]:
        notes_out.counter[DROPPED] += 1
        return -1
    clear_rows(rows_out.J, n, 1)
    rows_out.dim[n], rows_out.bound[n] = 0, 0.0
    note_row(notes_out, n, owner, k, 0.0)
    return n
