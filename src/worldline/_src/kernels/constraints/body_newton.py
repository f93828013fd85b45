# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Newton's method for rows of two free bodies, with blocks in the place of dense matrices.

The problem, the line search and the stopping rules are those of `newton.py`. The Hessian M + J^T D J has a
(6, 6) block for every body and one for every pair of bodies that touch. Directions come from its sparse
factors (`body_cholesky.py`); where too many blocks would be added, from conjugate gradients with the inverse
blocks of the bodies as preconditioner. Contacts of the impedance model yield enough for that: a row moves by
its force in the measure of its body's inertia. Memory is linear in bodies and contacts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.body_blocks import (
    HESSIAN,
    INVERSE_HESSIAN,
    MASS,
    PADDED,
    SIDE,
    STRIDE,
    invert_padded,
    load_side,
    row_count,
    side_column,
    side_tree,
)
from worldline._src.kernels.constraints.body_cholesky import (
    factor_bodies,
    order_bodies,
    solve_bodies,
    times_block,
)
from worldline._src.kernels.constraints.cone import cone_measures, sliding_hessian
from worldline._src.kernels.constraints.newton import GENTLE, ROUGH, NewtonStats, line_search
from worldline._src.kernels.constraints.row_forces import first_plain, row_forces
from worldline._src.kernels.constraints.tables import CONTACT_END, CONTACT_FIRST, ROWS, TREE_END, TREE_FIRST
from worldline._src.scalar.ops import sqrt
from worldline._src.scalar.packed import PACK, load_pack, load_row, pack_of, store_pack, store_row, sum_pack

DIRECTION = 1e-4
"""What conjugate gradients leave of the gradient in one Newton step, in the norm of the preconditioner."""
MOST_DIRECTIONS = 400
"""Most conjugate gradients of a Newton step; the line search takes what there is by then."""


class BodyNewtonWork(NamedTuple):
    """Scratch: vectors (8, columns + 2), slack (5, rows), blocks of pairs of bodies (contacts, 48); of a
    contact: C (6, 6), local (12,); contact_pair (contacts,): its pair, -1 where only one body moves;
    pair_body (contacts, 2): bodies of a pair by their number in the island; factor: `BodyFactorView`;
    row_block (10, 16): rows of a contact in whole packs.
    """

    vectors: Any
    slack: Any
    between: Any
    C: Any
    local: Any
    contact_pair: Any
    pair_body: Any
    factor: Any
    row_block: Any


MOST_ROWS = 10
"""Rows of a contact at most: the edges of a pyramid with spinning and rolling friction."""


@inline
def _times_mass(trees, island, x, y_out):
    """y = M x."""
    for i in range(island.counter[TREE_FIRST], island.counter[TREE_END]):
        t = island.island_tree[i]
        first = trees.column[trees.tree_dof[t]]
        for j in range(SIDE):
            total = 0.0
            for k in range(SIDE):
                total += trees.block[t, MASS + SIDE * j + k] * x[first + k]
            y_out[first + j] = total


@inline
def _times_blocks(trees, island, at, x, y_out):
    """y = B x with the padded matrices of bodies that begin at `at` among their blocks."""
    for i in range(island.counter[TREE_FIRST], island.counter[TREE_END]):
        t = island.island_tree[i]
        first = trees.column[trees.tree_dof[t]]
        times_block(trees.block, t, at, x, first, y_out, first)


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
            u, v, w = load_pack(local, 0), load_pack(local, PACK), load_pack(local, 2 * PACK)
            for k in range(first, first + row_count(rows, first, frames.contact_row[c, 1])):
                total = load_row(rows.J, k, 0) * u + load_row(rows.J, k, PACK) * v
                y_out[k] = sum_pack(total + load_row(rows.J, k, 2 * PACK) * w)


@inline
def _take_forces(trees, island_rows, force, local, y_io):
    """y -= J^T f."""
    rows, frames, island = island_rows.rows, island_rows.frames, island_rows.members
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        c = island.contact_order[i]
        first = frames.contact_row[c, 0]
        if first >= 0:
            u, v, w = pack_of(0.0), pack_of(0.0), pack_of(0.0)
            for k in range(first, first + row_count(rows, first, frames.contact_row[c, 1])):
                f = force[k]
                u = u + f * load_row(rows.J, k, 0)
                v = v + f * load_row(rows.J, k, PACK)
                w = w + f * load_row(rows.J, k, 2 * PACK)
            store_pack(local, 0, u)
            store_pack(local, PACK, v)
            store_pack(local, 2 * PACK, w)
            for side in range(2):
                at = side_column(trees, c, side)
                if at >= 0:
                    for j in range(SIDE):
                        y_io[at + j] -= local[SIDE * side + j]


@kernel
def _number_pairs(trees, island_rows, work_out):
    """Pairs of bodies that touch, one for all contacts of two shapes; returns how many.

    Two bodies may have several pairs of shapes that touch: contacts of one pair follow each other, others
    become the same pair by looking at those of the first body.
    """
    frames, island = island_rows.frames, island_rows.members
    near, node, pairs = work_out.factor.body_near, work_out.factor.body_node, 0
    for i in range(island.counter[TREE_END] - island.counter[TREE_FIRST]):
        node[i, 0] = 0
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        c = island.contact_order[i]
        a, b = side_column(trees, c, 0), side_column(trees, c, 1)
        work_out.contact_pair[c] = -1
        if frames.contact_row[c, 0] < 0 or a < 0 or b < 0:
            continue
        low, high = min(a, b) // SIDE, max(a, b) // SIDE
        found = -1
        for e in range(node[low, 0] - 1, -1, -1):
            if work_out.pair_body[near[low, e], 1] == high:
                found = near[low, e]
                break
        if found < 0:
            found = pairs
            work_out.pair_body[pairs, 0], work_out.pair_body[pairs, 1] = low, high
            pairs += 1
            # a body with more neighbours than there is room for has some pairs twice, which does no harm
            if node[low, 0] < near.shape[1]:
                near[low, node[low, 0]] = found
                node[low, 0] += 1
        work_out.contact_pair[c] = found
    return pairs


@inline
def _pad_row(J, k, scale, r, row_block_out):
    """Row `r` of the scratch: scale J_k, both sides in whole packs."""
    for j in range(SIDE):
        row_block_out[r, j] = scale * J[k, j]
        row_block_out[r, STRIDE + j] = scale * J[k, SIDE + j]


@inline
def _add_products(J, first, count, side, X, at, H_io, row, start):
    """H += sum over rows of a contact of J_side^T X; X from column `at` on, H in `row` from `start` on."""
    for i in range(SIDE):
        to = start + STRIDE * i
        low, high = load_row(H_io, row, to), load_row(H_io, row, to + PACK)
        for r in range(count):
            u = J[first + r, side + i]
            low = low + u * load_row(X, r, at)
            high = high + u * load_row(X, r, at + PACK)
        store_row(H_io, row, to, low)
        store_row(H_io, row, to + PACK, high)


@kernel
def _assemble(trees, island_rows, pairs, jar, weight, work_out):
    """Blocks of M + J^T D J for the present weights of springs and sliding cones."""
    rows, frames, island = island_rows.rows, island_rows.frames, island_rows.members
    block, between, X = trees.block, work_out.between, work_out.row_block
    for i in range(island.counter[TREE_FIRST], island.counter[TREE_END]):
        t = island.island_tree[i]
        for j in range(SIDE):
            for k in range(SIDE):
                block[t, HESSIAN + STRIDE * j + k] = block[t, MASS + SIDE * j + k]
            for k in range(SIDE, STRIDE):
                block[t, HESSIAN + STRIDE * j + k] = 0.0
    for p in range(pairs):
        for j in range(0, PADDED, PACK):
            store_row(between, p, j, pack_of(0.0))
    for r in range(MOST_ROWS):
        for j in range(SIDE, STRIDE):
            X[r, j], X[r, STRIDE + j] = 0.0, 0.0
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        c = island.contact_order[i]
        first = frames.contact_row[c, 0]
        if first < 0:
            continue
        count, pushes = row_count(rows, first, frames.contact_row[c, 1]), False
        if weight[first] < 0.0:
            # a sliding cone: X = C J
            _, N, T = cone_measures(rows, first, jar)
            C, pushes = work_out.C, True
            sliding_hessian(rows, first, jar, N, T, C)
            for r in range(count):
                for j in range(SIDE):
                    near, far = 0.0, 0.0
                    for k in range(count):
                        near += C[r, k] * rows.J[first + k, j]
                        far += C[r, k] * rows.J[first + k, SIDE + j]
                    X[r, j], X[r, STRIDE + j] = near, far
        else:
            # springs: X = D J
            for r in range(count):
                pushes = pushes or weight[first + r] > 0.0
                _pad_row(rows.J, first + r, weight[first + r], r, X)
        if not pushes:
            continue
        a, b, p = side_tree(trees, c, 0), side_tree(trees, c, 1), work_out.contact_pair[c]
        if a >= 0:
            _add_products(rows.J, first, count, 0, X, 0, block, a, HESSIAN)
        if b >= 0:
            _add_products(rows.J, first, count, SIDE, X, STRIDE, block, b, HESSIAN)
        if p >= 0:
            # rows of the body with the lower number
            if side_column(trees, c, 0) < side_column(trees, c, 1):
                _add_products(rows.J, first, count, 0, X, STRIDE, between, p, 0)
            else:
                _add_products(rows.J, first, count, SIDE, X, 0, between, p, 0)


@inline
def _times_hessian(trees, island_rows, pairs, work, x, y_out):
    """y = H x; y has two finite numbers behind its last."""
    between, body = work.between, work.pair_body
    _times_blocks(trees, island_rows.members, HESSIAN, x, y_out)
    for p in range(pairs):
        a, b = SIDE * body[p, 0], SIDE * body[p, 1]
        x_low, x_high = load_pack(x, b), load_pack(x, b + PACK)
        low, high = load_pack(y_out, b), load_pack(y_out, b + PACK)
        for j in range(SIDE):
            row_low, row_high = load_row(between, p, STRIDE * j), load_row(between, p, STRIDE * j + PACK)
            y_out[a + j] += sum_pack(row_low * x_low + row_high * x_high)
            low = low + x[a + j] * row_low
            high = high + x[a + j] * row_high
        store_pack(y_out, b, low)
        store_pack(y_out, b + PACK, high)


@inline
def _dot(x, y, n):
    total = 0.0
    for i in range(n):
        total += x[i] * y[i]
    return total


@kernel
def _conjugate_gradients(trees, island_rows, pairs, work_out, p_io):
    """p of H p = r, with r in p_io, by preconditioned conjugate gradients [Hestenes, Stiefel 1952]."""
    island, n = island_rows.members, p_io.shape[0] - 2
    r, z, s, Hs = work_out.vectors[4], work_out.vectors[5], work_out.vectors[6], work_out.vectors[7]
    for i in range(island.counter[TREE_FIRST], island.counter[TREE_END]):
        invert_padded(island.island_tree[i], trees.block)
    for i in range(n):
        r[i], p_io[i] = p_io[i], 0.0
    for i in range(n, n + 2):
        r[i], s[i], Hs[i] = 0.0, 0.0, 0.0
    _times_blocks(trees, island, INVERSE_HESSIAN, r, z)
    for i in range(n):
        s[i] = z[i]
    now = _dot(r, z, n)
    enough = DIRECTION * DIRECTION * now
    for _ in range(MOST_DIRECTIONS):
        if now <= enough:
            break
        _times_hessian(trees, island_rows, pairs, work_out, s, Hs)
        step = now / _dot(s, Hs, n)
        for i in range(n):
            p_io[i] += step * s[i]
            r[i] -= step * Hs[i]
        _times_blocks(trees, island, INVERSE_HESSIAN, r, z)
        before, now = now, _dot(r, z, n)
        for i in range(n):
            s[i] = z[i] + now / before * s[i]


@inline
def _direction(trees, island_rows, pairs, is_ordered, gradient, work_out, p_out):
    """p of H p = -gradient; p has two more numbers than the gradient."""
    island, n = island_rows.members, gradient.shape[0]
    bodies = island.counter[TREE_END] - island.counter[TREE_FIRST]
    for i in range(n):
        p_out[i] = -gradient[i]
    p_out[n], p_out[n + 1] = 0.0, 0.0
    if is_ordered:
        factor_bodies(bodies, trees, island, work_out.pair_body, pairs, work_out.between, work_out.factor)
        solve_bodies(bodies, trees, island, work_out.factor, p_out)
    else:
        _conjugate_gradients(trees, island_rows, pairs, work_out, p_out)


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

    a_smooth, a_io: (columns,). A Newton step takes O(contacts) and as many products of blocks as its factors
    need, in heaps a few for each pair of bodies.
    """
    rows, island = island_rows.rows, island_rows.members
    n, nv, vectors, slack = island.counter[ROWS], a_smooth.shape[0], work_out.vectors, work_out.slack
    delta, Ma, gradient, p, Mp = vectors[0], vectors[1], vectors[2][:nv], vectors[3][: nv + 2], vectors[4]
    jar, jv, weight, trial = slack[0], slack[1], slack[2], slack[4]
    scale = 1.0 / trees.trace
    bodies = island.counter[TREE_END] - island.counter[TREE_FIRST]
    pairs = _number_pairs(trees, island_rows, work_out)
    is_ordered = order_bodies(bodies, work_out.pair_body, pairs, work_out.factor)

    # the guess: slacks, forces, cost
    for i in range(nv):
        delta[i] = a_io[i] - a_smooth[i]
    plain = first_plain(rows, n)
    _row_motions(trees, island_rows, a_io, work_out.local, jar)
    for k in range(n):
        jar[k] -= rows.aref[k]
    _times_mass(trees, island, delta, Ma)
    cost = row_forces(rows, n, plain, jar, force_out, weight) + 0.5 * _dot(delta, Ma, nv)

    converged, iteration, norm, worst, total = False, 0, 0.0, 0.0, 0.0
    while True:
        # gradient, and whether it is small enough
        for i in range(nv):
            gradient[i] = Ma[i]
        _take_forces(trees, island_rows, force_out, work_out.local, gradient)
        norm = scale * sqrt(_dot(gradient, gradient, nv))
        worst, total = _worst(trees, island, gradient)
        if norm < options.tolerance:
            converged = worst <= GENTLE * options.gravity
        elif converged:
            converged = worst <= ROUGH * options.gravity
        if converged or iteration >= options.iterations:
            break

        # direction and exact line search
        _assemble(trees, island_rows, pairs, jar, weight, work_out)
        _direction(trees, island_rows, pairs, is_ordered, gradient, work_out, p)
        _times_mass(trees, island, p, Mp)
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
