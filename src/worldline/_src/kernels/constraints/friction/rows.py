# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rows of dry friction of joints: rest is wanted, within a largest force."""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.impedance import regularizer
from worldline._src.kernels.constraints.laws import HARDNESS
from worldline._src.kernels.constraints.row_start import begin_row
from worldline._src.kernels.constraints.rows import FRICTION
from worldline._src.kernels.constraints.tables import OF_FRICTION, STEP, TREE_END, TREE_FIRST
from worldline._src.scalar.ops import constant


@kernel
def friction_rows(friction, weights, island, v, rows_out, notes_out):
    """One row a degree of freedom with dry friction: it wants to stand still, within a force."""
    for i in range(island.counter[TREE_FIRST], island.counter[TREE_END]):
        t = island.island_tree[i]
        for k in range(island.tree_friction[t], island.tree_friction[t + 1]):
            _friction_row(friction, k, weights, island.dof_column, v, rows_out, notes_out)


@inline
def set_friction(laws, k, v, A, h, n, rows_out):
    """Row `n` of dry friction at a velocity v, its bound left; laws: a column as friction_law, of row `k`."""
    damping, share = laws[k, 1], laws[k, 2]
    if share >= 1.0:
        # hard: rest is reached within the step, aref = -v / h
        rows_out.aref[n], rows_out.D[n] = v * (-1.0 / h), 1.0 / (HARDNESS * A)
    else:
        # aref = -(damping / dmax) v
        rows_out.aref[n] = (-damping / laws[k, 3]) * v
        rows_out.D[n] = 1.0 / regularizer(share, constant(A, v))
    rows_out.kind[n] = FRICTION


@inline
def _friction_row(friction, k, weights, column, v, rows_out, notes_out):
    n = begin_row(rows_out, notes_out, OF_FRICTION, k)
    if n >= 0:
        d = friction.friction_dof[k]
        j = column[d]
        rows_out.J[n, j] = 1.0
        set_friction(
            friction.friction_law, k, v[j], weights.dof_invweight[d], weights.option[STEP], n, rows_out
        )
        rows_out.bound[n] = friction.own_friction_law[k, 0]
