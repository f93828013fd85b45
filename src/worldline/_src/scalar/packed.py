# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Four neighbours of a double array as one machine vector.

Lanes hold one number of each of several worlds; here the same type holds four columns of one matrix, for
dense kernels of a single world whose rows are padded to a multiple of four. Addresses need no alignment.
As plain Python the four are a small NumPy array.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import arrayobj

from worldline._src.jit import DISABLED
from worldline._src.scalar.lanes import _FLAGS, LANES4, splat

PACK = 4
"""Columns in a pack; rows are padded to a multiple of it."""


def padded(count: int) -> int:
    """`count` rounded up to whole packs."""
    return (count + PACK - 1) // PACK * PACK


def _address(context, builder, kind, array, indices):
    """Address of an element of a C-contiguous array, as a pointer to a pack."""
    view = arrayobj.make_array(kind)(context, builder, array)
    offset = indices[0]
    shape = cgutils.unpack_tuple(builder, view.shape, kind.ndim)
    for index, extent in zip(indices[1:], shape[1:], strict=True):
        offset = builder.add(builder.mul(offset, extent), index)
    pointer = builder.gep(view.data, [offset])
    return builder.bitcast(pointer, ir.VectorType(ir.DoubleType(), PACK).as_pointer())


def _is_matrix(kind, ndim: int) -> bool:
    return isinstance(kind, types.Array) and kind.ndim == ndim and kind.layout == "C"


@intrinsic
def _load_row(typingctx, array, i, j):
    if not _is_matrix(array, 2):
        return None

    def codegen(context, builder, sig, args):
        return builder.load(_address(context, builder, array, args[0], args[1:]), align=8)

    return LANES4(array, types.intp, types.intp), codegen


@intrinsic
def _store_row(typingctx, array, i, j, pack):
    if not _is_matrix(array, 2):
        return None

    def codegen(context, builder, sig, args):
        builder.store(args[3], _address(context, builder, array, args[0], args[1:3]), align=8)
        return context.get_dummy_value()

    return types.none(array, types.intp, types.intp, LANES4), codegen


@intrinsic
def _load_pack(typingctx, array, j):
    if not _is_matrix(array, 1):
        return None

    def codegen(context, builder, sig, args):
        return builder.load(_address(context, builder, array, args[0], args[1:]), align=8)

    return LANES4(array, types.intp), codegen


@intrinsic
def _store_pack(typingctx, array, j, pack):
    if not _is_matrix(array, 1):
        return None

    def codegen(context, builder, sig, args):
        builder.store(args[2], _address(context, builder, array, args[0], args[1:2]), align=8)
        return context.get_dummy_value()

    return types.none(array, types.intp, LANES4), codegen


@intrinsic
def _pack_of(typingctx, x):
    def codegen(context, builder, sig, args):
        return splat(builder, args[0], PACK)

    return LANES4(types.float64), codegen


@intrinsic
def _sum_pack(typingctx, pack):
    def codegen(context, builder, sig, args):
        (value,) = args
        parts = [builder.extract_element(value, ir.Constant(ir.IntType(32), k)) for k in range(PACK)]
        even = builder.fadd(parts[0], parts[2], flags=_FLAGS)
        odd = builder.fadd(parts[1], parts[3], flags=_FLAGS)
        return builder.fadd(even, odd, flags=_FLAGS)

    return types.float64(LANES4), codegen


@intrinsic
def _is_zero_pack(typingctx, pack):
    def codegen(context, builder, sig, args):
        zero = ir.Constant(ir.VectorType(ir.DoubleType(), PACK), [0.0] * PACK)
        other = builder.bitcast(builder.fcmp_unordered("!=", args[0], zero), ir.IntType(PACK))
        return builder.icmp_unsigned("==", other, ir.Constant(ir.IntType(PACK), 0))

    return types.boolean(LANES4), codegen


@intrinsic
def _where_negative(typingctx, pack, value):
    def codegen(context, builder, sig, args):
        zero = ir.Constant(ir.VectorType(ir.DoubleType(), PACK), [0.0] * PACK)
        return builder.select(builder.fcmp_ordered("<", args[0], zero), args[1], zero)

    return LANES4(LANES4, LANES4), codegen


def _plain_load_row(array, i, j):
    return array[i, j : j + PACK].copy()


def _plain_store_row(array, i, j, pack):
    array[i, j : j + PACK] = pack


def _plain_load_pack(array, j):
    return array[j : j + PACK].copy()


def _plain_store_pack(array, j, pack):
    array[j : j + PACK] = pack


def _plain_pack_of(x):
    return np.full(PACK, x)


def _plain_where_negative(pack, value):
    return np.where(pack < 0.0, value, 0.0)


def _plain_is_zero_pack(pack):
    return not pack.any()


def _plain_sum_pack(pack):
    return (pack[0] + pack[2]) + (pack[1] + pack[3])


load_row = _plain_load_row if DISABLED else _load_row
"""load_row(matrix, i, j): the four elements from column `j` of row `i` on."""

store_row = _plain_store_row if DISABLED else _store_row
"""store_row(matrix, i, j, pack): write four elements from column `j` of row `i` on."""

load_pack = _plain_load_pack if DISABLED else _load_pack
"""load_pack(vector, j): the four elements from `j` on."""

store_pack = _plain_store_pack if DISABLED else _store_pack
"""store_pack(vector, j, pack): write four elements from `j` on."""

pack_of = _plain_pack_of if DISABLED else _pack_of
"""pack_of(x): four times the same number."""

sum_pack = _plain_sum_pack if DISABLED else _sum_pack
"""sum_pack(pack): the sum of the four, in a fixed order."""

is_zero_pack = _plain_is_zero_pack if DISABLED else _is_zero_pack
"""is_zero_pack(pack): whether all four are zero."""

where_negative = _plain_where_negative if DISABLED else _where_negative
"""where_negative(pack, value): the pack `value` where `pack` is below zero, zero elsewhere."""
