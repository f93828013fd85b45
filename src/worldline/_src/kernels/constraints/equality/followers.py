# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rows of coordinates and lengths of tendons that follow others, for several worlds at once.

What `equality/rows.py` does for soft ones of these kinds, free of branches on numbers: the residual is
x - x_0 - p(y - y_0) with a polynomial p, its Jacobian that of x less p' times that of y.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.equality.kinds import JOINT
from worldline._src.kernels.constraints.equality.rows import ON
from worldline._src.kernels.constraints.jacobians import clear_rows
from worldline._src.kernels.constraints.laws import LEAST_INVERSE, load_law, soft_row
from worldline._src.kernels.constraints.row_start import note_row
from worldline._src.kernels.constraints.rows import EQUALITY
from worldline._src.kernels.constraints.tables import DROPPED, OF_EQUALITY, ROWS, SAFE, STEP
from worldline._src.scalar.ops import constant


@inline
def _value_and_slope(number, k, x):
    """Value and slope of the polynomial of equality `k`."""
    value, slope = constant(number[k, 4], x), constant(0.0, x)
    for i in range(4):
        slope = slope * x + value
        value = value * x + number[k, 3 - i]
    return value, slope


@inline
def _add_joint(d, factor, column, v, J_io, n, speed):
    """A row grows by factor times a coordinate; returns its velocity."""
    J_io[n, column[d]] = J_io[n, column[d]] + factor
    return speed + factor * v[column[d]]


@inline
def _add_tendon(tendon, t, factor, column, v, J_io, n, speed):
    """A row grows by factor times the length of tendon `t`; returns its velocity."""
    for i in range(tendon.tendon_span[t, 0], tendon.tendon_span[t, 1]):
        speed = _add_joint(tendon.tendon_dof[i], factor * tendon.tendon_moment[i], column, v, J_io, n, speed)
    return speed


@inline
def _follower(equality, tendon, weights, moving, column, k, rows_out, notes_out):
    """The row of equality `k`."""
    n, h, v = notes_out.counter[ROWS], weights.option[STEP], moving.island_v
    number, a, b = equality.equality_number, equality.equality_first[k], equality.equality_second[k]
    clear_rows(rows_out.J, n, 1)
    none, J = constant(0.0, v[0]), rows_out.J
    one = none + 1.0
    if equality.equality_kind[k] == JOINT:
        q, at = moving.q, equality.equality_coordinate
        x = q[at[k, 1]] - number[k, 6] if b >= 0 else none
        value, slope = _value_and_slope(number, k, x)
        r, u = q[at[k, 0]] - number[k, 5] - value, _add_joint(a, one, column, v, J, n, none)
        if b >= 0:
            u = _add_joint(b, -slope, column, v, J, n, u)
    else:
        size = tendon.tendon_size
        x = size[b, 0] - number[k, 6] if b >= 0 else none
        value, slope = _value_and_slope(number, k, x)
        r, u = size[a, 0] - number[k, 5] - value, _add_tendon(tendon, a, one, column, v, J, n, none)
        if b >= 0:
            u = _add_tendon(tendon, b, -slope, column, v, J, n, u)
    A, law = max(number[k, 8], LEAST_INVERSE), load_law(equality.equality_law, k)
    made = soft_row(law, r, u, constant(A, r), h, weights.option[SAFE] != 0.0)
    rows_out.aref[n], rows_out.D[n] = made.aref, 1.0 / made.R
    rows_out.bound[n], rows_out.kind[n], rows_out.dim[n] = none, EQUALITY, 0
    note_row(notes_out, n, OF_EQUALITY, k, r)


@kernel
def follower_rows(equality, tendon, weights, moving, island, rows_out, notes_out):
    """Rows of all active equalities, which are of coordinates or of lengths of tendons."""
    for k in range(equality.equality_kind.shape[0]):
        if equality.equality_on[k] == ON:
            if notes_out.counter[ROWS] >= rows_out.kind.shape[0]:
                notes_out.counter[DROPPED] += 1
            else:
                _follower(equality, tendon, weights, moving, island.dof_column, k, rows_out, notes_out)
