# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Newton's method for rows of one or two trees, with blocks in the place of dense matrices.

The problem, the line search and the stopping rules are those of `newton.py`. The Hessian M + J^T D J has a
(6, 6) block for every node, for every two nodes of a tree and for every two nodes of trees that touch.
Directions come from its sparse factors (`body_cholesky.py`); where too many blocks would be added, from
conjugate gradients, with the factors of all blocks that are not between trees as preconditioner. Contacts of
the impedance model yield enough for that: a row moves by its force in the measure of its body's inertia.
Memory is linear in bodies and contacts.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.body_blocks import (
    COLUMN,
    END_ROW,
    FIRST_ROW,
    HESSIAN,
    INVERSE_HESSIAN,
    MOST_ROWS,
    PADDED,
    PAIR,
    SECOND_COLUMN,
    SECOND_SIZE,
    SECOND_TREE,
    SIDE,
    SIZE,
    STRIDE,
    TREE,
    group_width,
    is_of_bodies,
    load_sides,
    node_count,
)
from worldline._src.kernels.constraints.body_cholesky import (
    WORTH,
    factor_bodies,
    order_bodies,
    solve_bodies,
    times_block,
)
from worldline._src.kernels.constraints.cone import cone_measures, sliding_hessian
from worldline._src.kernels.constraints.newton import GENTLE, ROUGH, NewtonStats, line_search
from worldline._src.kernels.constraints.row_forces import first_plain, row_forces
from worldline._src.kernels.constraints.tables import ROWS, TREE_END, TREE_FIRST
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.ops import sqrt
from worldline._src.scalar.packed import PACK, load_pack, load_row, pack_of, store_pack, store_row, sum_pack

DIRECTION = 1e-4
"""What conjugate gradients leave of the gradient in one Newton step, in the norm of the preconditioner."""
MOST_DIRECTIONS = 400
"""Most conjugate gradients of a Newton step; the line search takes what there is by then."""
_NO_BOUND = 1 << 40
"""Products of blocks without a bound."""


class BodyNewtonWork(NamedTuple):
    """Scratch: vectors (8, columns + 2), slack (5, rows), blocks of pairs of nodes (pairs, 48); of a
    contact: C (6, 6), local (width,); pair_body (pairs, 2): nodes of a pair by their number in the island;
    factor: `BodyFactorView`; row_block: rows of a group, (10, 8) for each node, in whole packs.
    """

    vectors: Any
    slack: Any
    between: Any
    C: Any
    local: Any
    pair_body: Any
    factor: Any
    row_block: Any


class Pairs(NamedTuple):
    """Pairs of nodes: those of one tree come first, then those of trees that touch; nodes: how many."""

    inner: Any
    count: Any
    nodes: Any


@inline
def _times_matrix(matrix, at, n, x, first, y_out):
    """y = B x for the (n, n) matrix that begins at `at`; x and y from `first` on."""
    for j in range(n):
        total = 0.0
        for k in range(n):
            total += matrix[at + n * j + k] * x[first + k]
        y_out[first + j] = total


@inline
def times_mass(trees, island, x, y_out):
    """y = M x."""
    for i in range(island.counter[TREE_FIRST], island.counter[TREE_END]):
        t = island.island_tree[i]
        first, nodes, at = trees.column[trees.tree_dof[t]], node_count(trees, t), trees.matrix_at[t]
        if nodes == 1:
            _times_matrix(trees.matrix, at, SIDE, x, first, y_out)
        else:
            _times_matrix(trees.matrix, at, SIDE * nodes, x, first, y_out)


@inline
def row_motions(trees, rows, x, local, y_out):
    """y = J x."""
    for g in range(trees.groups):
        load_sides(trees, g, x, local)
        first, end = trees.group[g, FIRST_ROW], trees.group[g, END_ROW]
        if is_of_bodies(trees, g):
            u, v, w = load_pack(local, 0), load_pack(local, PACK), load_pack(local, 2 * PACK)
            for k in range(first, end):
                total = load_row(rows.J, k, 0) * u + load_row(rows.J, k, PACK) * v
                y_out[k] = sum_pack(total + load_row(rows.J, k, 2 * PACK) * w)
        else:
            width = group_width(trees, g)
            for k in range(first, end):
                total = load_row(rows.J, k, 0) * load_pack(local, 0)
                for j in range(PACK, width, PACK):
                    total = total + load_row(rows.J, k, j) * load_pack(local, j)
                y_out[k] = sum_pack(total)


@inline
def _force_of_group(trees, g, rows, force, local_out):
    """J^T f in the columns of group `g`."""
    first, end = trees.group[g, FIRST_ROW], trees.group[g, END_ROW]
    if is_of_bodies(trees, g):
        u, v, w = pack_of(0.0), pack_of(0.0), pack_of(0.0)
        for k in range(first, end):
            u = u + force[k] * load_row(rows.J, k, 0)
            v = v + force[k] * load_row(rows.J, k, PACK)
            w = w + force[k] * load_row(rows.J, k, 2 * PACK)
        store_pack(local_out, 0, u)
        store_pack(local_out, PACK, v)
        store_pack(local_out, 2 * PACK, w)
    else:
        for j in range(0, group_width(trees, g), PACK):
            total = pack_of(0.0)
            for k in range(first, end):
                total = total + force[k] * load_row(rows.J, k, j)
            store_pack(local_out, j, total)


@inline
def _take_side(local, at, size, first, y_io):
    if first >= 0:
        for j in range(size):
            y_io[first + j] -= local[at + j]


@inline
def _take_forces(trees, rows, force, local, y_io):
    """y -= J^T f."""
    for g in range(trees.groups):
        _force_of_group(trees, g, rows, force, local)
        first, second = trees.group[g, COLUMN], trees.group[g, SECOND_COLUMN]
        if is_of_bodies(trees, g):
            _take_side(local, 0, SIDE, first, y_io)
            _take_side(local, SIDE, SIDE, second, y_io)
        else:
            m = trees.group[g, SIZE]
            _take_side(local, 0, m, first, y_io)
            _take_side(local, m, trees.group[g, SECOND_SIZE], second, y_io)


@inline
def _find_pair(near, node, pair_body, i, low, high):
    """The first pair of two trees in the list of node `i`, -1 where it is not there."""
    found = -1
    for e in range(node[i, 0] - 1, -1, -1):
        if pair_body[near[i, e], 0] == low and pair_body[near[i, e], 1] == high:
            found = near[i, e]
            break
    return found


@kernel
def _number_pairs(trees, island, work_out):
    """Pairs of nodes that have a block, those of two trees once for all of their groups.

    Pairs of two trees are found again in the list of the first node of one of them.
    """
    near, node, pair_body = work_out.factor.body_near, work_out.factor.body_node, work_out.pair_body
    pairs, nodes = 0, 0
    for i in range(island.counter[TREE_FIRST], island.counter[TREE_END]):
        t = island.island_tree[i]
        count = node_count(trees, t)
        trees.tree_pair[t] = pairs
        for a in range(nodes, nodes + count):
            node[a, 0] = 0
            for b in range(a + 1, nodes + count):
                pair_body[pairs, 0], pair_body[pairs, 1] = a, b
                pairs += 1
        nodes += count
    inner, group = pairs, trees.group
    for g in range(trees.groups):
        a, b = group[g, COLUMN], group[g, SECOND_COLUMN]
        group[g, PAIR] = -1
        if a < 0 or b < 0:
            continue
        low, high = min(a, b) // SIDE, max(a, b) // SIDE
        found = _find_pair(near, node, pair_body, low, low, high)
        if found < 0 and node[low, 0] >= near.shape[1]:
            found = _find_pair(near, node, pair_body, high, low, high)
        if found < 0:
            found = pairs
            first, second = group[g, SIZE] // SIDE, group[g, SECOND_SIZE] // SIDE
            if a > b:
                first, second = second, first
            for i in range(first):
                for j in range(second):
                    pair_body[pairs, 0], pair_body[pairs, 1] = low + i, high + j
                    pairs += 1
            # two trees with more neighbours than there is room for have their pairs twice: blocks add up
            keeper = low if node[low, 0] < near.shape[1] else high
            if node[keeper, 0] < near.shape[1]:
                near[keeper, node[keeper, 0]] = found
                node[keeper, 0] += 1
        group[g, PAIR] = found
    return Pairs(inner, pairs, nodes)


@inline
def _pair_within(trees, t, i, j):
    """The pair of nodes i < j of tree `t`."""
    return trees.tree_pair[t] + i * node_count(trees, t) - i * (i + 1) // 2 + j - i - 1


@inline
def _add_products(J, first, count, side, X, at, H_io, row, start):
    """H += sum over rows of a group of J_side^T X; X from column `at` on, H in `row` from `start` on."""
    for i in range(SIDE):
        to = start + STRIDE * i
        low, high = load_row(H_io, row, to), load_row(H_io, row, to + PACK)
        for r in range(count):
            u = J[first + r, side + i]
            low = low + u * load_row(X, r, at)
            high = high + u * load_row(X, r, at + PACK)
        store_row(H_io, row, to, low)
        store_row(H_io, row, to + PACK, high)


@inline
def _copy_mass(matrix, at, n, H_out, row, start):
    """The (6, 6) block of a mass matrix with rows of `n` numbers that begins at `at`, padded with zeros."""
    for j in range(SIDE):
        for k in range(SIDE):
            H_out[row, start + STRIDE * j + k] = matrix[at + n * j + k]
        for k in range(SIDE, STRIDE):
            H_out[row, start + STRIDE * j + k] = 0.0


@inline
def _begin_hessian(trees, island, pairs, between_out):
    """H = M: blocks of nodes, blocks of two nodes of a tree, zeros between trees."""
    for i in range(island.counter[TREE_FIRST], island.counter[TREE_END]):
        t = island.island_tree[i]
        nodes, at, first = node_count(trees, t), trees.matrix_at[t], trees.tree_node[t]
        if nodes == 1:
            _copy_mass(trees.matrix, at, SIDE, trees.block, first, INVERSE_HESSIAN)
        else:
            n = SIDE * nodes
            for a in range(nodes):
                _copy_mass(trees.matrix, at + SIDE * (n + 1) * a, n, trees.block, first + a, INVERSE_HESSIAN)
                for b in range(a + 1, nodes):
                    to = at + SIDE * (n * a + b)
                    _copy_mass(trees.matrix, to, n, between_out, _pair_within(trees, t, a, b), 0)
    for p in range(pairs.inner, pairs.count):
        for j in range(0, PADDED, PACK):
            store_row(between_out, p, j, pack_of(0.0))


@inline
def _scale_rows(J, first, count, nodes, weight, X_out):
    """X = D J of springs, a node in whole packs."""
    for r in range(count):
        scale = weight[first + r]
        for i in range(nodes):
            for j in range(SIDE):
                X_out[r, STRIDE * i + j] = scale * J[first + r, SIDE * i + j]


@inline
def _turn_rows(J, first, count, nodes, C, X_out):
    """X = C J of a sliding cone, a node in whole packs."""
    for r in range(count):
        for i in range(nodes):
            for j in range(SIDE):
                total = 0.0
                for k in range(count):
                    total += C[r, k] * J[first + k, SIDE * i + j]
                X_out[r, STRIDE * i + j] = total


@inline
def _weigh_rows(rows, first, count, nodes, jar, weight, C_out, X_out):
    """X = D J of springs or C J of a sliding cone; False where no row pushes."""
    pushes = weight[first] < 0.0
    if pushes:
        _, N, T = cone_measures(rows, first, jar)
        sliding_hessian(rows, first, jar, N, T, C_out)
        if nodes == 2:
            _turn_rows(rows.J, first, count, 2, C_out, X_out)
        else:
            _turn_rows(rows.J, first, count, nodes, C_out, X_out)
    else:
        for r in range(count):
            pushes = pushes or weight[first + r] > 0.0
        if pushes and nodes == 2:
            _scale_rows(rows.J, first, count, 2, weight, X_out)
        elif pushes:
            _scale_rows(rows.J, first, count, nodes, weight, X_out)
    return pushes


@inline
def _add_side(trees, rows, first, count, t, from_node, X, between_io):
    """Blocks of the nodes of tree `t` grow by J^T X; from_node: its first node among those of the group."""
    nodes = node_count(trees, t)
    for i in range(nodes):
        side = SIDE * (from_node + i)
        at = STRIDE * (from_node + i)
        _add_products(rows.J, first, count, side, X, at, trees.block, trees.tree_node[t] + i, INVERSE_HESSIAN)
        for j in range(i + 1, nodes):
            at = STRIDE * (from_node + j)
            _add_products(rows.J, first, count, side, X, at, between_io, _pair_within(trees, t, i, j), 0)


@kernel
def _assemble(trees, island_rows, pairs, jar, weight, work_out):
    """Blocks of M + J^T D J for the present weights of springs and sliding cones."""
    rows, group, between, X = island_rows.rows, trees.group, work_out.between, work_out.row_block
    _begin_hessian(trees, island_rows.members, pairs, between)
    for r in range(MOST_ROWS):
        for at in range(0, X.shape[1], STRIDE):
            for j in range(SIDE, STRIDE):
                X[r, at + j] = 0.0
    for g in range(trees.groups):
        first, count = group[g, FIRST_ROW], group[g, END_ROW] - group[g, FIRST_ROW]
        a, b = group[g, SIZE] // SIDE, group[g, SECOND_SIZE] // SIDE
        if not _weigh_rows(rows, first, count, a + b, jar, weight, work_out.C, X):
            continue
        p = group[g, PAIR]
        if is_of_bodies(trees, g):
            # products of constant shape
            if group[g, COLUMN] >= 0:
                node = trees.tree_node[group[g, TREE]]
                _add_products(rows.J, first, count, 0, X, 0, trees.block, node, INVERSE_HESSIAN)
            if group[g, SECOND_COLUMN] >= 0:
                node = trees.tree_node[group[g, SECOND_TREE]]
                _add_products(rows.J, first, count, SIDE, X, STRIDE, trees.block, node, INVERSE_HESSIAN)
            # rows of the tree with the lower columns
            if p >= 0 and group[g, COLUMN] < group[g, SECOND_COLUMN]:
                _add_products(rows.J, first, count, 0, X, STRIDE, between, p, 0)
            elif p >= 0:
                _add_products(rows.J, first, count, SIDE, X, 0, between, p, 0)
            continue
        if group[g, COLUMN] >= 0:
            _add_side(trees, rows, first, count, group[g, TREE], 0, X, between)
        if group[g, SECOND_COLUMN] >= 0:
            _add_side(trees, rows, first, count, group[g, SECOND_TREE], a, X, between)
        if p >= 0:
            low, high = (a, b) if group[g, COLUMN] < group[g, SECOND_COLUMN] else (b, a)
            first_side, second_side = (0, a) if group[g, COLUMN] < group[g, SECOND_COLUMN] else (a, 0)
            for i in range(low):
                for j in range(high):
                    side, at = SIDE * (first_side + i), STRIDE * (second_side + j)
                    _add_products(rows.J, first, count, side, X, at, between, p + i * high + j, 0)


@inline
def _times_hessian(trees, pairs, work, x, y_out):
    """y = H x; y has two finite numbers behind its last."""
    between, body = work.between, work.pair_body
    for i in range(pairs.nodes):
        times_block(trees.block, trees.node[i], HESSIAN, x, SIDE * i, y_out, SIDE * i)
    for p in range(pairs.count):
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
def _direction(trees, pairs, is_ordered, gradient, work_out, p_out):
    """p of H p = -gradient; p has two more numbers than the gradient.

    By the factors of H, or by conjugate gradients [Hestenes, Stiefel 1952] with those of its blocks within
    trees as preconditioner. Both share one copy of the code of factors, which is most of this kernel.
    """
    n, nodes, factor = gradient.shape[0], pairs.nodes, work_out.factor
    r, z, s, Hs = work_out.vectors[4], work_out.vectors[5], work_out.vectors[6], work_out.vectors[7]
    blocks, most = (pairs.count, 0) if is_ordered else (pairs.inner, MOST_DIRECTIONS)
    if not is_ordered:
        # H stays for products
        for i in range(nodes):
            node = trees.node[i]
            for j in range(0, PADDED, PACK):
                store_row(trees.block, node, HESSIAN + j, load_row(trees.block, node, INVERSE_HESSIAN + j))
    factor_bodies(nodes, trees, work_out.pair_body, blocks, work_out.between, factor)
    for i in range(n):
        r[i], p_out[i] = -gradient[i], 0.0
    for i in range(n, n + 2):
        p_out[i], z[i], s[i], Hs[i] = 0.0, 0.0, 0.0, 0.0
    now, enough = 0.0, 0.0
    for k in range(most + 1):
        # z = P^-1 r
        for i in range(n):
            z[i] = r[i]
        solve_bodies(nodes, trees, factor, z)
        if is_ordered:
            break
        # s = z + (r z) / (r z before) s
        before, now = now, _dot(r, z, n)
        if k == 0:
            enough = DIRECTION * DIRECTION * now
        for i in range(n):
            s[i] = z[i] + now / before * s[i] if k > 0 else z[i]
        if now <= enough or k == most:
            break
        # p += step s, r -= step H s
        _times_hessian(trees, pairs, work_out, s, Hs)
        step = now / _dot(s, Hs, n)
        for i in range(n):
            p_out[i] += step * s[i]
            r[i] -= step * Hs[i]
    if is_ordered:
        for i in range(n):
            p_out[i] = z[i]


@inline
def _worst(trees, island, gradient):
    """Largest |gradient_i| / M_ii, and the sum of gradient_i^2 / M_ii."""
    worst, total = 0.0, 0.0
    for i in range(island.counter[TREE_FIRST], island.counter[TREE_END]):
        t = island.island_tree[i]
        first, n = trees.column[trees.tree_dof[t]], SIDE * node_count(trees, t)
        for j in range(n):
            mass = trees.matrix[trees.matrix_at[t] + (n + 1) * j]
            worst = max(worst, abs(gradient[first + j]) / mass)
            total += gradient[first + j] * gradient[first + j] / mass
    return worst, total


@kernel
def body_newton(trees, island_rows, a_smooth, options, work_out, force_out, a_io):
    """Solve the rows of an island from the guess in a_io; see `newton.py`.

    a_smooth, a_io: (columns,). A Newton step takes O(contacts) and as many products of blocks as its factors
    need, in heaps a few for each pair of bodies.
    """
    rows, island = island_rows.rows, island_rows.members
    n, nv, vectors, slack = island.counter[ROWS], a_smooth.shape[0], work_out.vectors, work_out.slack
    delta, Ma, gradient, p, Mp = vectors[0], vectors[1], vectors[2][:nv], vectors[3][: nv + 2], vectors[4]
    jar, jv, weight, trial = slack[0], slack[1], slack[2], slack[4]
    scale = 1.0 / trees.trace
    pairs = _number_pairs(trees, island, work_out)
    is_ordered = order_bodies(pairs.nodes, work_out.pair_body, pairs.count, WORTH, work_out.factor)
    if not is_ordered:
        # blocks within trees have room: see `Constraints`
        order_bodies(pairs.nodes, work_out.pair_body, pairs.inner, _NO_BOUND, work_out.factor)

    # the guess: slacks, forces, cost
    for i in range(nv):
        delta[i] = a_io[i] - a_smooth[i]
    plain = first_plain(rows, n)
    row_motions(trees, rows, a_io, work_out.local, jar)
    for k in range(n):
        jar[k] -= rows.aref[k]
    times_mass(trees, island, delta, Ma)
    cost = row_forces(rows, n, plain, jar, force_out, weight) + 0.5 * _dot(delta, Ma, nv)

    converged, iteration, norm, worst, total = False, 0, 0.0, 0.0, 0.0
    while True:
        # gradient, and whether it is small enough
        for i in range(nv):
            gradient[i] = Ma[i]
        _take_forces(trees, rows, force_out, work_out.local, gradient)
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
        _direction(trees, pairs, is_ordered, gradient, work_out, p)
        times_mass(trees, island, p, Mp)
        row_motions(trees, rows, p, work_out.local, jv)
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
