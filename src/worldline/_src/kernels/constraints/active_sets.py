# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Newton's method for plain rows of several worlds: guess which rows push, solve, look again.

The potential of equalities, one-sided rows and bounded friction is quadratic in pieces (`rows.py`). Given the
piece that every row is in, accelerations follow from one linear system,

    (M + J^T W J) a = M a_smooth + J^T (W aref + f),

with W the stiffness of rows that are springs and f the force of friction at its bound. Where the solution
lies in the pieces it was made for it is the minimum, to rounding. From the forces of the last step that takes
one or two tries. There is no line search; a world whose pieces go round in circles is left to `dual_pgs.py`.

Generic over the scalar: a world that is solved keeps its answer while others go on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.rows import EQUALITY, FRICTION
from worldline._src.scalar.ops import absolute, any_of, constant, maximum, sqrt, where

TRIES = 10
"""Most linear systems of a step."""


class PlainRows(NamedTuple):
    """Rows without cones; of J the columns first to end are looked at. active: 1 where a row counts."""

    J: Any
    first: Any
    end: Any
    aref: Any
    D: Any
    bound: Any
    active: Any
    kind: Any


class SetWork(NamedTuple):
    """Scratch: H (nv, nv), vectors (2 or more, nv), weight, fixed_force and trial (capacity,)."""

    H: Any
    vectors: Any
    weight: Any
    fixed_force: Any
    trial: Any


@inline
def _piece(rows, k, spring):
    """Weight and constant force of the piece in which a spring of row `k` would have the force `spring`."""
    D, zero = rows.D[k], constant(0.0, spring)
    weight, fixed_force = D, zero
    if rows.kind[k] == FRICTION:
        bound = rows.bound[k]
        # a guess at the bound is one that slides
        inside = absolute(spring) < bound
        weight, fixed_force = where(inside, D, zero), where(inside, zero, where(spring > 0.0, bound, -bound))
    elif rows.kind[k] != EQUALITY:
        weight = where(spring > 0.0, D, zero)
    counts = rows.active[k] > 0.5
    return where(counts, weight, zero), where(counts, fixed_force, zero)


@inline
def _add_rows(rows, n, work_io):
    """H and the right side grow by what rows do in their pieces."""
    H, right = work_io.H, work_io.vectors[1]
    for k in range(n):
        w, f = work_io.weight[k], work_io.fixed_force[k]
        if any_of(w + absolute(f) > 0.0):
            total = w * rows.aref[k] + f
            for i in range(rows.first[k], rows.end[k]):
                right[i] = right[i] + rows.J[k, i] * total
                x = w * rows.J[k, i]
                for j in range(rows.first[k], i + 1):
                    H[i, j] = H[i, j] + x * rows.J[k, j]


@inline
def _solve(H, x_io):
    """x = H^-1 x by Cholesky's method in place, lower triangle; the diagonal is left inverted."""
    n = x_io.shape[0]
    for k in range(n):
        inverse = 1.0 / sqrt(H[k, k])
        H[k, k] = inverse
        for i in range(k + 1, n):
            H[i, k] = H[i, k] * inverse
        for i in range(k + 1, n):
            x = H[i, k]
            for j in range(k + 1, i + 1):
                H[i, j] = H[i, j] - x * H[j, k]
        y = x_io[k] * inverse
        x_io[k] = y
        for i in range(k + 1, n):
            x_io[i] = x_io[i] - H[i, k] * y
    for k in range(n - 1, -1, -1):
        y = x_io[k] * H[k, k]
        x_io[k] = y
        for i in range(k):
            x_io[i] = x_io[i] - H[k, i] * y


@inline
def _look_again(rows, n, a, work_io):
    """Pieces at an acceleration, and the forces there; returns how much pieces changed."""
    changed = constant(0.0, a[0])
    for k in range(n):
        slack = -rows.aref[k]
        for d in range(rows.first[k], rows.end[k]):
            slack = slack + rows.J[k, d] * a[d]
        spring = -(rows.D[k] * slack)
        weight, fixed_force = _piece(rows, k, spring)
        changed = maximum(
            changed, absolute(weight - work_io.weight[k]) + absolute(fixed_force - work_io.fixed_force[k])
        )
        work_io.weight[k], work_io.fixed_force[k] = weight, fixed_force
        work_io.trial[k] = where(weight > 0.0, spring, fixed_force)
    return changed


@inline
def _mass_times(M, x, y_out):
    """y = M x from the lower triangle."""
    for i in range(x.shape[0]):
        y_out[i] = M[i, i] * x[i]
    for i in range(x.shape[0]):
        for j in range(i):
            y_out[i] = y_out[i] + M[i, j] * x[j]
            y_out[j] = y_out[j] + M[i, j] * x[i]


@kernel
def active_sets(rows, n, M, done, work_out, tries_out, force_io, a_io):
    """Forces and accelerations of `n` plain rows, from the guess in force_io and the smooth ones in a_io.

    Both stay as they were in worlds that are not solved, and in those that are done before. tries_out[0]:
    systems this world took. Returns 1 where it is solved, 0 where it is not. O(n w^2 + nv^3) a try, w columns
    of a row.
    """
    nv = a_io.shape[0]
    # rows of scratch may be padded
    H, smooth, a = work_out.H, work_out.vectors[0], work_out.vectors[1][:nv]
    solved, taken = done, constant(0.0, a_io[0])
    _mass_times(M, a_io, smooth)
    for k in range(n):
        work_out.weight[k], work_out.fixed_force[k] = _piece(rows, k, force_io[k])
    for _ in range(TRIES):
        for i in range(nv):
            a[i] = smooth[i]
            for j in range(i + 1):
                H[i, j] = M[i, j]
        _add_rows(rows, n, work_out)
        _solve(H, a)
        taken = taken + (1.0 - solved)
        changed = _look_again(rows, n, a, work_out)
        fresh = where(changed > 0.0, constant(0.0, solved), 1.0 - solved) > 0.5
        for k in range(n):
            force_io[k] = where(fresh, work_out.trial[k], force_io[k])
        for d in range(nv):
            a_io[d] = where(fresh, a[d], a_io[d])
        solved = where(fresh, 1.0, solved)
        if not any_of(solved < 0.5):
            break
    tries_out[0] = taken
    return solved
