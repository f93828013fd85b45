# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rows whose force is bounded on both sides, not alike.

Solvers know forces of any sign, |force| <= bound and force >= 0. A force f within [lower, upper] is a
constant part c, which acts before rows are solved, and what a row adds to it:

    both finite      c = (lower + upper) / 2    FRICTION     f = c + g, |g| <= (upper - lower) / 2
    lower alone      c = lower                  UNILATERAL   f = c + g, g >= 0
    upper alone      c = upper                  UNILATERAL   f = c - g, g >= 0, along minus the row
    neither          c = 0                      FRICTION     f = g, without a bound

The row wants J a + R f = aref, hence J a + R g = aref - R c.
"""

from __future__ import annotations

from worldline._src.jit import inline
from worldline._src.kernels.constraints.rows import FRICTION, UNILATERAL
from worldline._src.scalar.ops import constant, shared

OPEN = 1e300
"""Bounds beyond this are none."""


@inline
def constant_part(lower, upper):
    """The constant part of a force within bounds."""
    # worlds with bounds of their own agree on which there are
    has_lower, has_upper = shared(lower) > -OPEN, shared(upper) < OPEN
    if has_lower and has_upper:
        return 0.5 * (lower + upper)
    if has_lower:
        return 1.0 * lower
    if has_upper:
        return 1.0 * upper
    return constant(0.0, lower)


@inline
def whole_force(lower, upper, g):
    """The force within bounds, of its row's force."""
    c = constant_part(lower, upper)
    if shared(lower) <= -OPEN and shared(upper) < OPEN:
        return c - g
    return c + g


@inline
def bound_row(lower, upper, aref, R, n, rows_io):
    """Finish row `n`, whose Jacobian is written, with a force within bounds."""
    wanted = aref - R * constant_part(lower, upper)
    rows_io.D[n], rows_io.dim[n] = 1.0 / R, 0
    rows_io.aref[n], rows_io.kind[n], rows_io.bound[n] = wanted, FRICTION, 0.5 * upper - 0.5 * lower
    if (shared(lower) > -OPEN) != (shared(upper) < OPEN):
        rows_io.kind[n], rows_io.bound[n] = UNILATERAL, 0.0
        if shared(upper) < OPEN:
            rows_io.aref[n] = -wanted
            for j in range(rows_io.J.shape[1]):
                rows_io.J[n, j] = -rows_io.J[n, j]
