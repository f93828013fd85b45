# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Projected Gauss-Seidel for constraint rows in dual form, without the matrix of the dual problem.

Minimises f^T A f / 2 + f^T c over forces f that their kinds allow, with A = J M^-1 J^T + R and
c = J a_smooth - aref: the same problem the primal Newton method solves. Rows are visited one by one, those
of an elliptic cone together. What is kept up to date is the acceleration a = a_smooth + K^T f with
K = J M^-1, which makes the slack of a row, (A f + c)_k = J_k a - aref_k + R_k f_k, a short dot product: rows
are longer than the columns they touch.

Cones marked as `coulomb` obey Coulomb's law in place of the convex cone: see `contact/coulomb.py` for how
the two differ. There the fixed point is found by solving again; here every visit updates the correction.

Generic over the scalar: kinds, dimensions and the number of rows are integers shared by all worlds, and
`active` says in which of them a row counts. A world that has converged is frozen, so that it ends with the
same bits whether it is solved alone or next to others.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.jacobians import part_velocity
from worldline._src.kernels.constraints.projections import TINY, onto_cone
from worldline._src.kernels.constraints.rows import CONE, EQUALITY, FRICTION
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.ops import (
    absolute,
    any_of,
    clamp,
    constant,
    is_single,
    maximum,
    minimum,
    sqrt,
    where,
)

BLOCK_STEPS = 4
"""Steps in a cone's block before the sweep goes on."""
ROUNDING_SINGLE = 1e-6
"""Change of a slack that is rounding in single precision, as a share of the largest that a force makes."""


class DualRows(NamedTuple):
    """Rows in dual form; scalars of the state, but for the integers first, end, kind, dim and coulomb.

    J, K: (capacity, width), of which only the columns first to end of a row are looked at. aref, R, bound,
    active: (capacity,). kind, dim: as in `rows.Rows`; the bound of a cone's first row is not used. active is
    1 for rows that count, 0 for others. coulomb: 1 for the first row of a cone that obeys Coulomb's law, 0
    for others.
    """

    J: Any
    K: Any
    first: Any
    end: Any
    aref: Any
    R: Any
    bound: Any
    active: Any
    kind: Any
    dim: Any
    coulomb: Any


class DualOptions(NamedTuple):
    """When to stop: largest change of a slack in a sweep, most sweeps; done: 1 for worlds to leave alone."""

    tolerance: Any
    sweeps: Any
    done: Any


class DualWork(NamedTuple):
    """Scratch: diagonal and step (capacity,), block (capacity, 6), local (24,).

    diagonal: that of A. block: entries of A between the rows of one cone. Block and steps of a cone are in
    forces over friction coefficients, where the cone is round.
    """

    diagonal: Any
    step: Any
    block: Any
    local: Any


@inline
def _slack(rows, k, force, a):
    """(A f + c)_k."""
    return part_velocity(rows.J, k, a, rows.first[k], rows.end[k]) - rows.aref[k] + rows.R[k] * force[k]


@inline
def add_row_force(rows, k, change, a_io):
    """Accelerations after the force of row `k` grew by `change`."""
    if any_of(absolute(change) > 0.0):
        for d in range(rows.first[k], rows.end[k]):
            # a += M^-1 J_k^T df
            a_io[d] = a_io[d] + rows.K[k, d] * change


@inline
def _prepare_cone(rows, k, work_out):
    """Block and steps of the cone that starts with row `k`.

    Steps are such that no step of all directions together goes up: a diagonal matrix with sums of
    |A_ij| w_j / w_i is never below A, whatever the weights w; the roots of A's diagonal make it nearly exact
    where directions answer little to each other. A Coulomb cone takes its normal by itself, by an exact step.
    """
    block, step, dim = work_out.block, work_out.step, rows.dim[k]
    for i in range(dim):
        for j in range(i + 1):
            # A_ij = J_i M^-1 J_j^T + R_i d_ij, scaled by mu_i mu_j: forces f_i / mu_i have a round cone
            entry = part_velocity(rows.J, k + i, rows.K[k + j], rows.first[k], rows.end[k])
            if j == i:
                entry = work_out.diagonal[k + i]
            if i > 0:
                entry = entry * rows.bound[k + i]
            if j > 0:
                entry = entry * rows.bound[k + j]
            block[k + i, j] = entry
            block[k + j, i] = entry
    first = 1 if rows.coulomb[k] > 0 else 0
    for i in range(first, dim):
        # 1 / step_i = sqrt(A_ii) sum_j |A_ij| / sqrt(A_jj)
        total = constant(0.0, block[k, 0])
        for j in range(first, dim):
            total = total + absolute(block[k + i, j]) / sqrt(block[k + j, j])
        step[k + i] = 1.0 / (total * sqrt(block[k + i, i]))


@inline
def prepare_rows(rows, n, work_out):
    """The diagonal of A, blocks of cones and steps; a plain row's step is one over its diagonal."""
    for k in range(n):
        # A_kk = J_k M^-1 J_k^T + R_k
        total = part_velocity(rows.J, k, rows.K[k], rows.first[k], rows.end[k]) + rows.R[k]
        work_out.diagonal[k] = total
        work_out.step[k] = 1.0 / total
    k = 0
    while k < n:
        if rows.kind[k] == CONE:
            _prepare_cone(rows, k, work_out)
            k += rows.dim[k]
        else:
            k += 1


@inline
def damp_cones(rows, n, damping, work_io):
    """Make visits of cones go part of the way; rows are prepared before, and again to end it.

    Each visit then solves A + damping diag(A) for the change of its forces, so that sweeps which have ended
    are solutions of A all the same: a proximal point step a visit [Rockafellar 1976].
    """
    k = 0
    while k < n:
        if rows.kind[k] == CONE:
            for j in range(k, k + rows.dim[k]):
                work_io.diagonal[j] = (1.0 + damping) * work_io.diagonal[j]
                work_io.step[j] = 1.0 / work_io.diagonal[j]
            _prepare_cone(rows, k, work_io)
            k += rows.dim[k]
        else:
            k += 1


@inline
def _allowed(rows, k, frozen, old, new):
    """The new force where the row counts and its world is not done."""
    new = where(rows.active[k] > 0.5, new, constant(0.0, new))
    return where(frozen > 0.5, old, new)


@inline
def _solve_plain(rows, k, frozen, work, force_io, a_io):
    """Minimise over the force of one row; returns how much its slack moved."""
    old = force_io[k]
    # f_k = proj(f_k - (A f + c)_k / A_kk)
    new = old - _slack(rows, k, force_io, a_io) * work.step[k]
    kind = rows.kind[k]
    if kind == FRICTION:
        new = clamp(new, -rows.bound[k], rows.bound[k])
    elif kind != EQUALITY:
        new = maximum(new, 0.0)
    new = _allowed(rows, k, frozen, old, new)
    force_io[k] = new
    add_row_force(rows, k, new - old, a_io)
    return absolute(new - old) * work.diagonal[k]


# a visit of a cone has in `local`, in round coordinates: slacks, forces, and those it began with
_FORCE, _FIRST_SLACK, _FIRST_FORCE = 6, 12, 18


@inline
def _move_friction(rows, k, axial, work_io):
    """Friction after a step, by steps of its own where that stays in the cone, else by a common one.

    Only with a common step is the round cone still round in the metric of the steps. Returns that step and
    the length of friction.
    """
    dim, local, step = rows.dim[k], work_io.local, work_io.step
    side, squared = step[k + 1], constant(0.0, axial)
    for i in range(1, dim):
        side = minimum(side, step[k + i])
        y = local[_FORCE + i] - step[k + i] * local[i]
        squared = squared + y * y
    # |f_t| <= f_n in round coordinates
    sticks = squared <= axial * absolute(axial)
    squared = constant(0.0, axial)
    for i in range(1, dim):
        y = local[_FORCE + i] - where(sticks, step[k + i], side) * local[i]
        local[_FORCE + i] = y
        squared = squared + y * y
    return side, sqrt(squared)


@inline
def _convex_step(rows, k, work_io):
    """A projected gradient step of a cone in the metric of its steps, which only changes the cone's slope."""
    local, step = work_io.local, work_io.step[k]
    # f = proj_K(f - step w), w the slacks
    axial = local[_FORCE] - step * local[0]
    side, length = _move_friction(rows, k, axial, work_io)
    axial, factor = onto_cone(axial, length, step / side)
    local[_FORCE] = axial
    for i in range(1, rows.dim[k]):
        local[_FORCE + i] = local[_FORCE + i] * factor


@inline
def _coulomb_step(rows, k, work_io):
    """The normal force for the friction of now, then a step of friction within what that allows.

    The normal sees its slack without the dilation of the convex cone, but for the part that comes from
    regularized friction, as it does where the cone is solved and the dilation taken off.
    """
    dim, local = rows.dim[k], work_io.local
    given, yielding = constant(0.0, local[0]), constant(0.0, local[0])
    for i in range(1, dim):
        mu, w = rows.bound[k + i], local[i]
        # |w - R f|: slip velocity without the regularizer of friction
        x = w - mu * mu * rows.R[k + i] * local[_FORCE + i]
        given, yielding = given + w * w, yielding + x * x
    old = local[_FORCE]
    # De Saxce correction: w_n + |w_t without R| - |w_t|;  f_n = max(f_n - step w_n, 0)
    axial = maximum(old - (local[0] + sqrt(yielding) - sqrt(given)) * work_io.step[k], 0.0)
    local[_FORCE] = axial
    for i in range(1, dim):
        local[i] = local[i] + work_io.block[k + i, 0] * (axial - old)
    _, length = _move_friction(rows, k, axial, work_io)
    # |f_t| <= f_n: scale friction back to the cone
    factor = where(length > axial, axial / maximum(length, TINY), constant(1.0, length))
    for i in range(1, dim):
        local[_FORCE + i] = local[_FORCE + i] * factor


@inline
def _begin_cone(rows, k, force, a, local_out):
    """Slacks and forces of a cone in round coordinates."""
    local_out[0], local_out[_FORCE] = _slack(rows, k, force, a), force[k]
    for i in range(1, rows.dim[k]):
        mu = rows.bound[k + i]
        local_out[i], local_out[_FORCE + i] = mu * _slack(rows, k + i, force, a), force[k + i] / mu
    for i in range(rows.dim[k]):
        local_out[_FIRST_SLACK + i], local_out[_FIRST_FORCE + i] = local_out[i], local_out[_FORCE + i]


@inline
def _follow(rows, k, work_io):
    """Slacks of the block for the forces in `local`."""
    dim, local, block = rows.dim[k], work_io.local, work_io.block
    for i in range(dim):
        # w = w_0 + A (f - f_0)
        total = local[_FIRST_SLACK + i]
        for j in range(dim):
            total = total + block[k + i, j] * (local[_FORCE + j] - local[_FIRST_FORCE + j])
        local[i] = total


@inline
def _solve_cone(rows, k, frozen, work_io, force_io, a_io):
    """Steps inside the block of a cone; returns how much its slacks moved."""
    dim, local = rows.dim[k], work_io.local
    _begin_cone(rows, k, force_io, a_io, local)
    for s in range(BLOCK_STEPS):
        if s > 0:
            _follow(rows, k, work_io)
        if rows.coulomb[k] > 0:
            _coulomb_step(rows, k, work_io)
        else:
            _convex_step(rows, k, work_io)
    moved = constant(0.0, frozen)
    for i in range(dim):
        new, old = local[_FORCE + i], force_io[k + i]
        if i > 0:
            new = new * rows.bound[k + i]
        new = _allowed(rows, k, frozen, old, new)
        force_io[k + i] = new
        add_row_force(rows, k + i, new - old, a_io)
        moved = maximum(moved, absolute(new - old) * work_io.diagonal[k + i])
    return moved


@inline
def visit_rows(rows, first, end, frozen, work_io, force_io, a_io):
    """Visit rows `first` to end - 1 once, whole cones; returns how much slacks moved."""
    moved = constant(0.0, frozen)
    k = first
    while k < end:
        if rows.kind[k] == CONE:
            moved = maximum(moved, _solve_cone(rows, k, frozen, work_io, force_io, a_io))
            k += rows.dim[k]
        else:
            moved = maximum(moved, _solve_plain(rows, k, frozen, work_io, force_io, a_io))
            k += 1
    return moved


@inline
def sweep_rows(rows, n, frozen, work_io, force_io, a_io):
    """Visit all rows once; returns how much slacks moved."""
    return visit_rows(rows, 0, n, frozen, work_io, force_io, a_io)


@inline
def _enough(n, options, work, force):
    """Change of a slack that ends sweeps: the tolerance, in single precision at least that by rounding."""
    enough = constant(options.tolerance, force[0])
    if is_single(enough):
        for k in range(n):
            # A_kk f_k, the change of the slack by the force of a row
            enough = maximum(enough, ROUNDING_SINGLE * absolute(work.diagonal[k] * force[k]))
    return enough


@kernel
def dual_pgs(rows, n, options, work_out, sweeps_out, force_io, a_io):
    """Sweep from the guess in force_io until no slack moves by more than a tolerance in a sweep.

    a_io: the accelerations without rows, then those with their forces. sweeps_out[0]: sweeps this world took.
    Returns 1 where it has not converged, 0 where it has. O(n) times the columns of a row a sweep. Any
    positive regularizer makes A positive definite and the method converge where no cone is marked `coulomb`.
    """
    frozen = options.done
    zero = constant(0.0, force_io[0])
    taken = zero
    prepare_rows(rows, n, work_out)
    for k in range(n):
        force_io[k] = where(rows.active[k] > 0.5, force_io[k], zero)
        # forces of worlds that are done are in their accelerations
        add_row_force(rows, k, where(frozen > 0.5, zero, force_io[k]), a_io)
    for _ in range(options.sweeps):
        taken = taken + (1.0 - frozen)
        moved = sweep_rows(rows, n, frozen, work_out, force_io, a_io)
        frozen = where(moved <= _enough(n, options, work_out, force_io), 1.0, frozen)
        if not any_of(frozen < 0.5):
            break
    sweeps_out[0] = taken
    return 1.0 - frozen
