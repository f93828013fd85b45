# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Large islands in blocks of six: rows of two trees, mass matrices of one.

A row of a contact, limit, friction, motor or joint touches one tree or two, and the mass matrix has no
entries between trees. The degrees of freedom of a tree, filled up to a multiple of six, are its *nodes*: a
free body is one, an arm with seven joints two. What is filled up has unit inertia and no part in any row.
Rows that touch the same trees are a *group* with the columns of its first tree, then those of its second. A
side without a tree that can move has six zeros. What is kept is linear in groups and trees.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.rows import CONE
from worldline._src.kernels.constraints.tables import ALL_ROWS, DROPPED, ROWS, TREE_END, TREE_FIRST
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.ops import sqrt
from worldline._src.scalar.packed import PACK, load_pack, load_row, store_pack

SIDE = 6
"""Degrees of freedom of a node: those of a free body."""
STRIDE = 2 * PACK
"""Numbers in a row of a padded block; the last two are zero."""
PADDED = SIDE * STRIDE
HESSIAN, INVERSE_HESSIAN = 0, PADDED
"""Where the padded matrices of a node begin among its blocks, (6, 8) each; the second is assembled and
factored in its place, the first keeps it for products."""
FIRST_ROW, END_ROW, COLUMN, SIZE, SECOND_COLUMN, SECOND_SIZE, TREE, SECOND_TREE, CONTACT, PAIR = range(10)
"""What is kept of a group: its rows, where the columns of both trees begin in the island, -1 without, how
many there are, the trees, its contact, -1 without, and the first of the pairs of nodes of both trees."""
MOST_ROWS = 10
"""Rows of a group at most: the edges of a pyramid with spinning and rolling friction."""


class BodyTrees(NamedTuple):
    """Trees of an island and the groups of its rows.

    tree_dof: first degree of freedom of a tree. column: column of a degree of freedom in the island.
    tree_node: first node of a tree among all. matrix: mass matrix and inverse mass matrix of every tree,
    (n, n) each, from matrix_at on. block: (nodes, 96): block of the Hessian of a node and inverse of that,
    (6, 8) each. node: nodes of the island by their number in it. tree_pair: first pair of nodes of a tree.
    group: (groups, 10), see above; groups: how many there are. trace: of the mass matrix of the island.
    """

    tree_dof: Any
    column: Any
    tree_node: Any
    matrix: Any
    matrix_at: Any
    block: Any
    node: Any
    tree_pair: Any
    group: Any
    groups: Any
    trace: Any


@inline
def node_count(trees, t):
    """Nodes of tree `t`."""
    return trees.tree_node[t + 1] - trees.tree_node[t]


@inline
def keep_mass(M, n, at, matrix_out):
    """Mass matrix (n, n) of a tree, from `at` on."""
    for i in range(n):
        for j in range(n):
            matrix_out[at + n * i + j] = M[i, j]


@kernel
def invert_masses(island, trees_out):
    """Inverse mass matrices of the trees of an island, behind their mass matrices."""
    for i in range(island.counter[TREE_FIRST], island.counter[TREE_END]):
        t = island.island_tree[i]
        n, at = SIDE * node_count(trees_out, t), trees_out.matrix_at[t]
        kept, inverse = trees_out.matrix[at : at + n * n], trees_out.matrix[at + n * n : at + 2 * n * n]
        if n == SIDE:
            _invert(kept, SIDE, SIDE, inverse)
        else:
            _invert(kept, n, n, inverse)


@kernel
def invert_padded(i, block_io):
    """The inverse of the block at INVERSE_HESSIAN of node `i`, in its place."""
    block = block_io[i, INVERSE_HESSIAN : INVERSE_HESSIAN + PADDED]
    _invert(block, SIDE, STRIDE, block)
    for r in range(SIDE):
        for j in range(SIDE, STRIDE):
            block[STRIDE * r + j] = 0.0


@inline
def _invert(M, n, stride, L):
    """Inverse of a symmetric positive (n, n) matrix by Cholesky's factors; rows `stride` apart.

    `L` may be `M`.
    """
    # L of M = L L^T in the lower triangle
    for i in range(n):
        for j in range(i + 1):
            total = M[stride * i + j]
            for k in range(j):
                total -= L[stride * i + k] * L[stride * j + k]
            L[stride * i + j] = sqrt(total) if i == j else total / L[stride * j + j]
    # L^-1 in its place, column by column
    for j in range(n):
        L[stride * j + j] = 1.0 / L[stride * j + j]
        for i in range(j + 1, n):
            total = 0.0
            for k in range(j, i):
                total -= L[stride * i + k] * L[stride * k + j]
            L[stride * i + j] = total / L[stride * i + i]
    # M^-1 = L^-T L^-1: entry (i, j) needs rows max(i, j) and below, so it goes from the top down
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for k in range(i, n):
                total += L[stride * k + i] * L[stride * k + j]
            L[stride * j + i] = total
    for i in range(n):
        for j in range(i):
            L[stride * i + j] = L[stride * j + i]


@inline
def row_count(rows, first, condim):
    """Rows of a contact: those of a cone, or two for each direction of a pyramid."""
    count = condim
    if condim > 1 and rows.kind[first] != CONE:
        count = 2 * (condim - 1)
    return count


@inline
def group_width(trees, g):
    """Columns of the rows of group `g` in whole packs."""
    columns = trees.group[g, SIZE] + trees.group[g, SECOND_SIZE]
    return (columns + PACK - 1) // PACK * PACK


@inline
def is_of_bodies(trees, g):
    """Whether group `g` has the twelve columns of two free bodies: three packs, loops of constant length."""
    return trees.group[g, SIZE] == SIDE and trees.group[g, SECOND_SIZE] == SIDE


@inline
def _load_side(x, first, size, at, local_out):
    for j in range(size):
        local_out[at + j] = x[first + j] if first >= 0 else 0.0


@inline
def _store_side(local, at, size, first, x_out):
    if first >= 0:
        for j in range(size):
            x_out[first + j] = local[at + j]


@inline
def load_sides(trees, g, x, local_out):
    """Entries of x in the columns of group `g`, zeros on a side without a tree and in the padding."""
    first, second = trees.group[g, COLUMN], trees.group[g, SECOND_COLUMN]
    if is_of_bodies(trees, g):
        _load_side(x, first, SIDE, 0, local_out)
        _load_side(x, second, SIDE, SIDE, local_out)
    else:
        m, n = trees.group[g, SIZE], trees.group[g, SECOND_SIZE]
        _load_side(x, first, m, 0, local_out)
        _load_side(x, second, n, m, local_out)
        for j in range(m + n, group_width(trees, g)):
            local_out[j] = 0.0


@inline
def store_sides(trees, g, local, x_out):
    """The way back of `load_sides`."""
    first, second = trees.group[g, COLUMN], trees.group[g, SECOND_COLUMN]
    if is_of_bodies(trees, g):
        _store_side(local, 0, SIDE, first, x_out)
        _store_side(local, SIDE, SIDE, second, x_out)
    else:
        m, n = trees.group[g, SIZE], trees.group[g, SECOND_SIZE]
        _store_side(local, 0, m, first, x_out)
        _store_side(local, m, n, second, x_out)


@inline
def _add_forces(trees, g, J, force, columns, local, qfrc_io):
    """Generalized forces of two free bodies grow by J^T f; local: scratch, (12,)."""
    first, second = trees.group[g, COLUMN], trees.group[g, SECOND_COLUMN]
    for j in range(SIDE):
        local[j] = qfrc_io[columns[first + j]] if first >= 0 else 0.0
        local[SIDE + j] = qfrc_io[columns[second + j]] if second >= 0 else 0.0
    u, v, w = load_pack(local, 0), load_pack(local, PACK), load_pack(local, 2 * PACK)
    for k in range(trees.group[g, FIRST_ROW], trees.group[g, END_ROW]):
        u = u + force[k] * load_row(J, k, 0)
        v = v + force[k] * load_row(J, k, PACK)
        w = w + force[k] * load_row(J, k, 2 * PACK)
    store_pack(local, 0, u)
    store_pack(local, PACK, v)
    store_pack(local, 2 * PACK, w)
    for j in range(SIDE):
        if first >= 0:
            qfrc_io[columns[first + j]] = local[j]
        if second >= 0:
            qfrc_io[columns[second + j]] = local[SIDE + j]


@inline
def record_body_rows(trees, island_rows, force, columns, counter_io, records_out):
    """Put the rows behind those of the islands before; generalized forces by degrees of freedom.

    columns: degree of freedom of every column.
    """
    rows, notes = island_rows.rows, island_rows.notes
    base, n = counter_io[ALL_ROWS], counter_io[ROWS]
    kept = base + n <= records_out.force.shape[0]
    if not kept:
        counter_io[DROPPED] += n
    for g in range(trees.groups):
        for k in range(trees.group[g, FIRST_ROW], trees.group[g, END_ROW]):
            if kept:
                records_out.force[base + k] = force[k]
                records_out.missed[base + k] = force[k] / rows.D[k]
                records_out.residual[base + k] = notes.row_residual[k]
                records_out.row_of[base + k, 0] = notes.row_note[k, 0]
                records_out.row_of[base + k, 1] = notes.row_note[k, 1]
        if is_of_bodies(trees, g):
            _add_forces(trees, g, rows.J, force, columns, island_rows.frames.base[0], records_out.qfrc)
        else:
            for k in range(trees.group[g, FIRST_ROW], trees.group[g, END_ROW]):
                at = 0
                for side in range(COLUMN, TREE, 2):
                    first, size = trees.group[g, side], trees.group[g, side + 1]
                    if first >= 0:
                        for j in range(size):
                            records_out.qfrc[columns[first + j]] += force[k] * rows.J[k, at + j]
                    at += size
    if kept:
        counter_io[ALL_ROWS] = base + n
