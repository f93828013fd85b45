# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Products with rows of dense matrices, four columns at a time; spans of columns are whole packs."""

from __future__ import annotations

from worldline._src.jit import inline
from worldline._src.scalar.packed import PACK, load_pack, load_row, pack_of, store_pack, store_row, sum_pack


@inline
def row_times(A, i, first, end, x):
    """A_i . x over columns first to end - 1."""
    total = pack_of(0.0)
    for j in range(first, end, PACK):
        total = total + load_row(A, i, j) * load_pack(x, j)
    return sum_pack(total)


@inline
def add_row(A, i, first, end, x, y_io):
    """y += x A_i over columns first to end - 1."""
    for j in range(first, end, PACK):
        store_pack(y_io, j, load_pack(y_io, j) + x * load_row(A, i, j))


@inline
def copy_row(A, i, end, B_out):
    """B_i = A_i up to column end - 1."""
    for j in range(0, end, PACK):
        store_row(B_out, i, j, load_row(A, i, j))
