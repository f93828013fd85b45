# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The solution that belongs to a guessed set of active bounds, from the problem's own numbers.

Pivoting methods update a tableau and gather rounding errors; solving once more with the rows they found
free removes them. It is also what makes friction rows exact: a sliding row moves with its normal row.
"""

from __future__ import annotations

from worldline._src.jit import kernel
from worldline._src.kernels.lcp.elimination import eliminate
from worldline._src.kernels.lcp.problem import AT_LOW, FREE


@kernel
def solve_active(problem, state, x, G_out, x_out):
    """Free rows get w = 0, the others sit on their bounds; False when that system is singular.

    A friction row at a bound stays in proportion to its normal row, whose sign is taken from `x`.
    """
    A, b, findex = problem.A, problem.b, problem.findex
    n = b.shape[0]
    for i in range(n):
        if state[i] == FREE:
            for j in range(n):
                # free: A_i x = b_i
                G_out[i, j] = A[i, j]
            x_out[i] = b[i]
        else:
            for j in range(n):
                G_out[i, j] = 0.0
            G_out[i, i] = 1.0
            # at a bound: x_i = bound, or x_i - bound |x_f| = 0 for friction
            bound = problem.lo[i] if state[i] == AT_LOW else problem.hi[i]
            f = findex[i]
            if f < 0:
                x_out[i] = bound
            else:
                G_out[i, f] = -bound if x[f] >= 0.0 else bound
                x_out[i] = 0.0
    return eliminate(G_out, x_out)
