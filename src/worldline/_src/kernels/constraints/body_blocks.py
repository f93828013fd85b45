# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Islands of free bodies in blocks of six: rows of two bodies, mass matrices of one.

A row of a contact touches the six degrees of freedom of each of its two bodies and no others, and the mass
matrix has a block for every body. What is kept is linear in contacts and bodies.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.rows import CONE
from worldline._src.kernels.constraints.tables import ALL_ROWS, CONTACT_END, CONTACT_FIRST, DROPPED, ROWS
from worldline._src.scalar.ops import sqrt
from worldline._src.scalar.packed import PACK

SIDE = 6
"""Degrees of freedom of a free body."""
BODY_COLUMNS = 2 * SIDE
"""Columns of a row: those of its first body, then those of its second."""
SQUARE = SIDE * SIDE
STRIDE = 2 * PACK
"""Numbers in a row of a padded block; the last two are zero."""
PADDED = SIDE * STRIDE
INVERSE_MASS, MASS, HESSIAN, INVERSE_HESSIAN = 0, SQUARE, 2 * SQUARE, 2 * SQUARE + PADDED
"""Where the matrices of a body begin among its blocks: (6, 6), and (6, 8) for the last two."""


class FreeTrees(NamedTuple):
    """Contacts of the collision tables, and the trees they are between.

    contact_id: (contacts, 6), bodies in columns 2 and 3. body_tree: tree of a body, -1 without. tree_dof:
    first degree of freedom of a tree. column: column of a degree of freedom in the island. tree_prescribed: 1
    where motion is prescribed. block: (trees, 168) of every body: inverse mass matrix and mass matrix, (6, 6)
    each, block of the Hessian and inverse of that, (6, 8) each. trace: of the mass matrix of the island.
    """

    contact_id: Any
    body_tree: Any
    tree_dof: Any
    column: Any
    tree_prescribed: Any
    block: Any
    trace: Any


@kernel
def keep_mass(M, t, block_out):
    """Mass matrix and inverse mass matrix of body `t`. Returns the trace of the mass matrix."""
    trace = 0.0
    for i in range(SIDE):
        trace += M[i, i]
        for j in range(SIDE):
            block_out[t, MASS + SIDE * i + j] = M[i, j]
    _invert(t, MASS, SIDE, INVERSE_MASS, block_out)
    return trace


@kernel
def invert_padded(t, block_io):
    """The inverse of the block of the Hessian of body `t`."""
    _invert(t, HESSIAN, STRIDE, INVERSE_HESSIAN, block_io)
    for i in range(SIDE):
        for j in range(SIDE, STRIDE):
            block_io[t, INVERSE_HESSIAN + STRIDE * i + j] = 0.0


@inline
def _invert(t, given, stride, at, block_io):
    """Inverse of a symmetric positive matrix of body `t` by Cholesky's factors; rows `stride` apart."""
    M, L = block_io[t, given : given + SIDE * stride], block_io[t, at : at + SIDE * stride]
    # L of M = L L^T in the lower triangle
    for i in range(SIDE):
        for j in range(i + 1):
            total = M[stride * i + j]
            for k in range(j):
                total -= L[stride * i + k] * L[stride * j + k]
            L[stride * i + j] = sqrt(total) if i == j else total / L[stride * j + j]
    # L^-1 in its place, column by column
    for j in range(SIDE):
        L[stride * j + j] = 1.0 / L[stride * j + j]
        for i in range(j + 1, SIDE):
            total = 0.0
            for k in range(j, i):
                total -= L[stride * i + k] * L[stride * k + j]
            L[stride * i + j] = total / L[stride * i + i]
    # M^-1 = L^-T L^-1: entry (i, j) needs rows max(i, j) and below, so it goes from the top down
    for i in range(SIDE):
        for j in range(i + 1):
            total = 0.0
            for k in range(i, SIDE):
                total += L[stride * k + i] * L[stride * k + j]
            L[stride * j + i] = total
    for i in range(SIDE):
        for j in range(i):
            L[stride * i + j] = L[stride * j + i]


@inline
def side_tree(trees, k, side):
    """Tree of a body of contact `k`, -1 where it is the world or prescribed."""
    t = trees.body_tree[trees.contact_id[k, 2 + side]]
    found = -1
    if t >= 0 and trees.tree_prescribed[t] == 0:
        found = t
    return found


@inline
def side_column(trees, k, side):
    """First column of a body of contact `k`, -1 where it is the world or prescribed."""
    t = side_tree(trees, k, side)
    found = -1
    if t >= 0:
        found = trees.column[trees.tree_dof[t]]
    return found


@inline
def row_count(rows, first, condim):
    """Rows of a contact: those of a cone, or two for each direction of a pyramid."""
    count = condim
    if condim > 1 and rows.kind[first] != CONE:
        count = 2 * (condim - 1)
    return count


@inline
def load_side(a, first, at, local_out):
    for j in range(SIDE):
        local_out[at + j] = a[first + j] if first >= 0 else 0.0


@inline
def store_side(local, first, at, a_out):
    if first >= 0:
        for j in range(SIDE):
            a_out[first + j] = local[at + j]


@inline
def record_body_rows(trees, island_rows, force, columns, counter_io, records_out):
    """Put the rows behind those of the islands before; generalized forces by degrees of freedom.

    columns: degree of freedom of every column.
    """
    island, frames, rows, notes = (
        island_rows.members,
        island_rows.frames,
        island_rows.rows,
        island_rows.notes,
    )
    base, n = counter_io[ALL_ROWS], counter_io[ROWS]
    kept = base + n <= records_out.force.shape[0]
    if not kept:
        counter_io[DROPPED] += n
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        c = island.contact_order[i]
        first = frames.contact_row[c, 0]
        if first < 0:
            continue
        for k in range(first, first + row_count(rows, first, frames.contact_row[c, 1])):
            if kept:
                records_out.force[base + k] = force[k]
                records_out.missed[base + k] = force[k] / rows.D[k]
                records_out.residual[base + k] = notes.row_residual[k]
                records_out.row_of[base + k, 0] = notes.row_note[k, 0]
                records_out.row_of[base + k, 1] = notes.row_note[k, 1]
            for side in range(2):
                d = side_column(trees, c, side)
                if d >= 0:
                    for j in range(SIDE):
                        records_out.qfrc[columns[d + j]] += force[k] * rows.J[k, SIDE * side + j]
    if kept:
        counter_io[ALL_ROWS] = base + n
