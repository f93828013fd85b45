# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Compiled forms of `scalar/packed.py`: four doubles are loaded and stored as one machine vector."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.np import arrayobj

from worldline._src.compiler import lowers
from worldline._src.scalar import packed
from worldline._src.scalar.lowering.lanes import LANES4, splat
from worldline._src.scalar.lowering.scalar_types import FLAGS
from worldline._src.scalar.packed import PACK


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


@lowers(packed.load_row)
def _load_row(typingctx, array, i, j):
    if not _is_matrix(array, 2):
        return None

    def codegen(context, builder, sig, args):
        return builder.load(_address(context, builder, array, args[0], args[1:]), align=8)

    return LANES4(array, types.intp, types.intp), codegen


@lowers(packed.store_row)
def _store_row(typingctx, array, i, j, pack):
    if not _is_matrix(array, 2):
        return None

    def codegen(context, builder, sig, args):
        builder.store(args[3], _address(context, builder, array, args[0], args[1:3]), align=8)
        return context.get_dummy_value()

    return types.none(array, types.intp, types.intp, LANES4), codegen


@lowers(packed.load_pack)
def _load_pack(typingctx, array, j):
    if not _is_matrix(array, 1):
        return None

    def codegen(context, builder, sig, args):
        return builder.load(_address(context, builder, array, args[0], args[1:]), align=8)

    return LANES4(array, types.intp), codegen


@lowers(packed.store_pack)
def _store_pack(typingctx, array, j, pack):
    if not _is_matrix(array, 1):
        return None

    def codegen(context, builder, sig, args):
        builder.store(args[2], _address(context, builder, array, args[0], args[1:2]), align=8)
        return context.get_dummy_value()

    return types.none(array, types.intp, LANES4), codegen


@lowers(packed.pack_of)
def _pack_of(typingctx, x):
    def codegen(context, builder, sig, args):
        return splat(builder, args[0], PACK)

    return LANES4(types.float64), codegen


@lowers(packed.sum_pack)
def _sum_pack(typingctx, pack):
    def codegen(context, builder, sig, args):
        (value,) = args
        parts = [builder.extract_element(value, ir.Constant(ir.IntType(32), k)) for k in range(PACK)]
        even = builder.fadd(parts[0], parts[2], flags=FLAGS)
        odd = builder.fadd(parts[1], parts[3], flags=FLAGS)
        return builder.fadd(even, odd, flags=FLAGS)

    return types.float64(LANES4), codegen


@lowers(packed.is_zero_pack)
def _is_zero_pack(typingctx, pack):
    def codegen(context, builder, sig, args):
        zero = ir.Constant(ir.VectorType(ir.DoubleType(), PACK), [0.0] * PACK)
        other = builder.bitcast(builder.fcmp_unordered("!=", args[0], zero), ir.IntType(PACK))
        return builder.icmp_unsigned("==", other, ir.Constant(ir.IntType(PACK), 0))

    return types.boolean(LANES4), codegen


@lowers(packed.where_negative)
def _where_negative(typingctx, pack, value):
    def codegen(context, builder, sig, args):
        zero = ir.Constant(ir.VectorType(ir.DoubleType(), PACK), [0.0] * PACK)
        return builder.select(builder.fcmp_ordered("<", args[0], zero), args[1], zero)

    return LANES4(LANES4, LANES4), codegen
