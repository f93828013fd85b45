# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Lemke's complementary pivoting for problems with lower bounds only."""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.lcp.problem import LIMIT_REACHED, RAY, SOLVED


@inline
def _pivot(T_io, row, column):
    """Make `column` a unit column with its one in `row`."""
    pivot = T_io[row]
    # row /= pivot;  every other row -= its entry of the column times that row
    inverse = 1.0 / pivot[column]
    for j in range(pivot.shape[0]):
        pivot[j] *= inverse
    pivot[column] = 1.0
    for i in range(T_io.shape[0]):
        # rows as arrays of their own: the compiler then sees that they do not overlap, and vectorises
        target = T_io[i]
        factor = target[column]
        if i != row and factor != 0.0:
            for j in range(pivot.shape[0]):
                target[j] -= factor * pivot[j]
            target[column] = 0.0


@inline
def _leaving_row(T, basis, entering, smallest_pivot):
    """The row whose variable reaches zero first, ties broken lexicographically; -1 for none.

    Comparing ratios of the slack columns after those of the right-hand side is what keeps degenerate
    problems from cycling [Cottle, Pang, Stone 2009, section 4.9]. The artificial variable wins ties.
    """
    n = T.shape[0]
    artificial, rhs = 2 * n, 2 * n + 1
    best = -1
    for i in range(n):
        if T[i, entering] <= smallest_pivot:
            continue
        if best < 0:
            best = i
            continue
        column = rhs
        for step in range(n + 1):
            # ratio test: min of T[i, rhs] / T[i, entering], then of the slack columns in order
            a = T[i, column] / T[i, entering]
            c = T[best, column] / T[best, entering]
            close = 1e-12 * (1.0 + abs(a) + abs(c))
            if column == rhs and abs(a - c) <= close:
                if basis[best] == artificial:
                    break
                if basis[i] == artificial:
                    best = i
                    break
            if a < c - close:
                best = i
                break
            if a > c + close:
                break
            column = step
    return best


@kernel
def lemke(problem, max_iterations, T_out, basis_out, x_out):
    """Solve x >= lo, w >= 0, (x - lo) w = 0 [Cottle, Pang, Stone 2009, section 4.4].

    T_out is (n, 2 n + 2): columns of w, of z = x - lo, of the artificial variable, and the right-hand
    side of w - A z - e z0 = q. Processes every copositive-plus matrix (all monotone problems) and every
    P-matrix; ends on a ray otherwise, or when there is no solution. Returns (code, pivots).
    """
    A, b, lo = problem.A, problem.b, problem.lo
    n = b.shape[0]
    artificial, rhs = 2 * n, 2 * n + 1

    # tableau with the slacks basic; the most negative right-hand side leaves first
    row = -1
    largest = 0.0
    for i in range(n):
        # q = A lo - b,  [I, -A, -e | q]
        q = -b[i]
        for j in range(n):
            q += A[i, j] * lo[j]
            T_out[i, j] = 0.0
            T_out[i, n + j] = -A[i, j]
            largest = max(largest, abs(A[i, j]))
        T_out[i, i] = 1.0
        T_out[i, artificial] = -1.0
        T_out[i, rhs] = q
        basis_out[i] = i
        x_out[i] = lo[i]
        if q < 0.0 and (row < 0 or q <= T_out[row, rhs]):
            row = i
    if row < 0:
        return SOLVED, 0

    smallest_pivot = 1e-11 * max(1.0, largest)
    entering = artificial
    code = LIMIT_REACHED
    pivots = 0
    while pivots < max_iterations:
        _pivot(T_out, row, entering)
        leaving = basis_out[row]
        basis_out[row] = entering
        pivots += 1
        if leaving == artificial:
            code = SOLVED
            break
        # complementary pivot rule: the partner of what left enters
        entering = leaving + n if leaving < n else leaving - n
        row = _leaving_row(T_out, basis_out, entering, smallest_pivot)
        if row < 0:
            code = RAY
            break

    # x = lo + z, basic variables from the right-hand side
    for i in range(n):
        if n <= basis_out[i] < artificial:
            x_out[basis_out[i] - n] = lo[basis_out[i] - n] + T_out[i, rhs]
    return code, pivots
