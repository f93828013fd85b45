# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Small dense least squares: normal equations, Cholesky's method, and a box of bounds.

Upper triangles are stored by rows. Rows of a task are added over the columns that it depends on.
"""

from __future__ import annotations

from worldline._src.jit import inline
from worldline._src.kernels.inverse_kinematics.tables import FIRST_ROW, KIND, POSTURE, ROWS
from worldline._src.scalar.ops import any_of, clamp, constant, maximum, minimum, sqrt, where

_HUGE = 1e300
_TURNS = 20
"""Changes of the active set that are allowed, for each column and one."""


@inline
def add_normal_equations(problem, chosen, work_io):
    """A += J^T J, upper triangle, and g += J^T r where `chosen` holds, over the columns that tasks depend
    on."""
    J, r, A, g, touch = work_io.J, work_io.r, work_io.A, work_io.g, problem.touch
    for t in range(problem.task.shape[0]):
        row, start, end = problem.task[t, FIRST_ROW], problem.touch_start[t], problem.touch_start[t + 1]
        if problem.task[t, KIND] == POSTURE:
            # a row a column
            for j in range(problem.task[t, ROWS]):
                f = where(chosen, J[row + j, j], constant(0.0, r[row]))
                g[j] = g[j] + f * r[row + j]
                A[j, j] = A[j, j] + f * J[row + j, j]
        else:
            for k in range(row, row + problem.task[t, ROWS]):
                for a in range(start, end):
                    i = touch[a]
                    f = where(chosen, J[k, i], constant(0.0, r[k]))
                    g[i] = g[i] + f * r[k]
                    for b in range(a, end):
                        A[i, touch[b]] = A[i, touch[b]] + f * J[k, touch[b]]


@inline
def leave_out(i, out, one, zero, U_io, x_io):
    """Where `out` holds, replace equation i by x_i = 0: its row and column by those of the identity."""
    x_io[i] = where(out, zero, x_io[i])
    for j in range(i):
        U_io[j, i] = where(out, zero, U_io[j, i])
    for j in range(i + 1, U_io.shape[0]):
        U_io[i, j] = where(out, zero, U_io[i, j])
    U_io[i, i] = where(out, one, U_io[i, i])


@inline
def solve_cholesky(floor, U_io, x_io):
    """x = (U^T U)^-1 x for the symmetric matrix whose upper triangle is given; pivots are at least `floor`.

    The matrix is overwritten by its factor, with the diagonal inverted. O(n^3 / 3).
    """
    n = U_io.shape[0]
    for k in range(n):
        inverse = 1.0 / sqrt(maximum(U_io[k, k], floor))
        U_io[k, k] = inverse
        x_io[k] = x_io[k] * inverse
        for j in range(k + 1, n):
            U_io[k, j] = U_io[k, j] * inverse
        # what is left of the other equations: A_ij -= U_ki U_kj, x_i -= U_ki x_k
        for i in range(k + 1, n):
            f = U_io[k, i]
            x_io[i] = x_io[i] - f * x_io[k]
            for j in range(i, n):
                U_io[i, j] = U_io[i, j] - f * U_io[k, j]
    for i in range(n - 1, -1, -1):
        x = x_io[i]
        for j in range(i + 1, n):
            x = x - U_io[i, j] * x_io[j]
        x_io[i] = x * U_io[i, i]


@inline
def box_least_squares(damping, bounds_io, x_out, work_io):
    """x between low and high that minimizes |J x - b|^2 + damping |x|^2, by the primal active-set method.

    `work_io` has A = J^T J and g = J^T b. The damping is positive, so that the problem is strictly convex
    and the method ends [Nocedal and Wright 2006, ch. 16.5]. Each turn minimizes over the columns that are
    free, goes as far as the first bound in the way and fixes that column; where nothing is in the way the
    bound that holds back the most is released. Bounds are consistent: low <= high.
    """
    A, g, U, step, fixed = work_io.A, work_io.g, work_io.L, work_io.step, bounds_io.fixed
    low, high = bounds_io.least, bounds_io.most
    n = A.shape[0]
    one, zero, huge = constant(1.0, damping), constant(0.0, damping), constant(_HUGE, damping)
    largest = one
    for i in range(n):
        A[i, i] = A[i, i] + damping
        x_out[i] = clamp(zero, low[i], high[i])
        fixed[i] = where((x_out[i] <= low[i]) | (x_out[i] >= high[i]), one, zero)
        largest = maximum(largest, maximum(g[i], -g[i]))
    over = zero
    for _ in range(_TURNS * (n + 1)):
        # step = (A over the free columns)^-1 (g - A x)
        _slope(A, g, x_out, step)
        for i in range(n):
            step[i] = -step[i]
            for j in range(i, n):
                U[i, j] = A[i, j]
        for i in range(n):
            held = fixed[i] > 0.5
            if any_of(held):
                leave_out(i, held, one, zero, U, step)
        solve_cholesky(1e-3 * damping, U, step)

        # as far as the first bound in the way
        share, first = huge, zero - 1.0
        for i in range(n):
            still = step[i] == 0.0
            gap = where(step[i] > 0.0, high[i] - x_out[i], low[i] - x_out[i])
            room = where(still, huge, gap / where(still, one, step[i]))
            nearer = room < share
            share, first = where(nearer, room, share), where(nearer, zero + 1.0 * i, first)
        stops = (share < 1.0) & (over < 0.5)
        ends = (share >= 1.0) & (over < 0.5)
        share = where(over > 0.5, zero, minimum(share, one))
        for i in range(n):
            hit = stops & (first == 1.0 * i)
            x = x_out[i] + share * step[i]
            x_out[i] = where(hit, where(step[i] > 0.0, high[i], low[i]), x)
            fixed[i] = where(hit, one, fixed[i])

        # nothing in the way: release the bound that holds back the most
        _slope(A, g, x_out, step)
        most, worst = zero, zero - 1.0
        for i in range(n):
            pull = where(x_out[i] <= low[i], -step[i], where(x_out[i] >= high[i], step[i], zero))
            pull = where((fixed[i] > 0.5) & (high[i] > low[i]), pull, zero)
            larger = pull > most
            most, worst = where(larger, pull, most), where(larger, zero + 1.0 * i, worst)
        over = where(ends & (most <= 1e-14 * largest), one, over)
        if not any_of(over < 0.5):
            break
        for i in range(n):
            free = ends & (worst == 1.0 * i)
            fixed[i] = where(free, zero, fixed[i])
    for i in range(n):
        x_out[i] = clamp(x_out[i], low[i], high[i])


@inline
def _slope(A, g, x, slope_out):
    """A x - g for a symmetric A whose upper triangle is given."""
    n = A.shape[0]
    for i in range(n):
        slope_out[i] = -g[i]
    for i in range(n):
        total = slope_out[i] + A[i, i] * x[i]
        for j in range(i + 1, n):
            total = total + A[i, j] * x[j]
            slope_out[j] = slope_out[j] + A[i, j] * x[i]
        slope_out[i] = total
