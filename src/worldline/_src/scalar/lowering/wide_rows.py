# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Compiled forms of `scalar/wide_rows.py`."""

from __future__ import annotations

from numba.extending import overload

from worldline._src.compiler import INLINE_OPTIONS
from worldline._src.scalar.lowering.lanes import LanesType
from worldline._src.scalar.packed import PACK, load_row, pack_of, store_row
from worldline._src.scalar.wide_rows import clear_row, copy_row, spread_rows


@overload(clear_row, jit_options=INLINE_OPTIONS)
def _clear_row(target, k):
    if isinstance(target.dtype, LanesType):

        def each(target, k):
            for d in range(target.shape[1]):
                target[k, d] = 0.0

        return each

    def packs(target, k):
        for d in range(0, target.shape[1], PACK):
            store_row(target, k, d, pack_of(0.0))

    return packs


@overload(copy_row, jit_options=INLINE_OPTIONS)
def _copy_row(source, i, target, k):
    if isinstance(target.dtype, LanesType):

        def each(source, i, target, k):
            for d in range(source.shape[1]):
                target[k, d] = source[i, d]

        return each

    def packs(source, i, target, k):
        for d in range(0, source.shape[1], PACK):
            store_row(target, k, d, load_row(source, i, d))

    return packs


@overload(spread_rows, jit_options=INLINE_OPTIONS)
def _spread_rows(source, i, j, x, target, k):
    if isinstance(target.dtype, LanesType):

        def each(source, i, j, x, target, k):
            for d in range(source.shape[1]):
                middle, aside = source[i, d], x * source[j, d]
                target[k, d] = middle + aside
                target[k + 1, d] = middle - aside

        return each

    def packs(source, i, j, x, target, k):
        for d in range(0, source.shape[1], PACK):
            middle, aside = load_row(source, i, d), x * load_row(source, j, d)
            store_row(target, k, d, middle + aside)
            store_row(target, k + 1, d, middle - aside)

    return packs
