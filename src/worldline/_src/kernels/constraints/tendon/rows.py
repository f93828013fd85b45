# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rows of tendons: limits of their length, dry friction, and the inertia of their speed.

Inertia m of the speed adds m (J a)^2 / 2 to the Gauss cost of accelerations, which is what an equality row
with the weight m and no reference does; the mass matrix of the trees keeps its pattern.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.friction.rows import set_friction
from worldline._src.kernels.constraints.laws import load_law, soft_row
from worldline._src.kernels.constraints.row_start import begin_row
from worldline._src.kernels.constraints.rows import EQUALITY, UNILATERAL
from worldline._src.kernels.constraints.tables import (
    ACTIVE_LIMITS,
    HARD,
    OF_TENDON,
    OF_TENDON_FRICTION,
    OF_TENDON_INERTIA,
    SAFE,
    STEP,
    TREE_END,
    TREE_FIRST,
)
from worldline._src.scalar.ops import absolute, any_of, constant, minimum, where


@inline
def _begin(tendon, k, column, sign, rows_out, notes_out, note):
    """The Jacobian of a row of tendon `k`; returns its number, -1 when there is no room."""
    n = begin_row(rows_out, notes_out, note, k)
    if n >= 0:
        for i in range(tendon.tendon_span[k, 0], tendon.tendon_span[k, 1]):
            # degrees of freedom outside the island have no column, and no moment
            if any_of(absolute(tendon.tendon_moment[i]) > 0.0):
                rows_out.J[n, column[tendon.tendon_dof[i]]] = sign * tendon.tendon_moment[i]
    return n


@inline
def _tendon(tendon, weights, column, k, rows_out, notes_out):
    """Rows of tendon `k`."""
    h, safe = weights.option[STEP], weights.option[SAFE] != 0.0
    length, rate, A = tendon.tendon_size[k, 0], tendon.tendon_size[k, 1], tendon.tendon_bound[k, 3]
    # inertia m of the rate: weight m, aref = 0
    if tendon.tendon_armature[k] > 0.0:
        n = _begin(tendon, k, column, 1.0, rows_out, notes_out, OF_TENDON_INERTIA)
        if n >= 0:
            rows_out.aref[n], rows_out.D[n] = 0.0, tendon.tendon_armature[k]
            rows_out.kind[n] = EQUALITY
    # dry friction of the rate L'
    if tendon.tendon_friction[k, 0] > 0.0:
        n = _begin(tendon, k, column, 1.0, rows_out, notes_out, OF_TENDON_FRICTION)
        if n >= 0:
            set_friction(tendon.tendon_friction, k, rate, A, h, n, rows_out)
            rows_out.bound[n] = tendon.tendon_friction[k, 0]
    law = load_law(tendon.tendon_law, k)
    for side in range(2):
        s = 1.0 if side == 0 else -1.0
        # r = +-(L - bound) - margin, r' = +-L'; hard limits look one step ahead: r + h r'
        r = s * (length - tendon.tendon_bound[k, side]) - tendon.tendon_bound[k, 2]
        ahead = r
        if law.kind == HARD:
            ahead = minimum(r, r + (h * s) * rate)
        if any_of(ahead < 0.0):
            n = _begin(tendon, k, column, s, rows_out, notes_out, OF_TENDON)
            if n >= 0:
                made = soft_row(law, r, s * rate, A, h, safe)
                rows_out.aref[n], rows_out.D[n] = made.aref, 1.0 / made.R
                rows_out.kind[n], notes_out.row_residual[n] = UNILATERAL, r
                notes_out.row_active[n] = where(ahead < 0.0, 1.0, constant(0.0, ahead))
                notes_out.counter[ACTIVE_LIMITS] += 1


@kernel
def tendon_rows(tendon, weights, island, rows_out, notes_out):
    """Rows of the tendons of an island that are at a limit, rub or have inertia."""
    for i in range(island.counter[TREE_FIRST], island.counter[TREE_END]):
        t = island.island_tree[i]
        for j in range(island.tree_tendon[t], island.tree_tendon[t + 1]):
            _tendon(tendon, weights, island.dof_column, island.tendon_order[j], rows_out, notes_out)
