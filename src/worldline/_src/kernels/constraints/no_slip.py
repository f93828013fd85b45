# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Sweeps against slip: friction forces of a solved island once more, as if they had no regularizer.

Soft friction lets what should stick creep. With normal forces held, each friction force is set to what stops
its row, within its bounds: dry friction one by one, the friction of a cone together, the two edges of a
pyramid against each other. Accelerations follow every change at once, so a row's miss is J a - aref and no
matrix of all rows is needed, only M^-1 J^T of those that change. Of two edges only the difference of their
forces changes, so one direction stands for both: E = J_k - J_k+1.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.reverse_cholesky import reverse_cholesky, reverse_cholesky_solve
from worldline._src.kernels.constraints.row_packs import add_row, copy_row, row_times
from worldline._src.kernels.constraints.rows import CONE, FRICTION
from worldline._src.kernels.constraints.tables import CONTACT_END, CONTACT_FIRST, ROWS
from worldline._src.scalar.ops import clamp, sqrt
from worldline._src.scalar.packed import (
    PACK,
    is_zero_pack,
    load_row,
    pack_of,
    store_row,
    sum_pack,
)

_LEAST = 1e-15
_TURNS = 20
"""Newton steps for the multiplier of a cone."""
_NEAR = 1e-12
"""Share of the radius that x may be outside."""


@inline
def _product(A, i, B, j, n):
    """Product of row `i` of A with row `j` of B, of whole packs."""
    total = pack_of(0.0)
    for d in range(0, n, PACK):
        total = total + load_row(A, i, d) * load_row(B, j, d)
    return sum_pack(total)


@inline
def _miss(rows, k, a, n):
    """J a - aref of a row."""
    return row_times(rows.J, k, 0, n, a) - rows.aref[k]


@inline
def _change(B, k, x, n, force_io, a_io):
    force_io[k] += x
    add_row(B, k, 0, n, x, a_io)


@inline
def _solve_shifted(A, shift, b, m, L_out, x_out):
    """x = -(A + shift)^-1 b for a small matrix; False when it is not positive."""
    for i in range(m):
        for j in range(i + 1):
            # Cholesky: A + shift 1 = L L^T
            total = A[i, j] + (shift if i == j else 0.0)
            for k in range(j):
                total -= L_out[i, k] * L_out[j, k]
            if i == j:
                if total <= _LEAST:
                    return False
                L_out[i, i] = sqrt(total)
            else:
                L_out[i, j] = total / L_out[j, j]
    # L y = -b, then L^T x = y
    for i in range(m):
        total = -b[i]
        for j in range(i):
            total -= L_out[i, j] * x_out[j]
        x_out[i] = total / L_out[i, i]
    for i in range(m - 1, -1, -1):
        total = x_out[i]
        for j in range(i + 1, m):
            total -= L_out[j, i] * x_out[j]
        x_out[i] = total / L_out[i, i]
    return True


@inline
def _within_ball(A, b, radius, m, L_out, x_out, y_out):
    """x that is least in x A x / 2 + b x within |x| <= radius, by the multiplier of the bound.

    Newton's method finds the multiplier from 1 / |x|, which is nearly straight [More, Sorensen 1983]; from
    |x|^2 it would take dozens of steps where x starts far outside. What is left outside is brought in.
    """
    shift, size = 0.0, 0.0
    for _ in range(_TURNS):
        if not _solve_shifted(A, shift, b, m, L_out, x_out):
            return False
        squared = 0.0
        for i in range(m):
            squared += x_out[i] * x_out[i]
        size = sqrt(squared)
        if size <= (1.0 + _NEAR) * radius:
            break
        # slope of |x|^2 by the shift: -2 x (A + shift)^-1 x
        bend = 0.0
        for i in range(m):
            total = x_out[i]
            for j in range(i):
                total -= L_out[i, j] * y_out[j]
            y_out[i] = total / L_out[i, i]
            bend += y_out[i] * y_out[i]
        # Newton's step on 1 / |x(shift)| = 1 / radius
        shift += squared / bend * (size - radius) / radius
    if size > radius:
        for i in range(m):
            x_out[i] *= radius / size
    return True


@inline
def stop_cone(rows, first, n, B, work, force_io, a_io):
    """Friction of an elliptic cone, all directions at once; returns what it gains."""
    A, L, x, y, b = work[:5, :5], work[5:10, :5], work[10, :5], work[11, :5], work[12, :5]
    m, normal = rows.dim[first] - 1, force_io[first]
    gain = 0.0
    for i in range(m):
        k, mu = first + 1 + i, rows.bound[first + 1 + i]
        # x = f / mu:  A = mu J M^-1 J^T mu,  b = mu (J a - aref) - A x_0
        b[i] = _miss(rows, k, a_io, n) * mu
        for j in range(m):
            A[i, j] = _product(rows.J, k, B, first + 1 + j, n) * mu * rows.bound[first + 1 + j]
            b[i] -= A[i, j] * force_io[first + 1 + j] / rows.bound[first + 1 + j]
    if normal < _LEAST:
        for i in range(m):
            x[i] = 0.0
    elif not _within_ball(A, b, normal, m, L, x, y):
        return 0.0
    for i in range(m):
        k, mu = first + 1 + i, rows.bound[first + 1 + i]
        # f = mu x; the cost falls by -df (miss before + miss after) / 2
        step = x[i] * mu - force_io[k]
        before = _miss(rows, k, a_io, n)
        _change(B, k, step, n, force_io, a_io)
        gain -= 0.5 * step * (before + _miss(rows, k, a_io, n))
    return gain


@inline
def _spread(k, A, miss, force_io):
    """Change the difference of the forces of two edges, their sum stays; returns the change and its gain.

    A: acceleration along the difference by a unit of it; miss: what is to be stopped.
    """
    middle = 0.5 * (force_io[k] + force_io[k + 1])
    apart = 0.5 * (force_io[k] - force_io[k + 1])
    # edges keep f1 + f2 and stay positive: |f1 - f2| <= f1 + f2
    wanted = 0.0 if A < _LEAST else clamp(apart - miss / A, -middle, middle)
    step = wanted - apart
    force_io[k] += step
    force_io[k + 1] -= step
    return step, -step * (miss + 0.5 * A * step)


@inline
def stop_edges(rows, k, n, B, force_io, a_io):
    """Two opposite edges of a pyramid from M^-1 J^T of both; returns what it gains."""
    miss = _miss(rows, k, a_io, n) - _miss(rows, k + 1, a_io, n)
    A = _product(rows.J, k, B, k, n) + _product(rows.J, k + 1, B, k + 1, n)
    # A = (J1 - J2) M^-1 (J1 - J2)^T
    A -= 2.0 * _product(rows.J, k, B, k + 1, n)
    step, gain = _spread(k, A, miss, force_io)
    add_row(B, k, 0, n, step, a_io)
    add_row(B, k + 1, 0, n, -step, a_io)
    return gain


@inline
def _stop_difference(rows, k, n, B, force_io, a_io):
    """The same from M^-1 E^T and E, in rows k and k + 1 of B."""
    miss = row_times(B, k + 1, 0, n, a_io) - (rows.aref[k] - rows.aref[k + 1])
    step, gain = _spread(k, _product(B, k, B, k + 1, n), miss, force_io)
    add_row(B, k, 0, n, step, a_io)
    return gain


@inline
def stop_dry(rows, k, n, B, force_io, a_io):
    """Dry friction of a joint or tendon; returns what it gains."""
    miss, A = _miss(rows, k, a_io, n), _product(rows.J, k, B, k, n)
    # f = clamp(f - (J a - aref) / A, -bound, bound)
    step = clamp(force_io[k] - miss / A, -rows.bound[k], rows.bound[k]) - force_io[k] if A > _LEAST else 0.0
    _change(B, k, step, n, force_io, a_io)
    return -step * (miss + 0.5 * A * step)


@inline
def _factor(M, first_out, L_out, inverse_out):
    """Sparse factors of M from tips to base; first_out: where rows of M begin, in whole packs."""
    n, width = M.shape
    for i in range(n):
        copy_row(M, i, width, L_out)
        low = 0
        while low < i - i % PACK and is_zero_pack(load_row(M, i, low)):
            low += PACK
        first_out[i] = low
    reverse_cholesky(n, first_out, L_out, inverse_out)


@inline
def _respond(J, k, work, n, B_out):
    """Row `k` of B = M^-1 J^T, transposed."""
    copy_row(J, k, B_out.shape[1], B_out)
    reverse_cholesky_solve(n, work.L_first, work.slip_L, work.vectors[0], B_out[k])


@inline
def _respond_to_edges(rows, k, work, n, B_out):
    """M^-1 E^T and E of two edges, in rows k and k + 1."""
    for j in range(0, B_out.shape[1], PACK):
        difference = load_row(rows.J, k, j) - load_row(rows.J, k + 1, j)
        store_row(B_out, k, j, difference)
        store_row(B_out, k + 1, j, difference)
    reverse_cholesky_solve(n, work.L_first, work.slip_L, work.vectors[0], B_out[k])


@kernel
def remove_slip(island_rows, M, sweeps, tolerance, work_out, force_io, a_io):
    """Friction forces of an island without slip, and the accelerations they make.

    M: (n, width), symmetric, zero past column n. work_out: `SlipView`; tolerance: cost that a sweep must gain
    to be followed by another [J/s^2 .. scaled by the mean of the diagonal of M times its size]. At most
    O(n^3 / 6 + rows n^2) to prepare, less where trees branch; O(rows n) a sweep.
    """
    rows, frames, island = island_rows.rows, island_rows.frames, island_rows.members
    counter, n, width = island.counter, M.shape[0], M.shape[1]
    B, a = work_out.slip_B, work_out.vectors[1]
    _factor(M, work_out.L_first, work_out.slip_L, work_out.vectors[0])
    trace = 0.0
    for i in range(width):
        a[i] = 0.0
    for i in range(n):
        trace += M[i, i]
        a[i] = a_io[i]

    # responses of the rows that change
    for k in range(counter[ROWS]):
        if rows.kind[k] == FRICTION:
            _respond(rows.J, k, work_out, n, B)
    for i in range(counter[CONTACT_FIRST], counter[CONTACT_END]):
        c = island.contact_order[i]
        first, condim = frames.contact_row[c, 0], frames.contact_row[c, 1]
        if first >= 0 and condim > 1:
            for j in range(condim - 1):
                if rows.kind[first] == CONE:
                    _respond(rows.J, first + 1 + j, work_out, n, B)
                else:
                    _respond_to_edges(rows, first + 2 * j, work_out, n, B)

    for _ in range(sweeps):
        gain = 0.0
        for k in range(counter[ROWS]):
            if rows.kind[k] == FRICTION:
                gain += stop_dry(rows, k, width, B, force_io, a)
        for i in range(counter[CONTACT_FIRST], counter[CONTACT_END]):
            c = island.contact_order[i]
            first, condim = frames.contact_row[c, 0], frames.contact_row[c, 1]
            if first >= 0 and condim > 1:
                if rows.kind[first] == CONE:
                    gain += stop_cone(rows, first, width, B, work_out.slip_work, force_io, a)
                else:
                    for j in range(condim - 1):
                        gain += _stop_difference(rows, first + 2 * j, width, B, force_io, a)
        if gain < tolerance * trace:
            break
    for i in range(n):
        a_io[i] = a[i]
