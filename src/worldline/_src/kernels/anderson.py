# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Anderson mixing: fixed-point iterations that learn from the steps they made.

The iteration x <- x + f(x) with f = M^-1 g alone converges when g changes against x nearly as M does; where
it does not, the differences of f some steps later span the directions that were misjudged. On a linear
problem this is GMRES [Walker and Ni 2011]. Lengths are measured by M, the kinetic energy: what M misses
of the equations of motion is skew in that measure, for which such methods always converge. M itself is
not needed, since M f = g. Differences are kept orthonormal, so no least-squares system is solved, and
the same arithmetic runs for every world of a group of lanes.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.scalar.ops import absolute, constant, maximum, sqrt, where

DEPTH = 8
"""Differences that are remembered, rows of the fields mix_; when there are more the memory starts anew."""
_DEPENDENT = 1e-16
"""Square of the part of a difference that must be new for it to be kept."""


@inline
def _row_dot(rows, i, x):
    """Row `i` times a vector."""
    total = constant(0.0, x[0])
    for d in range(x.shape[0]):
        total = total + rows[i, d] * x[d]
    return total


@inline
def _dot(x, y):
    total = constant(0.0, x[0])
    for d in range(x.shape[0]):
        total = total + x[d] * y[d]
    return total


@inline
def _remember(newest, f, g, mix):
    """The last step and the changes of f and g it caused, without what is known already: one more row."""
    n = f.shape[0]
    df, dg, dx = mix.mix_f_last, mix.mix_g_last, mix.mix_x_last
    for d in range(n):
        df[d] = f[d] - df[d]
        dg[d] = g[d] - dg[d]
    before = _dot(df, dg)
    for i in range(newest):
        known = _row_dot(mix.mix_g, i, df)
        for d in range(n):
            df[d] = df[d] - known * mix.mix_f[i, d]
            dg[d] = dg[d] - known * mix.mix_g[i, d]
            dx[d] = dx[d] - known * mix.mix_x[i, d]
    left = _dot(df, dg)
    # M is not quite the same at both ends of a long step; a length that comes out negative is no length
    kept = left > _DEPENDENT * maximum(before, constant(0.0, left))
    size = where(kept, 1.0 / sqrt(where(kept, left, constant(1.0, left))), constant(0.0, left))
    for d in range(n):
        mix.mix_f[newest, d] = size * df[d]
        mix.mix_g[newest, d] = size * dg[d]
        mix.mix_x[newest, d] = size * dx[d]


@kernel
def mix(iteration, f, g, bound, mix_io, step_out):
    """The step that follows from f = M^-1 g and from what earlier steps did to it.

    `iteration` counts from 0 and is the same for all worlds; no entry of the step is beyond `bound`.
    """
    n = f.shape[0]
    rows = (iteration - 1) % DEPTH + 1 if iteration > 0 else 0

    if rows > 0:
        _remember(rows - 1, f, g, mix_io)

    # what the differences explain of f they also say how to remove
    for d in range(n):
        mix_io.mix_f_last[d] = f[d]
        mix_io.mix_g_last[d] = g[d]
        mix_io.mix_x_last[d] = f[d]
    for i in range(rows):
        part = _row_dot(mix_io.mix_g, i, f)
        for d in range(n):
            gain = part * (mix_io.mix_f[i, d] + mix_io.mix_x[i, d])
            mix_io.mix_x_last[d] = mix_io.mix_x_last[d] - gain

    longest = bound
    for d in range(n):
        longest = maximum(longest, absolute(mix_io.mix_x_last[d]))
    for d in range(n):
        mix_io.mix_x_last[d] = mix_io.mix_x_last[d] * (bound / longest)
        step_out[d] = mix_io.mix_x_last[d]
