# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Contacts of pairs that have no kernel free of branches, one world of a group of lanes at a time.

GJK, EPA and clipping branch on numbers, so lanes cannot share them. The stage here takes the body poses of
one lane after the other into arenas of one world, leaves out pairs whose boxes are apart, runs the narrow
phase of one world on the rest, and puts the contacts into the rows of their pairs. A world has the same
contacts in any lane. That is done in double precision, also for lanes of single precision.

A block of integers, whose address is in the args of the collision tables, holds what the stage needs:

    addresses of m, c, args, d of the single world; lanes of a group; number of stages, and their addresses;
    room for the pairs of a step: for each its shapes, its first row, and scratch for the rows that are filled
"""

from __future__ import annotations

from worldline._src.jit import DISABLED, Stage, inline, kernel, stage
from worldline._src.kernels.narrowphase.lanes import PAIR_CONTACTS, has_fixed_contacts
from worldline._src.kernels.narrowphase.tables import (
    BOTTOMLESS,
    CONTACTS,
    ENTRY,
    PAIRS,
    bucket_view,
    contact_view,
    pair_view,
    shape_box_view,
    shape_view,
)
from worldline._src.kinds import float64, int64
from worldline._src.scalar.memory import address_as, call_stage, matrix, pointer_to_worlds, vector

SINGLE_LINK = 7
"""Where the args of the collision tables have the address of the block."""
ADDRESSES, WIDTH, STAGE_COUNT, FIRST_STAGE = 0, 4, 5, 6
MOST_STAGES = 8
FIRST_PAIR = FIRST_STAGE + MOST_STAGES
PAIR_COLUMNS = 5
"""Two shapes, the first row, rows that are filled, and the pair that a candidate is."""
_A, _B, _FIRST, _FILLED, _CANDIDATE = range(PAIR_COLUMNS)
CONTACT_NUMBERS = 8
_NBODY, _BODIES = ENTRY["nbody"], ENTRY["body_X_W"]
_NCONTACT, _CONTACTS = ENTRY["nfixed_contact"], ENTRY["fixed_contact"]

STAGES: list[Stage] = []
"""Stages by number, which stand for addresses without the compiler."""


def _call_python(address, m, c, args, d):
    STAGES[int(address)](m, c, args, d)


@inline
def _call_compiled(address, m, c, args, d):
    call_stage(address, m, c, args, d)


_call = _call_python if DISABLED else _call_compiled


@kernel
def list_single_pairs(shape_type, buckets, todo_out):
    """Pairs of the group that have no kernel for lanes, with their first rows; returns how many."""
    count = 0
    for q in range(buckets.counter[PAIRS]):
        a, b = buckets.pair[q, 0], buckets.pair[q, 1]
        low, high = min(shape_type[a], shape_type[b]), max(shape_type[a], shape_type[b])
        if not has_fixed_contacts(low, high):
            todo_out[count, _A], todo_out[count, _B], todo_out[count, _FIRST] = a, b, PAIR_CONTACTS * q
            count += 1
    return count


@inline
def _apart(box, a, b):
    """Whether boxes of two shapes, grown by their margins, do not overlap."""
    apart = False
    for k in range(3):
        if box[a, k] > box[b, k + 3] or box[b, k] > box[a, k + 3]:
            apart = True
    return apart


@kernel
def near_pairs(box, todo_io, pairs_out):
    """Candidates of a world: pairs of the block whose boxes overlap."""
    count = 0
    for k in range(todo_io.shape[0]):
        todo_io[k, _FILLED] = 0
        if not _apart(box, todo_io[k, _A], todo_io[k, _B]):
            pairs_out.pair[count, 0], pairs_out.pair[count, 1] = todo_io[k, _A], todo_io[k, _B]
            todo_io[count, _CANDIDATE] = k
            count += 1
    pairs_out.counter[PAIRS] = count
    return count


@kernel
def fill_contacts(found, lane, width, todo_io, contact_out):
    """Contacts of a world into the rows of its lane; rows without one are empty."""
    for k in range(todo_io.shape[0]):
        for row in range(todo_io[k, _FIRST], todo_io[k, _FIRST] + PAIR_CONTACTS):
            contact_out[(CONTACT_NUMBERS * row + 6) * width + lane] = -BOTTOMLESS
    for i in range(found.counter[CONTACTS]):
        k = todo_io[found.contact_id[i, 5], _CANDIDATE]
        filled = todo_io[k, _FILLED]
        if filled < PAIR_CONTACTS:
            at = CONTACT_NUMBERS * (todo_io[k, _FIRST] + filled)
            for j in range(7):
                contact_out[(at + j) * width + lane] = found.contact[i, j]
            todo_io[k, _FILLED] = filled + 1


@stage
def narrow_single(m, c, args, d):
    """Body poses -> contacts of pairs without a kernel for lanes, world by world."""
    block = address_as(args[SINGLE_LINK], int64)
    width, nbody, group = block[WIDTH], m[_NBODY], bucket_view(m, c, args, d)
    m1, c1 = address_as(block[ADDRESSES], int64), address_as(block[ADDRESSES + 1], float64)
    a1, d1 = address_as(block[ADDRESSES + 2], int64), address_as(block[ADDRESSES + 3], float64)
    todo = matrix(block, FIRST_PAIR, group.pair.shape[0], PAIR_COLUMNS)
    count = list_single_pairs(shape_view(m, c, args, d).shape_type, group, todo)
    todo = matrix(block, FIRST_PAIR, count, PAIR_COLUMNS)
    # numbers of all lanes one by one
    poses = vector(pointer_to_worlds(vector(d, m[_BODIES], 12 * nbody)), 0, 12 * nbody * width)
    numbers = m[_NCONTACT] * CONTACT_NUMBERS
    contact = vector(pointer_to_worlds(vector(d, m[_CONTACTS], numbers)), 0, numbers * width)
    own = vector(d1, m1[_BODIES], 12 * nbody)
    for lane in range(width):
        for k in range(12 * nbody):
            own[k] = poses[k * width + lane]
        # boxes, then the narrow phase where any overlap
        _call(block[FIRST_STAGE], m1, c1, a1, d1)
        found = contact_view(m1, c1, a1, d1)
        found.counter[CONTACTS] = 0
        if near_pairs(shape_box_view(m1, c1, a1, d1).box, todo, pair_view(m1, c1, a1, d1)) > 0:
            for k in range(1, block[STAGE_COUNT]):
                _call(block[FIRST_STAGE + k], m1, c1, a1, d1)
        fill_contacts(found, lane, width, todo, contact)
