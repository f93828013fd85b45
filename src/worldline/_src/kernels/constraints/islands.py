# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Islands: trees that contacts and other rows tie together, to be solved apart from all others.

Trees are joined by union-find over contacts and over ties that the model has (tendons and equalities that
span trees). A tree whose motion is prescribed joins nothing: it takes part in every island that touches it,
as columns of which the motion is known. The cost is linear in trees and contacts, and the order of trees,
contacts and rows inside an island is that of the model, so a world solves alike next to others and alone.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.tables import (
    CONTACT_END,
    CONTACT_FIRST,
    ISLANDS,
    TREE_END,
    TREE_FIRST,
)
from worldline._src.scalar.packed import PACK

LARGEST_DENSE = 1536
"""Columns up to which an island of free bodies may be solved by Newton's method: 256 bodies.

Its matrices are dense, so they grow with the square of the columns and the work with the cube.
"""


@inline
def _root(above, k):
    """The tree that stands for the island of tree `k`; paths are halved on the way."""
    while above[k] != k:
        above[k] = above[above[k]]
        k = above[k]
    return k


@inline
def _join(above_io, prescribed, a, b):
    """Trees `a` and `b` are in one island; the lower number stands for it."""
    if a >= 0 and b >= 0 and prescribed[a] == 0 and prescribed[b] == 0:
        a, b = _root(above_io, a), _root(above_io, b)
        if a < b:
            above_io[b] = a
        else:
            above_io[a] = b


@inline
def _island_of_contact(island, pair, k):
    """The island of contact `k`, -1 when neither side can move."""
    a, b = island.body_tree[pair[k, 2]], island.body_tree[pair[k, 3]]
    found = -1
    if a >= 0:
        found = island.tree_island[a]
    if b >= 0 and found < 0:
        found = island.tree_island[b]
    return found


@kernel
def find_islands(pair, count, island_out):
    """Number the islands and sort trees and contacts into them.

    pair: (contacts, 6) of the collision tables, bodies in columns 2 and 3; `count` of them are used.
    """
    above, prescribed, tie = island_out.tree_above, island_out.tree_prescribed, island_out.tie
    tree_island, island_tree = island_out.tree_island, island_out.island_tree
    trees = tree_island.shape[0]

    # join
    for t in range(trees):
        above[t] = t
    for k in range(tie.shape[0]):
        _join(above, prescribed, tie[k, 0], tie[k, 1])
    for k in range(count):
        _join(above, prescribed, island_out.body_tree[pair[k, 2]], island_out.body_tree[pair[k, 3]])

    # number islands by their lowest tree, count their trees and contacts
    first_tree, first_contact = island_out.island_trees, island_out.island_contacts
    islands = 0
    for t in range(trees):
        if prescribed[t] != 0:
            tree_island[t] = -1
        elif above[t] == t:
            tree_island[t] = islands
            first_tree[islands], first_contact[islands] = 0, 0
            islands += 1
        else:
            tree_island[t] = tree_island[_root(above, t)]
    for t in range(trees):
        if tree_island[t] >= 0:
            first_tree[tree_island[t]] += 1
    for k in range(count):
        i = _island_of_contact(island_out, pair, k)
        if i >= 0:
            first_contact[i] += 1
    island_out.counter[ISLANDS] = islands

    # counts to ends, then fill from the back so that order is kept and ends become starts
    tree_end, contact_end = 0, 0
    for i in range(islands):
        tree_end += first_tree[i]
        first_tree[i] = tree_end
        contact_end += first_contact[i]
        first_contact[i] = contact_end
    first_tree[islands], first_contact[islands] = tree_end, contact_end
    for t in range(trees - 1, -1, -1):
        i = tree_island[t]
        if i >= 0:
            first_tree[i] -= 1
            island_tree[first_tree[i]] = t
    for k in range(count - 1, -1, -1):
        i = _island_of_contact(island_out, pair, k)
        if i >= 0:
            first_contact[i] -= 1
            island_out.contact_order[first_contact[i]] = k


@inline
def _add_tree(island_io, t, n):
    """Give the degrees of freedom of a tree columns from `n` on; returns the next free one."""
    for d in range(island_io.tree_dof[t], island_io.tree_dof[t + 1]):
        island_io.dof_column[d] = n
        island_io.column_dof[n] = d
        n += 1
    return n


@inline
def _add_prescribed(island_io, t, i, n):
    """The same for a prescribed tree, once for each island."""
    if t >= 0 and island_io.tree_prescribed[t] != 0 and island_io.tree_island[t] != -2 - i:
        island_io.tree_island[t] = -2 - i
        n = _add_tree(island_io, t, n)
    return n


@inline
def _unmark_prescribed(island_io, t):
    """Forget which island last had the columns of a prescribed tree: islands are opened again in a step."""
    if t >= 0 and island_io.tree_prescribed[t] != 0:
        island_io.tree_island[t] = -1


@inline
def open_island(pair, i, island_io):
    """Columns of the degrees of freedom of island `i`, and the ranges of its trees and contacts.

    Returns how many columns there are.
    """
    counter = island_io.counter
    counter[TREE_FIRST], counter[TREE_END] = island_io.island_trees[i], island_io.island_trees[i + 1]
    counter[CONTACT_FIRST] = island_io.island_contacts[i]
    counter[CONTACT_END] = island_io.island_contacts[i + 1]
    n = 0
    for k in range(counter[TREE_FIRST], counter[TREE_END]):
        n = _add_tree(island_io, island_io.island_tree[k], n)
    for k in range(counter[CONTACT_FIRST], counter[CONTACT_END]):
        contact = island_io.contact_order[k]
        _unmark_prescribed(island_io, island_io.body_tree[pair[contact, 2]])
        _unmark_prescribed(island_io, island_io.body_tree[pair[contact, 3]])
    for k in range(island_io.tie.shape[0]):
        _unmark_prescribed(island_io, island_io.tie[k, 0])
        _unmark_prescribed(island_io, island_io.tie[k, 1])
    for k in range(counter[CONTACT_FIRST], counter[CONTACT_END]):
        contact = island_io.contact_order[k]
        n = _add_prescribed(island_io, island_io.body_tree[pair[contact, 2]], i, n)
        n = _add_prescribed(island_io, island_io.body_tree[pair[contact, 3]], i, n)
    # a tie may reach a prescribed tree
    for k in range(island_io.tie.shape[0]):
        a, b = island_io.tie[k, 0], island_io.tie[k, 1]
        if a >= 0 and b >= 0:
            if island_io.tree_island[a] == i:
                n = _add_prescribed(island_io, b, i, n)
            if island_io.tree_island[b] == i:
                n = _add_prescribed(island_io, a, i, n)
    return n


@inline
def tree_of(tree_dof, d):
    """The tree of a degree of freedom; tree_dof: where trees start, and the end of the last."""
    low, high = 0, tree_dof.shape[0] - 1
    while high - low > 1:
        middle = (low + high) // 2
        if tree_dof[middle] <= d:
            low = middle
        else:
            high = middle
    return low


@inline
def is_small(pair, n, columns, island):
    """Whether factors of the island at hand cost no more than those of `columns` that all touch each other.

    Where only neighbours touch, as in a tower, the matrix has a band: many bodies are as cheap as few. Rows
    are kept at full length, so four times as many columns are the most.
    """
    if n <= columns:
        return True
    if n > 4.0 * columns or n > LARGEST_DENSE:
        return False
    band = 0
    for i in range(island.counter[CONTACT_FIRST], island.counter[CONTACT_END]):
        k = island.contact_order[i]
        a, b = island.body_tree[pair[k, 2]], island.body_tree[pair[k, 3]]
        if a >= 0 and b >= 0:
            first, last = island.dof_column[island.tree_dof[a]], island.dof_column[island.tree_dof[b + 1] - 1]
            if first > last:
                first, last = (
                    island.dof_column[island.tree_dof[b]],
                    island.dof_column[island.tree_dof[a + 1] - 1],
                )
            band = max(band, last - first + 1)
    # a band costs n band^2, a full triangle a third of columns^3
    return 3.0 * n * band * band <= columns * columns * columns


@inline
def padded_columns(n):
    """Columns filled up to whole packs."""
    return max((n + PACK - 1) // PACK * PACK, PACK)
