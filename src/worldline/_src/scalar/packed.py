# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Four neighbours of a double array as one machine vector.

Lanes hold one number of each of several worlds; here the same type holds four columns of one matrix, for
dense kernels of a single world whose rows are padded to a multiple of four. Addresses need no alignment.
As plain Python the four are a small NumPy array; compiled forms are in `lowering/packed.py`.
"""

from __future__ import annotations

import numpy as np

PACK = 4
"""Columns in a pack; rows are padded to a multiple of it."""


def padded(count: int) -> int:
    """`count` rounded up to whole packs."""
    return (count + PACK - 1) // PACK * PACK


def load_row(array, i, j):
    """The four elements from column `j` of row `i` on."""
    return array[i, j : j + PACK].copy()


def store_row(array, i, j, pack):
    """Write four elements from column `j` of row `i` on."""
    array[i, j : j + PACK] = pack


def load_pack(array, j):
    """The four elements from `j` on."""
    return array[j : j + PACK].copy()


def store_pack(array, j, pack):
    """Write four elements from `j` on."""
    array[j : j + PACK] = pack


def pack_of(x):
    """Four times the same number."""
    return np.full(PACK, x)


def sum_pack(pack):
    """The sum of the four, in a fixed order."""
    return (pack[0] + pack[2]) + (pack[1] + pack[3])


def is_zero_pack(pack):
    """Whether all four are zero."""
    return not pack.any()


def where_negative(pack, value):
    """The pack `value` where `pack` is below zero, zero elsewhere."""
    return np.where(pack < 0.0, value, 0.0)
