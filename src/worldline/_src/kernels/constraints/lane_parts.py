# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Single worlds of arrays of scalars, for kernels in which every world packs rows of its own.

An array of lanes is one of plain numbers with the world as its last axis; `lanes` is the number of worlds, 1
where scalars are doubles.
"""

from __future__ import annotations

from worldline._src.jit import inline
from worldline._src.scalar.memory import pointer_to_worlds, vector


@inline
def get_lane(array, k, lane, lanes):
    """Element `k` of a vector of scalars, in one world."""
    return vector(pointer_to_worlds(array), 0, array.shape[0] * lanes)[k * lanes + lane]


@inline
def set_lane(array, k, lane, lanes, x):
    """Write element `k` of a vector of scalars, in one world."""
    vector(pointer_to_worlds(array), 0, array.shape[0] * lanes)[k * lanes + lane] = x


@inline
def get_element(array, k, j, lane, lanes):
    """Element [k, j] of a matrix of scalars, in one world."""
    return get_lane(array[k], j, lane, lanes)


@inline
def set_element(array, k, j, lane, lanes, x):
    """Write element [k, j] of a matrix of scalars, in one world."""
    set_lane(array[k], j, lane, lanes, x)


@inline
def gather_row(source, index, p, column, count, lanes, target):
    """Row `p` of a matrix becomes in every world row index[p, world] of another one.

    Only the first `count` columns of the list column[p] are written. Row 0 stands in for rows below zero.
    """
    wide = source.shape[1]
    made = vector(pointer_to_worlds(target[p]), 0, wide * lanes)
    for lane in range(lanes):
        given = vector(pointer_to_worlds(source[max(index[p, lane], 0)]), 0, wide * lanes)
        for e in range(count):
            at = column[p, e] * lanes + lane
            made[at] = given[at]
