# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What every LCP kernel shares: the problem as arrays, bounds, outcome codes and the residual.

A boxed problem with friction index asks for x and w = A x - b such that every row i has

    x_i = lo_i and w_i >= 0,   or   x_i = hi_i and w_i <= 0,   or   lo_i <= x_i <= hi_i and w_i = 0.

Rows with findex[i] = f >= 0 have their bounds multiplied by |x_f|: a friction row, bounded by the force
of its contact's normal row. The kernels know matrices and nothing of what they stand for.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel
from worldline._src.named_tuple import NamedTuple

INFINITY = float("inf")

# how a kernel ended
SOLVED, LIMIT_REACHED, RAY, SINGULAR, BAD_DIAGONAL = 0, 1, 2, 3, 4

# where a row stands
FREE, AT_LOW, AT_HIGH, UNDECIDED = 0, 1, 2, 3


class Problem(NamedTuple):
    """The arrays of a problem: A (n, n), b, lo, hi (n,), findex (n,) of int64."""

    A: Any
    b: Any
    lo: Any
    hi: Any
    findex: Any


class Measure(NamedTuple):
    """How well x solves a problem; see `measure`."""

    residual: float
    complementarity: float
    bound_violation: float


@inline
def bounds_of(problem, x, i):
    """Bounds of row `i` as they stand with `x`."""
    f = problem.findex[i]
    if f < 0:
        return problem.lo[i], problem.hi[i]
    # lo |x_f| <= x_i <= hi |x_f|
    reach = abs(x[f])
    return problem.lo[i] * reach, problem.hi[i] * reach


@inline
def clamped(x, low, high):
    """`x` moved into [low, high]."""
    return max(low, min(x, high))


@kernel
def slack(problem, x, w_out):
    """w = A x - b. O(n^2)."""
    A, b = problem.A, problem.b
    for i in range(b.shape[0]):
        total = -b[i]
        for j in range(b.shape[0]):
            total += A[i, j] * x[j]
        w_out[i] = total


@inline
def natural_residual(problem, x, w):
    """max_i |x_i - clamp(x_i - w_i, lo_i, hi_i)|: zero exactly at solutions. NaN is passed on."""
    worst = 0.0
    for i in range(x.shape[0]):
        low, high = bounds_of(problem, x, i)
        r = abs(x[i] - clamped(x[i] - w[i], low, high))
        if not r <= worst:
            worst = r
    return worst


@kernel
def measure(problem, x, w_out):
    """Slack, residual, complementarity and bound violation of `x`.

    Complementarity is the largest |w_i| times the distance of x_i to the bound that w_i pushes to; where
    that bound is at infinity it is |w_i| itself, which must vanish.
    """
    slack(problem, x, w_out)
    gap = 0.0
    outside = 0.0
    for i in range(x.shape[0]):
        low, high = bounds_of(problem, x, i)
        outside = max(outside, max(low - x[i], x[i] - high))
        # |w_i| times the way to the bound that w_i pushes to
        push = w_out[i]
        room = x[i] - low if push > 0.0 else high - x[i]
        gap = max(gap, abs(push) * (abs(room) if room < INFINITY else 1.0))
    return Measure(natural_residual(problem, x, w_out), gap, outside)


@kernel
def place(problem, x_io):
    """Move `x` into its bounds: first the rows others depend on, then friction rows."""
    n = x_io.shape[0]
    for i in range(n):
        if problem.findex[i] < 0:
            x_io[i] = clamped(x_io[i], problem.lo[i], problem.hi[i])
    for i in range(n):
        if problem.findex[i] >= 0:
            low, high = bounds_of(problem, x_io, i)
            x_io[i] = clamped(x_io[i], low, high)
