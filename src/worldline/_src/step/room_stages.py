# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Whether the arrays of a step are large enough for what it found: contacts, then dense islands.

A stage of this file sets SHORT when they are not. The loop over steps (`runner.py`) then returns to Python,
where the arrays grow and keep their contents (`Constraints.make_room`), and the same step goes on from a
stage that has not used what was missing. So nothing is dropped, and a step has the bits of one that had
enough room from the beginning.
"""

from __future__ import annotations

from worldline._src.jit import inline, stage
from worldline._src.kernels.constraints import islands
from worldline._src.kernels.constraints import tables as r
from worldline._src.kernels.constraints.body_blocks import SIDE
from worldline._src.kernels.narrowphase import tables as collision
from worldline._src.kinds import int64
from worldline._src.scalar.memory import address_as, matrix, vector
from worldline._src.step.body_row_stages import row_width, side_columns
from worldline._src.step.island_stages import are_free, have_tree_rows

_CONTACT_ID, _COUNTER = collision.ENTRY["contact_id"], collision.ENTRY["counter"]
_COLLISION_CONTACTS, _COLLISION_PAIRS = collision.ENTRY["ncontact"], collision.ENTRY["npair"]
_CONTACTS, _ROWS, _NV = r.TABLE.entry["ncontact"], r.TABLE.entry["nrow"], r.TABLE.entry["nv"]
_JACOBIAN, _SQUARE = r.TABLE.entry["njacobian"], r.TABLE.entry["nsquare"]
_BLOCKS = r.TABLE.entry["nbetween"]


@stage
def check_contacts(m, c, args, d):
    """contacts -> whether there is room for all of them and for the candidate pairs."""
    hm, ha = address_as(args[r.COLLISION_M], int64), address_as(args[r.COLLISION_ARGS], int64)
    found = vector(ha, hm[_COUNTER], 8)
    most = min(hm[_COLLISION_CONTACTS], m[_CONTACTS])
    pairs = max(found[collision.PAIRS], found[collision.FAT])
    args[r.SHORT] = 1 if found[collision.CONTACTS] > most or pairs > hm[_COLLISION_PAIRS] else 0


@inline
def _most_pairs(island, members, trees, pair):
    """Pairs of nodes that the island at hand may have, each of two trees once for every constraint."""
    total = 0
    for i in range(island.counter[r.CONTACT_FIRST], island.counter[r.CONTACT_END]):
        k = island.contact_order[i]
        a, b = island.body_tree[pair[k, 2]], island.body_tree[pair[k, 3]]
        total += _node_pairs(island, trees, a, b)
    for i in range(island.counter[r.TREE_FIRST], island.counter[r.TREE_END]):
        t = island.island_tree[i]
        nodes = trees.tree_node[t + 1] - trees.tree_node[t]
        total += nodes * (nodes - 1) // 2
        for k in range(members.tree_equality[t], members.tree_equality[t + 1]):
            one = members.equality_order[k]
            total += _node_pairs(island, trees, trees.equality_tree[one, 0], trees.equality_tree[one, 1])
        for k in range(members.tree_tendon[t], members.tree_tendon[t + 1]):
            one = members.tendon_order[k]
            total += _node_pairs(island, trees, trees.tendon_tree[one, 0], trees.tendon_tree[one, 1])
    return total


@inline
def _node_pairs(island, trees, a, b):
    """Pairs of nodes of trees `a` and `b`."""
    found = 0
    if a >= 0 and b >= 0 and a != b:
        found = side_columns(island, trees.tree_node, a) * side_columns(island, trees.tree_node, b)
    return found // (SIDE * SIDE)


@stage
def check_islands(m, c, args, d):
    """islands -> whether there is room for the rows and matrices of all of them.

    Rows are counted by what an island may have: those of its trees, and the most that a contact can have.
    """
    counter, pair = r.link_view(m, c, args, d).counter, r.contact_frame_view(m, c, args, d).contact_row
    option, island = r.link_view(m, c, args, d).option, r.island_view(m, c, args, d)
    room, trees, members = (
        r.tree_room_view(m, c, args, d),
        r.body_tree_view(m, c, args, d),
        r.member_view(m, c, args, d),
    )
    counter[r.JACOBIAN_NEED], counter[r.SQUARE_NEED], counter[r.BLOCK_NEED], args[r.SHORT] = 0, 0, 0, 0
    whole = islands.padded_columns(m[_NV])
    all_dense = m[_JACOBIAN] >= m[_ROWS] * whole and m[_SQUARE] >= whole * whole
    if all_dense and m[_NV] <= option[r.TREE_COLUMNS]:
        # there is room for one island of everything
        return
    if args[r.COLLISION_M] != 0:
        hm, ha = address_as(args[r.COLLISION_M], int64), address_as(args[r.COLLISION_ARGS], int64)
        pair = matrix(ha, hm[_CONTACT_ID], hm[_COLLISION_CONTACTS], 6)
    prescribed = 0
    for t in range(island.tree_prescribed.shape[0]):
        if island.tree_prescribed[t] != 0:
            prescribed += island.tree_dof[t + 1] - island.tree_dof[t]
    for i in range(counter[r.ISLANDS]):
        contacts = island.island_contacts[i + 1] - island.island_contacts[i]
        rows, most = int(option[r.CONTACT_ROWS]) * contacts, prescribed
        for k in range(island.island_trees[i], island.island_trees[i + 1]):
            t = island.island_tree[k]
            rows += room.tree_rows[t]
            most += island.tree_dof[t + 1] - island.tree_dof[t]
        # nearly all islands are so small that it does not matter which prescribed trees they touch
        width = islands.padded_columns(most)
        fits = rows * width <= m[_JACOBIAN] and width * width <= m[_SQUARE]
        if rows == 0 or (fits and most <= option[r.TREE_COLUMNS]):
            continue
        n = islands.open_island(pair, i, island)
        is_free, by_rows = are_free(room.tree_link, island), False
        if is_free:
            dense = islands.is_small(pair, n, option[r.FREE_COLUMNS], island)
            by_rows = not dense and option[r.BODY_ROWS] != 0.0
        else:
            by_rows = have_tree_rows(island, room, n, option[r.TREE_COLUMNS])
            dense = not by_rows
        if by_rows:
            _, width = row_width(island, members, trees, pair)
            counter[r.JACOBIAN_NEED] = max(counter[r.JACOBIAN_NEED], rows * width)
            counter[r.BLOCK_NEED] = max(counter[r.BLOCK_NEED], _most_pairs(island, members, trees, pair))
        if dense:
            width = islands.padded_columns(n)
            counter[r.JACOBIAN_NEED] = max(counter[r.JACOBIAN_NEED], rows * width)
            counter[r.SQUARE_NEED] = max(counter[r.SQUARE_NEED], width * width)
    short = counter[r.JACOBIAN_NEED] > m[_JACOBIAN] or counter[r.SQUARE_NEED] > m[_SQUARE]
    args[r.SHORT] = 1 if short or counter[r.BLOCK_NEED] > m[_BLOCKS] else 0
