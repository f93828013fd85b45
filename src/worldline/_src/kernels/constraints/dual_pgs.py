# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Projected Gauss-Seidel for constraint rows in dual form, over a dense Delassus matrix.

Minimises f^T A f / 2 + f^T c over forces f that their kinds allow, with A = J M^-1 J^T + R and
c = J a_smooth - aref: the same problem the primal Newton method solves. Rows are visited one by one; the
rows of an elliptic cone together, by projected gradient steps inside their block.

Generic over the scalar: kinds, dimensions and the number of rows are integers shared by all worlds, and
`active` says in which of them a row counts. A world that has converged is frozen, so that it ends with the
same bits whether it is solved alone or next to others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.projections import onto_cone
from worldline._src.kernels.constraints.rows import CONE, EQUALITY, FRICTION
from worldline._src.scalar.ops import absolute, any_of, clamp, constant, maximum, sqrt, where

BLOCK_STEPS = 4
"""Projected gradient steps in a cone's block before the sweep goes on."""


class DualRows(NamedTuple):
    """Rows in dual form; scalars of the state, but for the integers kind and dim.

    A: (capacity, capacity). c, bound, active: (capacity,). kind, dim: as in `rows.Rows`; the bound of a
    cone's first row is not used. active is 1 for rows that count, 0 for others.
    """

    A: Any
    c: Any
    bound: Any
    active: Any
    kind: Any
    dim: Any


@inline
def _slack(rows, n, force, k):
    """(A f + c)_k."""
    total = rows.c[k]
    for j in range(n):
        total = total + rows.A[k, j] * force[j]
    return total


@inline
def _solve_plain(rows, n, k, frozen, force_io):
    """Minimise over the force of one row; returns how much its slack moved."""
    old = force_io[k]
    new = old - _slack(rows, n, force_io, k) / rows.A[k, k]
    kind = rows.kind[k]
    if kind == FRICTION:
        new = clamp(new, -rows.bound[k], rows.bound[k])
    elif kind != EQUALITY:
        new = maximum(new, 0.0)
    new = where(rows.active[k] > 0.5, new, 0.0)
    new = where(frozen > 0.5, old, new)
    force_io[k] = new
    return absolute(new - old) * rows.A[k, k]


@inline
def _solve_cone(rows, n, k, frozen, local_out, force_io):
    """Steps inside the block of a cone; returns how much its slacks moved.

    In forces over friction coefficients the cone is round. The step is one over a bound on the largest
    eigenvalue of the block in these coordinates, so that every step descends.
    """
    dim = rows.dim[k]
    worst = constant(0.0, frozen)
    for i in range(dim):
        total = constant(0.0, frozen)
        for j in range(dim):
            scale = (1.0 if i == 0 else rows.bound[k + i]) * (1.0 if j == 0 else rows.bound[k + j])
            total = total + absolute(rows.A[k + i, k + j]) * scale
        worst = maximum(worst, total)
        local_out[i] = _slack(rows, n, force_io, k + i)
    step = 1.0 / worst

    moved = constant(0.0, frozen)
    for _ in range(BLOCK_STEPS):
        axial = force_io[k] - step * local_out[0]
        squared = constant(0.0, frozen)
        for i in range(1, dim):
            mu = rows.bound[k + i]
            y = force_io[k + i] / mu - step * mu * local_out[i]
            local_out[6 + i] = y
            squared = squared + y * y
        axial, factor = onto_cone(axial, sqrt(squared))
        local_out[6] = axial
        for i in range(1, dim):
            local_out[6 + i] = local_out[6 + i] * factor * rows.bound[k + i]
        for i in range(dim):
            new = where(rows.active[k] > 0.5, local_out[6 + i], 0.0)
            new = where(frozen > 0.5, force_io[k + i], new)
            change = new - force_io[k + i]
            force_io[k + i] = new
            for j in range(dim):
                local_out[j] = local_out[j] + rows.A[k + j, k + i] * change
            moved = maximum(moved, absolute(change) * rows.A[k + i, k + i])
    return moved


@kernel
def dual_pgs(rows, n, tolerance, sweeps, local_out, sweeps_out, force_io):
    """Sweep from the guess in force_io until no slack moves by more than `tolerance` in a sweep.

    local_out: (12,) scratch. sweeps_out[0]: sweeps this world took; it equals `sweeps` when it has not
    converged. O(n^2) a sweep. Any positive regularizer makes A positive definite and the method converge.
    """
    frozen = constant(0.0, rows.c[0])
    taken = constant(0.0, rows.c[0])
    for k in range(n):
        force_io[k] = where(rows.active[k] > 0.5, force_io[k], 0.0)
    for _ in range(sweeps):
        taken = taken + (1.0 - frozen)
        moved = constant(0.0, frozen)
        k = 0
        while k < n:
            if rows.kind[k] == CONE:
                moved = maximum(moved, _solve_cone(rows, n, k, frozen, local_out, force_io))
                k += rows.dim[k]
            else:
                moved = maximum(moved, _solve_plain(rows, n, k, frozen, force_io))
                k += 1
        frozen = where(moved <= tolerance, 1.0, frozen)
        if not any_of(frozen < 0.5):
            break
    sweeps_out[0] = taken
