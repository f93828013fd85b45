# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Newton's method for plain rows of several worlds: guess which rows push, solve, look again.

The potential of equalities, one-sided rows and bounded friction is quadratic in pieces (`rows.py`). Given the
piece that every row is in, accelerations follow from one linear system,

    (M + J^T W J) a = M a_smooth + J^T (W aref + f),

with W the stiffness of rows that are springs and f the force of friction at its bound. Where the solution
lies in the pieces it was made for it is the minimum, to rounding. From the forces of the last step that takes
one or two tries. There is no line search; a world whose pieces go round in circles is left to `dual_pgs.py`.

Generic over the scalar: rows are packed world by world (`packed_rows.py`), and a world that is solved keeps
its answer while others go on.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints import sparse_hessian
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.ops import absolute, any_of, constant, maximum, where

TRIES = 10
"""Most linear systems of a step."""


class SetWork(NamedTuple):
    """Scratch: H (nv, nv), vectors (2 or more, nv), weight, fixed_force and trial (capacity,)."""

    H: Any
    vectors: Any
    weight: Any
    fixed_force: Any
    trial: Any


@inline
def row_piece(rows, k, spring):
    """Weight and constant force of the piece in which a spring of row `k` would have the force `spring`."""
    zero = constant(0.0, spring)
    # a guess at the bound is one that slides
    inside = (spring > rows.low[k]) & (spring < rows.high[k])
    bound = where(spring > 0.0, rows.high[k], rows.low[k])
    return where(inside, rows.D[k], zero), where(inside, zero, bound)


@inline
def _add_forces(rows, n, work, right_io):
    """The right side grows by what rows do in their pieces."""
    for k in range(n):
        work.trial[k] = work.weight[k] * rows.aref[k] + work.fixed_force[k]
    sparse_hessian.add_row_forces(rows, n, work.trial, 1.0, right_io)


@inline
def _look_again(rows, n, a, work_io):
    """Pieces at an acceleration, and the forces there; returns how much pieces changed."""
    changed = constant(0.0, a[0])
    sparse_hessian.row_slacks(rows, n, rows.aref, a, work_io.trial)
    for k in range(n):
        spring = -(rows.D[k] * work_io.trial[k])
        weight, fixed_force = row_piece(rows, k, spring)
        changed = maximum(
            changed, absolute(weight - work_io.weight[k]) + absolute(fixed_force - work_io.fixed_force[k])
        )
        work_io.weight[k], work_io.fixed_force[k] = weight, fixed_force
        work_io.trial[k] = where(weight > 0.0, spring, fixed_force)
    return changed


@kernel
def active_sets(rows, n, M, pattern, done, work_out, tries_out, a_io):
    """Forces and accelerations of `n` packed rows, from the guess in rows.force and the smooth ones in a_io.

    Both stay as they were in worlds that are not solved, and in those that are done before. tries_out[0]:
    systems this world took. pattern: room for that of H. Returns 1 where it is solved, 0 where it is not.
    O((n + nv) w^2) a try, w columns of a row.
    """
    nv = a_io.shape[0]
    # rows of scratch may be padded
    H, smooth, a = work_out.H, work_out.vectors[0], work_out.vectors[1][:nv]
    solved, taken, force = done, constant(0.0, a_io[0]), rows.force
    sparse_hessian.mass_times(M, pattern.above, a_io, smooth)
    sparse_hessian.find_pattern(rows, n, nv, pattern)
    for k in range(n):
        work_out.weight[k], work_out.fixed_force[k] = row_piece(rows, k, force[k])
    for _ in range(TRIES):
        sparse_hessian.start_hessian(M, pattern, H)
        for i in range(nv):
            a[i] = smooth[i]
        sparse_hessian.add_weighted_rows(rows.J, rows, work_out.weight, n, H)
        _add_forces(rows, n, work_out, a)
        sparse_hessian.factor_solve(pattern, H, a)
        taken = taken + (1.0 - solved)
        changed = _look_again(rows, n, a, work_out)
        fresh = where(changed > 0.0, constant(0.0, solved), 1.0 - solved) > 0.5
        for k in range(n):
            force[k] = where(fresh, work_out.trial[k], force[k])
        for d in range(nv):
            a_io[d] = where(fresh, a[d], a_io[d])
        solved = where(fresh, 1.0, solved)
        if not any_of(solved < 0.5):
            break
    tries_out[0] = taken
    return solved
