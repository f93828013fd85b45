# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Projected Gauss-Seidel with over-relaxation for boxed problems with friction index."""

from __future__ import annotations

from worldline._src.jit import kernel
from worldline._src.kernels.lcp.problem import (
    BAD_DIAGONAL,
    LIMIT_REACHED,
    SOLVED,
    bounds_of,
    clamped,
    natural_residual,
    place,
    slack,
)


@kernel
def pgs(problem, relaxation, tolerance, max_iterations, w_out, x_io):
    """Sweep over the rows from the guess in x until the residual is within the tolerance.

    Converges for symmetric positive definite A and relaxation in (0, 2) [Cryer 1971]; friction bounds
    follow their normal rows during the sweep. Needs a positive diagonal. Returns (code, sweeps).
    O(n^2) a sweep.
    """
    A, b = problem.A, problem.b
    n = x_io.shape[0]
    stiffest = 1.0
    for i in range(n):
        if not A[i, i] > 0.0:
            return BAD_DIAGONAL, 0
        stiffest = max(stiffest, A[i, i])

    place(problem, x_io)
    for sweep in range(max_iterations):
        largest_change = 0.0
        for i in range(n):
            # x_i <- clamp(x_i + omega (b_i - A_i x) / A_ii, lo_i, hi_i)
            total = b[i]
            for j in range(n):
                total -= A[i, j] * x_io[j]
            low, high = bounds_of(problem, x_io, i)
            x = clamped(x_io[i] + relaxation * total / A[i, i], low, high)
            largest_change = max(largest_change, abs(x - x_io[i]))
            x_io[i] = x

        # the true residual costs as much as a sweep: look only when the sweep hardly moved
        if not largest_change * stiffest > 10.0 * tolerance:
            slack(problem, x_io, w_out)
            if not natural_residual(problem, x_io, w_out) > tolerance:
                return SOLVED, sweep + 1
    return LIMIT_REACHED, max_iterations
