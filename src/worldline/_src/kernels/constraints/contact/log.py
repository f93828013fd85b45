# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Contact events: pairs of bodies that begin or cease to touch, logged step by step.

A step compares its set of touching pairs with that of the step before. A call of many steps leaves the events
of all its steps: their array grows (`step/contact_log.py`). Only beyond `LARGEST` it is a ring buffer: the
oldest events are overwritten, and the counter says how many.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.scalar.columns import Columns, Integers, Table, integers

ROWS_M, ROWS_C, ROWS_ARGS, ROWS_D = range(4)
"""Links: addresses of the arenas of the constraint rows."""
EVENTS, FRAME, PAIRS = range(3)
"""Counters: events since the call began, steps since the start, pairs that touched in the last step."""
BEGIN, END = 0, 1
CAPACITY, LARGEST = 1024, 1 << 20
"""Events of one call that there is room for at the start, and that are kept at most."""


class LogColumns(Columns):
    """Contact events, and the pairs that touch."""

    link: Integers = integers(8, doc="Addresses of the arenas of the constraint rows.")
    counter: Integers = integers(8, doc="See above.")
    event: Integers = integers("nevent", 4, doc="Frame, begin or end, and the two bodies; a ring buffer.")
    pair: Integers = integers("npair", 2, doc="Bodies that touch in this step, the lower number first.")
    last_pair: Integers = integers("npair", 2, doc="The same of the step before.")
    seen: Integers = integers("npair", doc="1 for a pair of this step that touched before.")
    bucket: Integers = integers("nbucket", doc="Hash table of the pairs of this step.")


TABLE = Table(LogColumns)
log_view = TABLE.cut(LogColumns)

_EMPTY = -1


@inline
def _find(pairs, buckets, a, b, mask):
    """The bucket of a pair, or the empty one where it belongs: open addressing."""
    s = (a * 73856093 + b * 19349663) & mask
    while buckets[s] != _EMPTY and (pairs[buckets[s], 0] != a or pairs[buckets[s], 1] != b):
        s = (s + 1) & mask
    return s


@inline
def _append(log, kind, a, b):
    """One event at the end of the ring buffer."""
    row = log.counter[EVENTS] % log.event.shape[0]
    log.event[row, 0], log.event[row, 1] = log.counter[FRAME], kind
    log.event[row, 2], log.event[row, 3] = a, b
    log.counter[EVENTS] += 1


@kernel
def log_contacts(contact_id, contact, contact_row, contact_force, count, log_io):
    """Contact events of a step: set difference of touching pairs by hashing. O(contacts).

    Returns 0, or how many events there must be room for: the log is as before then, and the same call goes on
    once it has grown.
    """
    pairs, last, seen, buckets = log_io.pair, log_io.last_pair, log_io.seen, log_io.bucket

    # pairs that overlap or push, each once
    size = 16
    while size < 2 * count:
        size *= 2
    mask = size - 1
    for s in range(size):
        buckets[s] = _EMPTY
    found = 0
    for k in range(count):
        # without a normal force there is no other
        touching = (contact[k, 6] >= 0.0) | (contact_force[k, 0] != 0.0)
        if touching and contact_row[k, 0] >= 0:
            a, b = min(contact_id[k, 2], contact_id[k, 3]), max(contact_id[k, 2], contact_id[k, 3])
            s = _find(pairs, buckets, a, b, mask)
            if buckets[s] == _EMPTY:
                buckets[s] = found
                pairs[found, 0], pairs[found, 1] = a, b
                seen[found] = 0
                found += 1

    # how many there are in both sets; the others are events
    both = 0
    for k in range(log_io.counter[PAIRS]):
        s = _find(pairs, buckets, last[k, 0], last[k, 1], mask)
        if buckets[s] != _EMPTY:
            seen[buckets[s]] = 1
            both += 1
    needed = log_io.counter[EVENTS] + log_io.counter[PAIRS] + found - 2 * both
    if log_io.event.shape[0] < min(needed, LARGEST):
        return needed

    # before without now: end; now without before: begin
    log_io.counter[FRAME] += 1
    for k in range(log_io.counter[PAIRS]):
        if buckets[_find(pairs, buckets, last[k, 0], last[k, 1], mask)] == _EMPTY:
            _append(log_io, END, last[k, 0], last[k, 1])
    for k in range(found):
        if seen[k] == 0:
            _append(log_io, BEGIN, pairs[k, 0], pairs[k, 1])
        last[k, 0], last[k, 1] = pairs[k, 0], pairs[k, 1]
    log_io.counter[PAIRS] = found
    return 0
