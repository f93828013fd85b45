# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rows packed world by world, so that Newton's method of several worlds sees few rows that only others have.

The rows of the fixed layout are all that any world of a group needs: in eight worlds of a humanoid some fifty
to hundred, of which a world has ten to twenty. Rows of contacts are packed: row p holds in every lane the
p-th row that counts in its world, wherever that is in the list. Rows of single joints, which touch a column
or two, stay as they are, and so do plain rows of contacts in models of few columns and where a world has half
of them. Order: rows of joints, plain rows of contacts, then cones of 3, 4 and 6 rows; each kind ends at the
count of the world that has most. Lanes with fewer have neutral rows, whose D and bounds are zero: they add
nothing, exactly, so a world has the same bits whatever worlds beside it have, and whether rows are packed.

Columns in which a row may be other than zero are the bits of an integer. A packed row has those of all
worlds, and GROUP rows of contacts that follow each other are given the same list of columns, which is made
anew only where these bits are not those of the last step.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.lane_parts import gather_row, get_lane, set_lane
from worldline._src.kernels.constraints.rows import CONE, EQUALITY, FRICTION
from worldline._src.kernels.constraints.tables import OF_CONTACT
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.ops import any_of, constant, unsigned, where

GROUP = 4
"""Rows of contacts that share a list of columns; packed rows are filled up to a multiple of it."""
MOST_COLUMNS = 62
"""Columns that fit into the bits of an integer."""
FEW_COLUMNS = 12
"""Columns up to which plain rows of contacts stay as they are: packing them costs more than it saves."""
UNBOUNDED = 1e300
"""No force is larger."""
SINGLES, PLAIN, THREES, FOURS, SIXES, LANES, ALIKE, FILLED = range(8)
"""Where kinds of packed rows end; the number of lanes, 1 for one world; where rows end that are the same row
in every world; the rows of every world."""


class PackedRows(NamedTuple):
    """Rows that count, packed; scalars of the state, but for the integers.

    J: (capacity, width). aref, D: (capacity,). low, high: bounds of the force; the coefficients of a cone are
    in low, and D_m of its sliding zone is in the first of high. force: guess and solution. column:
    (capacity, width), columns of row k, of which there are count[k]; mask: the same as bits. source: row of
    the fixed layout for every world, -1 for none; where it is the same row, in the first alone. end: see
    SINGLES.
    """

    J: Any
    aref: Any
    D: Any
    low: Any
    high: Any
    force: Any
    column: Any
    count: Any
    mask: Any
    source: Any
    end: Any


@inline
def _list_contacts(rows, notes, active, n, size, start, packed_out):
    """Rows of contacts whose constraint has `size` rows, from `start` on; returns where they end."""
    lanes, source, filled = packed_out.end[LANES], packed_out.source, packed_out.end
    for lane in range(lanes):
        filled[FILLED + lane] = start
    k = 0
    while k < n:
        dim = max(rows.dim[k], 1) if rows.kind[k] == CONE else 1
        if dim == size and notes.row_note[k, 0] == OF_CONTACT:
            for lane in range(lanes):
                at = filled[FILLED + lane]
                for i in range(size):
                    # overwritten by the next row when this one does not count
                    source[at + i, lane] = k + i
                filled[FILLED + lane] = at + (size if get_lane(active, k, lane, lanes) > 0.5 else 0)
        k += dim
    most = start
    for lane in range(lanes):
        most = max(most, filled[FILLED + lane])
    _no_rows(lanes, start, most, packed_out)
    return most


@inline
def _no_rows(lanes, start, most, packed_out):
    """Lanes have no rows between their own end and `most`."""
    for lane in range(lanes):
        for p in range(packed_out.end[FILLED + lane], most):
            packed_out.source[p, lane] = -1


@inline
def _mask_of(packed, mask, first, end, lanes):
    """Columns of packed rows `first` to `end` - 1 in any world."""
    made = 0
    for p in range(first, end):
        for lane in range(lanes):
            k = packed.source[p, lane]
            if k >= 0:
                made |= mask[k]
    return made


@inline
def _list_columns(mask, width, p, packed_out):
    """The list of columns of packed row `p`, where it is not that of the last step."""
    if packed_out.mask[p] != mask:
        packed_out.mask[p], count = mask, 0
        for d in range(width):
            # overwritten by the next column when this one is not in the mask
            packed_out.column[p, count] = d
            count += (mask >> d) & 1
        packed_out.count[p] = count


@inline
def _fill_alike(rows, active, force, p, packed_out):
    """Numbers of a row that is the same in all worlds that have it."""
    k = unsigned(packed_out.source[p, 0])
    zero, counts = constant(0.0, force[0]), active[k] > 0.5
    low, high = zero, constant(UNBOUNDED, zero)
    if rows.kind[k] == EQUALITY:
        low = -high
    elif rows.kind[k] == FRICTION:
        low, high = -rows.bound[k], rows.bound[k]
    packed_out.aref[p], packed_out.D[p] = where(counts, rows.aref[k], zero), where(counts, rows.D[k], zero)
    packed_out.low[p], packed_out.high[p] = where(counts, low, zero), where(counts, high, zero)
    packed_out.force[p] = where(counts, force[k], zero)
    for e in range(packed_out.count[p]):
        d = unsigned(packed_out.column[p, e])
        packed_out.J[p, d] = rows.J[k, d]


@inline
def _list_alike(notes, n, contacts, start, packed_out):
    """Rows of contacts, or all others, one after the other from `start` on; returns where they end."""
    at = start
    for k in range(n):
        # overwritten by the next row when this one is none of them
        packed_out.source[at, 0] = k
        at += 1 if (notes.row_note[k, 0] == OF_CONTACT) == contacts else 0
    return at


@inline
def _is_common(active, start, end, packed):
    """Whether a world has half of the rows listed from `start` to `end` - 1: packing costs more then."""
    most = constant(0.0, active[0])
    for p in range(start, end):
        most = most + active[unsigned(packed.source[p, 0])]
    return any_of(2.0 * most >= end - start)


@inline
def _fill_none(width, force, p, packed_out):
    """Numbers of a row that no world has."""
    zero = constant(0.0, force[0])
    packed_out.aref[p], packed_out.D[p], packed_out.force[p] = zero, zero, zero
    packed_out.low[p], packed_out.high[p] = zero, zero
    for d in range(width):
        packed_out.J[p, d] = zero


@inline
def _fill_contact(rows, cone, width, force, p, packed_out):
    """Numbers of a row of contacts; worlds without it have other numbers in J, finite, and no D."""
    zero, lanes = constant(0.0, force[0]), packed_out.end[LANES]
    packed_out.aref[p], packed_out.D[p], packed_out.force[p] = zero, zero, zero
    packed_out.low[p], packed_out.high[p] = zero, zero
    for lane in range(lanes):
        k = packed_out.source[p, lane]
        if k >= 0:
            D, low, high = get_lane(rows.D, k, lane, lanes), 0.0, UNBOUNDED
            if cone:
                # D_m of the sliding zone, see `cone.py`; of use in the first row of a cone
                low = get_lane(rows.bound, k, lane, lanes)
                high = D * (1.0 / (low * low * (1.0 + low * low)))
            set_lane(packed_out.aref, p, lane, lanes, get_lane(rows.aref, k, lane, lanes))
            set_lane(packed_out.D, p, lane, lanes, D)
            set_lane(packed_out.force, p, lane, lanes, get_lane(force, k, lane, lanes))
            set_lane(packed_out.low, p, lane, lanes, low)
            set_lane(packed_out.high, p, lane, lanes, high)
    if cone:
        # rows of a cone may have other lists
        for d in range(width):
            packed_out.J[p, d] = zero
    gather_row(rows.J, packed_out.source, p, packed_out.column, packed_out.count[p], lanes, packed_out.J)


@kernel
def pack_rows(rows, notes, mask, n, cones, width, force, packed_out):
    """Pack `n` rows, with their guesses; returns the count of packed rows.

    mask: columns of a row. cones: whether there can be any. width: how many columns there are. O(n) a world,
    and the columns of its rows.
    """
    ends, lanes, active, source = packed_out.end, packed_out.end[LANES], notes.row_active, packed_out.source
    first = _list_alike(notes, n, False, 0, packed_out)
    for p in range(first):
        _list_columns(mask[source[p, 0]], width, p, packed_out)
        _fill_alike(rows, active, force, p, packed_out)
    end = first if cones else _list_alike(notes, n, True, first, packed_out)
    alike = not cones and (width <= FEW_COLUMNS or _is_common(active, first, end, packed_out))
    ends[SINGLES], ends[ALIKE] = first, (end if alike else first)
    ends[PLAIN] = end if alike else _list_contacts(rows, notes, active, n, 1, first, packed_out)
    ends[THREES], ends[FOURS], ends[SIXES] = ends[PLAIN], ends[PLAIN], ends[PLAIN]
    if cones:
        ends[THREES] = _list_contacts(rows, notes, active, n, 3, ends[PLAIN], packed_out)
        ends[FOURS] = _list_contacts(rows, notes, active, n, 4, ends[THREES], packed_out)
        ends[SIXES] = _list_contacts(rows, notes, active, n, 6, ends[FOURS], packed_out)
    count = first + (ends[SIXES] - first + GROUP - 1) // GROUP * GROUP
    for lane in range(lanes):
        ends[FILLED + lane] = ends[SIXES]
    _no_rows(lanes, ends[SIXES], count, packed_out)
    for p in range(first, count, GROUP):
        found = _mask_of(packed_out, mask, p, p + GROUP, 1 if alike else lanes)
        for i in range(p, p + GROUP):
            _list_columns(found, width, i, packed_out)
            if not alike:
                _fill_contact(rows, cones and i >= ends[PLAIN], width, force, i, packed_out)
            elif i < ends[ALIKE]:
                _fill_alike(rows, active, force, i, packed_out)
            else:
                _fill_none(width, force, i, packed_out)
    return count


@kernel
def unpack_forces(packed, active, done, force_io):
    """Forces of packed rows at the rows they come from; worlds that are done keep theirs.

    active: where a row of the fixed layout counts. done: (1 or more,), of which the first says where a world
    is done.
    """
    lanes, goes_on = packed.end[LANES], done[0] < 0.5
    for p in range(packed.end[ALIKE]):
        k = unsigned(packed.source[p, 0])
        force_io[k] = where(goes_on & (active[k] > 0.5), packed.force[p], force_io[k])
    for p in range(packed.end[ALIKE], packed.end[SIXES]):
        for lane in range(lanes):
            k = packed.source[p, lane]
            if k >= 0 and get_lane(done, 0, lane, lanes) < 0.5:
                set_lane(force_io, k, lane, lanes, get_lane(packed.force, p, lane, lanes))
