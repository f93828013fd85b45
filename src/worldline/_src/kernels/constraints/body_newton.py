# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Newton's method for rows of two free bodies, with conjugate gradients in the place of a factorisation.

The problem, the line search and the stopping rules are those of `newton.py`. The Hessian M + J^T D J has a
(6, 6) block for every body and one for every contact, and directions are solved for by conjugate gradients
with the inverse blocks of the bodies as preconditioner. Contacts of the impedance model yield enough for
that: a row moves by its force in the measure of its body's inertia. Memory is linear in bodies and contacts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.body_blocks import (
    BODY_COLUMNS,
    HESSIAN,
    INVERSE_HESSIAN,
    MASS,
    SIDE,
    SQUARE,
    invert_block,
    load_side,
    row_count,
    side_column,
    side_tree,
)
from worldline._src.kernels.constraints.cone import cone_measures, sliding_hessian
from worldline._src.kernels.constraints.newton import GENTLE, ROUGH, NewtonStats, line_search
from worldline._src.kernels.constraints.row_forces import first_plain, row_forces
from worldline._src.kernels.constraints.tables import CONTACT_END, CONTACT_FIRST, ROWS, TREE_END, TREE_FIRST
from worldline._src.scalar.ops import sqrt

DIRECTION = 1e-4
"""What conjugate gradients leave of the gradient in one Newton step, in the norm of the preconditioner."""
MOST_DIRECTIONS = 400
"""Most conjugate gradients of a Newton step; the line search takes what there is by then."""


class BodyNewtonWork(NamedTuple):
    """Scratch: vectors (8, columns), slack (5, rows), blocks between bodies (contacts, 36), and of a contact:
    C (6, 6), local (12,)."""

    vectors: Any
    slack: Any
    between: Any
    C: Any
    local: Any


@inline
def _times_block(trees, island, at, x, y_out):
    """y = B x with the matrices of bodies that begin at `at` among their blocks."""
    for i in range(island.counter[TREE_FIRST], island.counter[TREE_END]):
        t = island.island_tree[i]
        first = trees.column[trees.tree_dof[t]]
        for j in range(SIDE):
            total = 0.0
            for k in range(SIDE):
                total += trees.block[t, at + SIDE * j + k] * x[first + k]
            y_out[first + j] = total


@inline
def _row_motions(trees, island_rows, x, local, y_out):
    """y = J x."""
    rows, frames, island = island_rows.rows, island_rows.frames, island_rows.members
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        c = island.contact_order[i]
        first = frames.contact_row[c, 0]
        if first >= 0:
            load_side(x, side_column(trees, c, 0), 0, local)
            load_side(x, side_column(trees, c, 1), SIDE, local)
            for k in range(first, first + row_count(rows, first, frames.contact_row[c, 1])):
                total = 0.0
                for j in range(BODY_COLUMNS):
                    total += rows.J[k, j] * local[j]
                y_out[k] = total


@inline
def _take_forces(trees, island_rows, force, y_io):
    """y -= J^T f."""
    rows, frames, island = island_rows.rows, island_rows.frames, island_rows.members
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        c = island.contact_order[i]
        first = frames.contact_row[c, 0]
        if first >= 0:
            for k in range(first, first + row_count(rows, first, frames.contact_row[c, 1])):
                f = force[k]
                if f != 0.0:
                    for side in range(2):
                        at = side_column(trees, c, side)
                        if at >= 0:
                            for j in range(SIDE):
                                y_io[at + j] -= f * rows.J[k, SIDE * side + j]


@inline
def _add_product(J, k, x, a, b, c, block_io, between_io):
    """H += J_k^T x: blocks of trees `a` and `b`, and the one between them of contact `c`."""
    for i in range(SIDE):
        u, w = J[k, i], J[k, SIDE + i]
        for j in range(SIDE):
            if a >= 0:
                block_io[a, HESSIAN + SIDE * i + j] += u * x[j]
            if b >= 0:
                block_io[b, HESSIAN + SIDE * i + j] += w * x[SIDE + j]
            between_io[c, SIDE * i + j] += u * x[SIDE + j]


@kernel
def _assemble(trees, island_rows, jar, weight, work_out):
    """Blocks of M + J^T D J for the present weights of springs and sliding cones, and the preconditioner."""
    rows, frames, island = island_rows.rows, island_rows.frames, island_rows.members
    block, between, local = trees.block, work_out.between, work_out.local
    for i in range(island.counter[TREE_FIRST], island.counter[TREE_END]):
        t = island.island_tree[i]
        for j in range(SQUARE):
            block[t, HESSIAN + j] = block[t, MASS + j]
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        c = island.contact_order[i]
        first = frames.contact_row[c, 0]
        if first < 0:
            continue
        a, b = side_tree(trees, c, 0), side_tree(trees, c, 1)
        for j in range(SQUARE):
            between[c, j] = 0.0
        if weight[first] < 0.0:
            # a sliding cone: J^T C J
            _, N, T = cone_measures(rows, first, jar)
            dim, C = rows.dim[first], work_out.C
            sliding_hessian(rows, first, jar, N, T, C)
            for r in range(dim):
                for j in range(BODY_COLUMNS):
                    total = 0.0
                    for s in range(dim):
                        total += C[r, s] * rows.J[first + s, j]
                    local[j] = total
                _add_product(rows.J, first + r, local, a, b, c, block, between)
        else:
            for k in range(first, first + row_count(rows, first, frames.contact_row[c, 1])):
                if weight[k] > 0.0:
                    for j in range(BODY_COLUMNS):
                        local[j] = weight[k] * rows.J[k, j]
                    _add_product(rows.J, k, local, a, b, c, block, between)
    for i in range(island.counter[TREE_FIRST], island.counter[TREE_END]):
        invert_block(island.island_tree[i], HESSIAN, INVERSE_HESSIAN, block)


@inline
def _times_hessian(trees, island_rows, between, x, y_out):
    """y = H x."""
    frames, island = island_rows.frames, island_rows.members
    _times_block(trees, island, HESSIAN, x, y_out)
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        c = island.contact_order[i]
        a, b = side_column(trees, c, 0), side_column(trees, c, 1)
        if frames.contact_row[c, 0] >= 0 and a >= 0 and b >= 0:
            for j in range(SIDE):
                total = 0.0
                for k in range(SIDE):
                    total += between[c, SIDE * j + k] * x[b + k]
                    y_out[b + k] += between[c, SIDE * j + k] * x[a + j]
                y_out[a + j] += total


@inline
def _dot(x, y, n):
    total = 0.0
    for i in range(n):
        total += x[i] * y[i]
    return total


@kernel
def _direction(trees, island_rows, gradient, work_out, p_out):
    """p of H p = -gradient, by preconditioned conjugate gradients [Hestenes, Stiefel 1952]."""
    island, n = island_rows.members, gradient.shape[0]
    r, z, s, Hs = work_out.vectors[4], work_out.vectors[5], work_out.vectors[6], work_out.vectors[7]
    for i in range(n):
        p_out[i], r[i] = 0.0, -gradient[i]
    _times_block(trees, island, INVERSE_HESSIAN, r, z)
    for i in range(n):
        s[i] = z[i]
    now = _dot(r, z, n)
    enough = DIRECTION * DIRECTION * now
    for _ in range(MOST_DIRECTIONS):
        if now <= enough:
            break
        _times_hessian(trees, island_rows, work_out.between, s, Hs)
        step = now / _dot(s, Hs, n)
        for i in range(n):
            p_out[i] += step * s[i]
            r[i] -= step * Hs[i]
        _times_block(trees, island, INVERSE_HESSIAN, r, z)
        before, now = now, _dot(r, z, n)
        for i in range(n):
            s[i] = z[i] + now / before * s[i]


@inline
def _worst(trees, island, gradient):
    """Largest |gradient_i| / M_ii, and the sum of gradient_i^2 / M_ii."""
    worst, total = 0.0, 0.0
    for i in range(island.counter[TREE_FIRST], island.counter[TREE_END]):
        t = island.island_tree[i]
        first = trees.column[trees.tree_dof[t]]
        for j in range(SIDE):
            mass = trees.block[t, MASS + (SIDE + 1) * j]
            worst = max(worst, abs(gradient[first + j]) / mass)
            total += gradient[first + j] * gradient[first + j] / mass
    return worst, total


@kernel
def body_newton(trees, island_rows, a_smooth, options, work_out, force_out, a_io):
    """Solve the rows of an island of free bodies from the guess in a_io; see `newton.py`.

    a_smooth, a_io: (columns,). O(contacts) for each conjugate gradient of a Newton step.
    """
    rows, island = island_rows.rows, island_rows.members
    n, nv, vectors, slack = island.counter[ROWS], a_smooth.shape[0], work_out.vectors, work_out.slack
    delta, Ma, gradient, p, Mp = vectors[0], vectors[1], vectors[2][:nv], vectors[3], vectors[4]
    jar, jv, weight, trial = slack[0], slack[1], slack[2], slack[4]
    scale = 1.0 / trees.trace

    # the guess: slacks, forces, cost
    for i in range(nv):
        delta[i] = a_io[i] - a_smooth[i]
    plain = first_plain(rows, n)
    _row_motions(trees, island_rows, a_io, work_out.local, jar)
    for k in range(n):
        jar[k] -= rows.aref[k]
    _times_block(trees, island, MASS, delta, Ma)
    cost = row_forces(rows, n, plain, jar, force_out, weight) + 0.5 * _dot(delta, Ma, nv)

    converged, iteration, norm, worst, total = False, 0, 0.0, 0.0, 0.0
    while True:
        # gradient, and whether it is small enough
        for i in range(nv):
            gradient[i] = Ma[i]
        _take_forces(trees, island_rows, force_out, gradient)
        norm = scale * sqrt(_dot(gradient, gradient, nv))
        worst, total = _worst(trees, island, gradient)
        if norm < options.tolerance:
            converged = worst <= GENTLE * options.gravity
        elif converged:
            converged = worst <= ROUGH * options.gravity
        if converged or iteration >= options.iterations:
            break

        # direction and exact line search
        _assemble(trees, island_rows, jar, weight, work_out)
        _direction(trees, island_rows, gradient, work_out, p)
        _times_block(trees, island, MASS, p, Mp)
        _row_motions(trees, island_rows, p, work_out.local, jv)
        slope, bend = _dot(p, Ma, nv), _dot(p, Mp, nv)
        step = line_search(rows, n, plain, jar, jv, slope, bend, options, trial)
        iteration += 1
        if step == 0.0:
            # no descent is left beyond rounding; the balance says how good that is
            converged = worst <= ROUGH * options.gravity
            break

        # move
        for i in range(nv):
            delta[i] += step * p[i]
            Ma[i] += step * Mp[i]
        for k in range(n):
            jar[k] += step * jv[k]
        before = cost
        cost = row_forces(rows, n, plain, jar, force_out, weight) + 0.5 * _dot(delta, Ma, nv)
        if scale * (before - cost) < options.tolerance:
            converged = True

    for i in range(nv):
        a_io[i] = a_smooth[i] + delta[i]
    unbalanced = max(sqrt(scale * total), 0.01 * worst)
    return NewtonStats(iteration, converged, norm, cost, unbalanced)
