# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Search in sorted arrays."""

from __future__ import annotations

from worldline._src.jit import inline


@inline
def find_key(keys, key):
    """The row of a key in a sorted array by bisection, -1 where it is not there. O(log n)."""
    low, high = 0, keys.shape[0]
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    found = -1
    if low < keys.shape[0] and keys[low] == key:
        found = low
    return found
