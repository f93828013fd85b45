# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Whether the arrays of a step are large enough for what it found: contacts, then dense islands.

A stage of this file sets SHORT when they are not. The loop over steps (`runner.py`) then returns to Python,
where the arrays grow and keep their contents (`Constraints.make_room`), and the same step goes on from a
stage that has not used what was missing. So nothing is dropped, and a step has the bits of one that had
enough room from the beginning.
"""

from __future__ import annotations

from worldline._src.jit import stage
from worldline._src.kernels.constraints import islands
from worldline._src.kernels.constraints.body_blocks import BODY_COLUMNS
from worldline._src.kernels.constraints.tables import (
    BODY_ROWS,
    COLLISION_ARGS,
    COLLISION_M,
    CONTACT_ROWS,
    FREE_COLUMNS,
    ISLANDS,
    JACOBIAN_NEED,
    SHORT,
    SQUARE_NEED,
    TABLE,
    contact_frame_view,
    island_view,
    link_view,
    tree_room_view,
)
from worldline._src.kernels.narrowphase import tables as collision
from worldline._src.kinds import int64
from worldline._src.scalar.memory import address_as, matrix, vector
from worldline._src.step.body_row_stages import row_columns
from worldline._src.step.island_stages import are_free

_CONTACT_ID, _COUNTER = collision.ENTRY["contact_id"], collision.ENTRY["counter"]
_COLLISION_CONTACTS, _COLLISION_PAIRS = collision.ENTRY["ncontact"], collision.ENTRY["npair"]
_CONTACTS, _ROWS, _NV = TABLE.entry["ncontact"], TABLE.entry["nrow"], TABLE.entry["nv"]
_JACOBIAN, _SQUARE = TABLE.entry["njacobian"], TABLE.entry["nsquare"]


@stage
def check_contacts(m, c, args, d):
    """contacts -> whether there is room for all of them and for the candidate pairs."""
    hm, ha = address_as(args[COLLISION_M], int64), address_as(args[COLLISION_ARGS], int64)
    found = vector(ha, hm[_COUNTER], 8)
    most = min(hm[_COLLISION_CONTACTS], m[_CONTACTS])
    pairs = max(found[collision.PAIRS], found[collision.FAT])
    args[SHORT] = 1 if found[collision.CONTACTS] > most or pairs > hm[_COLLISION_PAIRS] else 0


@stage
def check_islands(m, c, args, d):
    """islands -> whether there is room for the Jacobian and the matrices of those that are solved densely.

    Rows are counted by what an island may have: those of its trees, and the most that a contact can have.
    """
    counter, pair = link_view(m, c, args, d).counter, contact_frame_view(m, c, args, d).contact_row
    option, island = link_view(m, c, args, d).option, island_view(m, c, args, d)
    room = tree_room_view(m, c, args, d)
    counter[JACOBIAN_NEED], counter[SQUARE_NEED], args[SHORT] = 0, 0, 0
    whole = islands.padded_columns(m[_NV])
    if m[_JACOBIAN] >= m[_ROWS] * whole and m[_SQUARE] >= whole * whole:
        # there is room for one island of everything
        return
    if args[COLLISION_M] != 0:
        hm, ha = address_as(args[COLLISION_M], int64), address_as(args[COLLISION_ARGS], int64)
        pair = matrix(ha, hm[_CONTACT_ID], hm[_COLLISION_CONTACTS], 6)
    prescribed = 0
    for t in range(island.tree_prescribed.shape[0]):
        if island.tree_prescribed[t] != 0:
            prescribed += island.tree_dof[t + 1] - island.tree_dof[t]
    for i in range(counter[ISLANDS]):
        contacts = island.island_contacts[i + 1] - island.island_contacts[i]
        rows, most = int(option[CONTACT_ROWS]) * contacts, prescribed
        for k in range(island.island_trees[i], island.island_trees[i + 1]):
            t = island.island_tree[k]
            rows += room.tree_rows[t]
            most += island.tree_dof[t + 1] - island.tree_dof[t]
        # nearly all islands are so small that it does not matter which prescribed trees they touch
        width = islands.padded_columns(most)
        if rows * width <= m[_JACOBIAN] and width * width <= m[_SQUARE]:
            continue
        n = islands.open_island(pair, i, island)
        free = not islands.is_small(pair, n, option[FREE_COLUMNS], island) and are_free(
            room.tree_link, island
        )
        if rows > 0 and free and option[BODY_ROWS] != 0.0:
            width = BODY_COLUMNS
            for k in range(island.island_contacts[i], island.island_contacts[i + 1]):
                a, b = pair[island.contact_order[k], 2], pair[island.contact_order[k], 3]
                width = max(width, row_columns(island, island.body_tree[a], island.body_tree[b]))
            counter[JACOBIAN_NEED] = max(counter[JACOBIAN_NEED], rows * islands.padded_columns(width))
        if rows > 0 and not free:
            width = islands.padded_columns(n)
            counter[JACOBIAN_NEED] = max(counter[JACOBIAN_NEED], rows * width)
            counter[SQUARE_NEED] = max(counter[SQUARE_NEED], width * width)
    if counter[JACOBIAN_NEED] > m[_JACOBIAN] or counter[SQUARE_NEED] > m[_SQUARE]:
        args[SHORT] = 1
