# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rows of dry friction of joints: rest is wanted, within a largest force."""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.impedance import regularizer
from worldline._src.kernels.constraints.jacobians import clear_rows
from worldline._src.kernels.constraints.laws import HARDNESS
from worldline._src.kernels.constraints.rows import FRICTION
from worldline._src.kernels.constraints.tables import DROPPED, OF_FRICTION, ROWS, STEP, TREE_END, TREE_FIRST
from worldline._src.scalar.ops import constant


@kernel
def friction_rows(friction, weights, island, v, rows_out, notes_out):
    """One row a degree of freedom with dry friction: it wants to stand still, within a force."""
    for i in range(island.counter[TREE_FIRST], island.counter[TREE_END]):
        t = island.island_tree[i]
        for k in range(island.tree_friction[t], island.tree_friction[t + 1]):
            _friction_row(friction, k, weights, island.dof_column, v, rows_out, notes_out)


@inline
def _friction_row(friction, k, weights, column, v, rows_out, notes_out):
    h, counter = weights.option[STEP], notes_out.counter
    n = counter[ROWS]
    if n >= rows_out.kind.shape[0]:
        counter[DROPPED] += 1
    else:
        d = friction.friction_dof[k]
        j = column[d]
        clear_rows(rows_out.J, n, 1)
        rows_out.J[n, j] = 1.0
        # |f| <= bound, aref = -v / h or -damping / dmax v
        damping, share = friction.friction_law[k, 1], friction.friction_law[k, 2]
        A = weights.dof_invweight[d]
        if share >= 1.0:
            # hard: rest is reached within the step
            rows_out.aref[n], rows_out.D[n] = v[j] * (-1.0 / h), 1.0 / (HARDNESS * A)
        else:
            rows_out.aref[n] = (-damping / friction.friction_law[k, 3]) * v[j]
            rows_out.D[n] = 1.0 / regularizer(share, constant(A, v[j]))
        rows_out.bound[n], rows_out.kind[n], rows_out.dim[n] = friction.own_friction_law[k, 0], FRICTION, 0
        notes_out.row_residual[n], notes_out.row_active[n] = 0.0, 1.0
        notes_out.row_note[n, 0], notes_out.row_note[n, 1] = OF_FRICTION, k
        counter[ROWS] = n + 1
