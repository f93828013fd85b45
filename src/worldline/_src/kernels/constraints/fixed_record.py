# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The record of rows and the forces of contacts of a step in the fixed layout, for those who read them."""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.rows import CONE
from worldline._src.kernels.constraints.tables import (
    ALL_ROWS,
    BY_NEWTON,
    BY_SWEEPS,
    CONTACT_COUNT,
    CONVERGED,
    ISLANDS,
    ITERATIONS,
    NEWTON_STEPS,
    OF_CONTACT,
    RESIDUAL,
    ROWS,
    UNCONVERGED,
)
from worldline._src.scalar.ops import constant

_FORCE = 3
"""Row of `dual` that has the forces of rows."""


@inline
def record_forces(rows, notes, frames, dual, record_out):
    """Forces of rows as those of islands are recorded, and forces of contacts in their frames."""
    counter, force = notes.counter, dual[_FORCE]
    counter[ALL_ROWS], counter[CONTACT_COUNT] = counter[ROWS], frames.contact_row.shape[0]
    for n in range(counter[ROWS]):
        record_out.force[n] = force[n] * notes.row_active[n]
        record_out.residual[n] = notes.row_residual[n]
        record_out.row_of[n, 0], record_out.row_of[n, 1] = notes.row_note[n, 0], notes.row_note[n, 1]
    for k in range(frames.contact_row.shape[0]):
        first, condim = frames.contact_row[k, 0], frames.contact_row[k, 1]
        for j in range(6):
            record_out.contact_force[k, j] = constant(0.0, record_out.contact_force[k, j])
        if first < 0 or first >= counter[ROWS] or notes.row_note[first, 0] != OF_CONTACT:
            continue
        if condim == 1 or rows.kind[first] == CONE:
            for j in range(condim):
                record_out.contact_force[k, j] = record_out.force[first + j]
        else:
            for j in range(1, condim):
                up, down = record_out.force[first + 2 * j - 2], record_out.force[first + 2 * j - 1]
                record_out.contact_force[k, 0] = record_out.contact_force[k, 0] + (up + down)
                record_out.contact_force[k, j] = frames.mu[k, j - 1] * (up - down)


@kernel
def record_world(rows, notes, frames, dual, record_out, counter_out, option_io):
    """The record of a World whose rows have the fixed layout, and the counters of its report."""
    record_forces(rows, notes, frames, dual.dual, record_out)
    n = counter_out[ROWS]
    for d in range(record_out.qfrc.shape[0]):
        record_out.qfrc[d] = 0.0
    for r in range(n):
        record_out.missed[r] = record_out.force[r] / rows.D[r]
        if record_out.force[r] != 0.0:
            for d in range(dual.row_first[r], dual.row_end[r]):
                record_out.qfrc[d] += rows.J[r, d] * record_out.force[r]
    # all rows are one island
    left = dual.sweeps[1]
    counter_out[ISLANDS] = 1 if n > 0 else 0
    counter_out[ITERATIONS] = int(dual.sweeps[0])
    counter_out[CONVERGED] = 1 if left == 0.0 else 0
    counter_out[UNCONVERGED] = 1 - counter_out[CONVERGED]
    newton = option_io[NEWTON_STEPS] > 0.0
    counter_out[BY_NEWTON] = 1 if n > 0 and newton else 0
    counter_out[BY_SWEEPS] = 1 if n > 0 and not newton else 0
    option_io[RESIDUAL] = 0.0 if left == 0.0 else 1.0
    dual.sweeps[1] = 0.0
