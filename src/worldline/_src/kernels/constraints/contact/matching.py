# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Contacts across steps: which contact of this step is which of the last, by shapes and feature.

A hash table with open addressing, made anew in every step, finds persistent contacts in constant time. What
the last step found out about a contact, its forces, is then the guess of this one. Where edges lie on edges,
as in a tower of equal boxes, rounding decides which feature a corner is: contacts without a match take the
nearest of the same shapes that is left, which a second table finds by shapes alone. Those without a match are
new.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.tables import CONTACT_COUNT, LAST_COUNT

_EMPTY = -1


@inline
def _bucket(a, b, feature, mask):
    """Where to look first; products of large odd numbers spread neighbouring keys."""
    return (a * 73856093 + b * 19349663 + feature * 83492791) & mask


@kernel
def remember_contacts(pair, contact, contact_row, memory_io):
    """Keep identities and forces of the contacts of the last step, before new ones take their place.

    Contacts that overlap or push are marked as touching.
    """
    count = memory_io.counter[CONTACT_COUNT]
    last, force, kept = memory_io.last_id, memory_io.contact_force, memory_io.last_force
    for k in range(count):
        last[k, 0], last[k, 1], last[k, 2] = pair[k, 0], pair[k, 1], pair[k, 4]
        for j in range(6):
            kept[k, j] = force[k, j]
        for j in range(3):
            memory_io.last_point[k, j] = contact[k, j]
        # without a normal force there is no other
        touching = (contact[k, 6] >= 0.0) | (force[k, 0] != 0.0)
        last[k, 3] = 1 if touching and contact_row[k, 0] >= 0 else 0
    memory_io.counter[LAST_COUNT] = count


@inline
def _index_pairs(last, before, buckets_io, start, mask):
    """Second table, of `mask` + 1 buckets from `start` on: where contacts of two shapes begin, by shapes."""
    for s in range(start, start + mask + 1):
        buckets_io[s] = _EMPTY
    for k in range(before):
        if k == 0 or last[k, 0] != last[k - 1, 0] or last[k, 1] != last[k - 1, 1]:
            s = _bucket(last[k, 0], last[k, 1], 0, mask)
            while buckets_io[start + s] != _EMPTY:
                s = (s + 1) & mask
            buckets_io[start + s] = k


@inline
def _nearest(pair, contact, k, before, start, mask, memory):
    """The nearest contact of the last step between the same shapes that no other has taken, or -1."""
    last, point, buckets = memory.last_id, memory.last_point, memory.bucket
    a, b = pair[k, 0], pair[k, 1]
    best, least = -1, 0.0
    s = _bucket(a, b, 0, mask)
    while buckets[start + s] != _EMPTY:
        j = buckets[start + s]
        while j < before and last[j, 0] == a and last[j, 1] == b:
            if buckets[j] == _EMPTY:
                x, y, z = (
                    contact[k, 0] - point[j, 0],
                    contact[k, 1] - point[j, 1],
                    contact[k, 2] - point[j, 2],
                )
                distance = x * x + y * y + z * z
                # the first of several that are as near
                if best < 0 or distance < least or (distance == least and j < best):
                    best, least = j, distance
            j += 1
        s = (s + 1) & mask
    return best


@kernel
def match_contacts(pair, contact, count, memory_out):
    """Index in the last step of every persistent contact, -1 for new ones. O(contacts)."""
    buckets, last, match = memory_out.bucket, memory_out.last_id, memory_out.contact_match
    before = memory_out.counter[LAST_COUNT]
    size = 16
    while size < 2 * before:
        size *= 2
    mask = size - 1

    # contacts of the last step into the table
    for s in range(size if before > 0 and count > 0 else 0):
        buckets[s] = _EMPTY
    for k in range(before if count > 0 else 0):
        s = _bucket(last[k, 0], last[k, 1], last[k, 2], mask)
        while buckets[s] != _EMPTY:
            s = (s + 1) & mask
        buckets[s] = k

    # find those of this step
    for k in range(count):
        match[k] = -1
        if before > 0:
            a, b, feature = pair[k, 0], pair[k, 1], pair[k, 4]
            s = _bucket(a, b, feature, mask)
            while buckets[s] != _EMPTY and match[k] < 0:
                j = buckets[s]
                if last[j, 0] == a and last[j, 1] == b and last[j, 2] == feature:
                    match[k] = j
                s = (s + 1) & mask

    # which of the last step are taken; the table has done its work
    for k in range(before if count > 0 else 0):
        buckets[k] = _EMPTY
    for k in range(count):
        if match[k] >= 0:
            buckets[match[k]] = k
    indexed = False
    for k in range(count if before > 0 else 0):
        if match[k] < 0:
            if not indexed:
                _index_pairs(last, before, buckets, size, mask)
                indexed = True
            match[k] = _nearest(pair, contact, k, before, size, mask, memory_out)
            if match[k] >= 0:
                buckets[match[k]] = k
