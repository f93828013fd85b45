# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Reach the other arenas of a step by their addresses, which stand at the front of `args`.

A stage is compiled for the scalar of its own data arena. What it finds by address holds numbers of that
scalar too, so a stage need not say which one it is.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline
from worldline._src.kernels.constraints import tables as r
from worldline._src.kernels.narrowphase.tables import ENTRY
from worldline._src.kinds import int64
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.memory import address_as, address_like, constants_like, matrix, vector

_CONTACT, _CONTACT_ID = ENTRY["contact"], ENTRY["contact_id"]
_COUNTER, _NCONTACT = ENTRY["counter"], ENTRY["ncontact"]
_SHAPE_TYPE, _SHAPE_X, _NSHAPE = ENTRY["shape_type"], ENTRY["shape_X_W"], ENTRY["nshape"]


class Bodies(NamedTuple):
    """Trees as rows see them."""

    dof: Any
    tree: Any
    pos: Any
    body_link: Any
    body_invweight: Any
    option: Any
    column: Any


class FoundContacts(NamedTuple):
    """The contacts of the collision tables."""

    counter: Any
    contact: Any
    contact_id: Any
    shape_type: Any
    shape_X_W: Any


class ContactPairs(NamedTuple):
    """Contacts by shapes and bodies."""

    ids: Any


@inline
def trees_of(args, d):
    """The arenas of the trees: m, c, d; numbers are of the kind of those in `d`."""
    return (
        address_as(args[r.TREE_M], int64),
        constants_like(args[r.TREE_C], d),
        address_like(args[r.TREE_D], d),
    )


@inline
def contacts_of(args, d):
    """The contacts of the collision tables."""
    hm, ha = address_as(args[r.COLLISION_M], int64), address_as(args[r.COLLISION_ARGS], int64)
    hd = address_like(args[r.COLLISION_D], d)
    return FoundContacts(
        vector(ha, hm[_COUNTER], 8),
        matrix(hd, hm[_CONTACT], hm[_NCONTACT], 7),
        matrix(ha, hm[_CONTACT_ID], hm[_NCONTACT], 6),
        vector(hm, hm[_SHAPE_TYPE], hm[_NSHAPE]),
        matrix(hd, hm[_SHAPE_X], hm[_NSHAPE], 12),
    )


@inline
def pairs_of(m, c, args, d):
    """Contacts by shapes and bodies; there is nothing to be read where nothing collides."""
    pair = r.contact_frame_view(m, c, args, d).contact_row
    if args[r.COLLISION_M] != 0:
        hm, ha = address_as(args[r.COLLISION_M], int64), address_as(args[r.COLLISION_ARGS], int64)
        pair = matrix(ha, hm[_CONTACT_ID], hm[_NCONTACT], 6)
    return ContactPairs(pair)
