# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Compiled forms of `scalar/memory.py`: array views without an owner or a reference count."""

from __future__ import annotations

import platform

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.extending import register_model
from numba.np import arrayobj

from worldline._src.compiler import lowers
from worldline._src.scalar import memory
from worldline._src.scalar.lowering.lanes import LanesType


class OwnConstantsPointer(types.CPointer):
    """The address of data of worlds whose constants are lanes as well; see `constants_like`."""

    def __init__(self, dtype):
        super().__init__(dtype)
        self.name = f"{self.name} with own constants"


register_model(OwnConstantsPointer)(models.PointerModel)


def _view(context, builder, kind, arena, base, offset, shape):
    """An array structure over foreign memory: no owner, no reference count.

    Numbers over an arena of lanes are the first lane of every element: their stride is that of lanes.
    """
    array = arrayobj.make_array(kind)(context, builder)
    data = builder.gep(base, [offset])
    if kind.dtype != arena.dtype:
        data = builder.bitcast(data, context.get_data_type(kind.dtype).as_pointer())
    strides = [context.get_constant(types.intp, _item_size(context, arena.dtype))]
    for extent in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], extent))
    arrayobj.populate_array(
        array,
        data=data,
        shape=shape,
        strides=strides,
        itemsize=context.get_constant(types.intp, _item_size(context, kind.dtype)),
        meminfo=None,
    )
    return array._getvalue()


def _item_size(context, dtype) -> int:
    return context.get_abi_sizeof(context.get_data_type(dtype))


def _array(arena, shared, ndim):
    """Signature and code of a view of an arena, after it the offset and the shape; None where it is no arena.

    shared: numbers that are the same in all lanes, of which the first lane stands for all.
    """
    if not isinstance(arena, types.CPointer):
        return None
    kind = types.Array(arena.dtype, ndim, "C")
    if shared and isinstance(arena.dtype, LanesType):
        kind = types.Array(arena.dtype.number, ndim, "A")

    def codegen(context, builder, sig, args):
        return _view(context, builder, kind, arena, args[0], args[1], list(args[2:]))

    return kind(arena, *[types.intp] * (1 + ndim)), codegen


@lowers(memory.vector)
def _vector(typingctx, arena, offset, count):
    return _array(arena, False, 1)


@lowers(memory.matrix)
def _matrix(typingctx, arena, offset, rows, columns):
    return _array(arena, False, 2)


@lowers(memory.shared_vector)
def _shared_vector(typingctx, arena, offset, count):
    return _array(arena, True, 1)


@lowers(memory.shared_matrix)
def _shared_matrix(typingctx, arena, offset, rows, columns):
    return _array(arena, True, 2)


@lowers(memory.pointer)
def _pointer(typingctx, array):
    """The address of an array's first element, typed by its elements."""
    kind = types.CPointer(array.dtype)

    def codegen(context, builder, sig, args):
        return arrayobj.make_array(array)(context, builder, args[0]).data

    return kind(array), codegen


@lowers(memory.pointer_as)
def _pointer_as(typingctx, array, scalar):
    """The address of an array's first element, seen as another scalar.

    `scalar` is a Numba type passed as a literal class, e.g. `LANES4`.
    """
    kind = types.CPointer(scalar.instance_type)

    def codegen(context, builder, sig, args):
        data = arrayobj.make_array(array)(context, builder, args[0]).data
        return builder.bitcast(data, context.get_data_type(scalar.instance_type).as_pointer())

    return kind(array, scalar), codegen


@lowers(memory.pointer_to_worlds)
def _pointer_to_worlds(typingctx, array):
    number = array.dtype.number if isinstance(array.dtype, LanesType) else types.float64
    kind = types.CPointer(number)

    def codegen(context, builder, sig, args):
        data = arrayobj.make_array(array)(context, builder, args[0]).data
        return builder.bitcast(data, context.get_data_type(number).as_pointer())

    return kind(array), codegen


@lowers(memory.address_as)
def _address_as(typingctx, address, scalar):
    kind = types.CPointer(scalar.instance_type)

    def codegen(context, builder, sig, args):
        return builder.inttoptr(args[0], context.get_data_type(scalar.instance_type).as_pointer())

    return kind(types.int64, scalar), codegen


@lowers(memory.address_like)
def _address_like(typingctx, address, arena):
    if not isinstance(arena, types.CPointer):
        return None

    def codegen(context, builder, sig, args):
        return builder.inttoptr(args[0], args[1].type)

    return arena(types.int64, arena), codegen


@lowers(memory.constants_like)
def _constants_like(typingctx, address, arena):
    if not isinstance(arena, types.CPointer):
        return None
    own = isinstance(arena, OwnConstantsPointer)
    kind = types.CPointer(arena.dtype if own else types.float64)

    def codegen(context, builder, sig, args):
        return builder.inttoptr(args[0], context.get_value_type(kind))

    return kind(types.int64, arena), codegen


@lowers(memory.call_stage)
def _call_stage(typingctx, address, m, c, args, d):
    """Call a stage through the address of its machine code."""
    kinds = (m, c, args, d)

    def codegen(context, builder, sig, values):
        convention = context.call_conv
        function_type = convention.get_function_type(types.none, kinds)
        callee = builder.inttoptr(values[0], function_type.as_pointer())
        convention.call_function(builder, callee, types.none, kinds, values[1:])
        return context.get_dummy_value()

    return types.none(types.int64, *kinds), codegen


def _element(context, builder, array, value, k):
    """The address of element `k` of a 1-D array of int64."""
    return builder.gep(arrayobj.make_array(array)(context, builder, value).data, [k])


@lowers(memory.atomic_load)
def _atomic_load(typingctx, array, k):
    def codegen(context, builder, sig, args):
        return builder.load_atomic(_element(context, builder, array, *args), "seq_cst", 8)

    return types.int64(array, types.intp), codegen


@lowers(memory.atomic_store)
def _atomic_store(typingctx, array, k, value):
    def codegen(context, builder, sig, args):
        builder.store_atomic(args[2], _element(context, builder, array, *args[:2]), "seq_cst", 8)
        return context.get_dummy_value()

    return types.none(array, types.intp, types.int64), codegen


@lowers(memory.atomic_add)
def _atomic_add(typingctx, array, k, value):
    def codegen(context, builder, sig, args):
        address = _element(context, builder, array, *args[:2])
        return builder.atomic_rmw("add", address, args[2], "seq_cst")

    return types.int64(array, types.intp, types.int64), codegen


@lowers(memory.wait_a_moment)
def _wait_a_moment(typingctx):
    def codegen(context, builder, sig, args):
        if platform.machine().lower() in ("x86_64", "amd64"):
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.sse2.pause"), [])
        return context.get_dummy_value()

    return types.none(), codegen


def _transposed(builder, rows):
    """The transpose of a square of vectors, in log2(n) rounds of exchanging half blocks."""
    n = len(rows)
    h = 1
    while h < n:
        keep = [lane if not lane & h else n + lane - h for lane in range(n)]
        swap = [lane + h if not lane & h else n + lane for lane in range(n)]
        for i in range(n):
            if not i & h:
                a, b = rows[i], rows[i + h]
                rows[i] = _shuffle(builder, a, b, keep)
                rows[i + h] = _shuffle(builder, a, b, swap)
        h *= 2
    return rows


def _shuffle(builder, a, b, lanes):
    mask = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes)
    return builder.shuffle_vector(a, b, mask)


def _rows(context, builder, array, start, stride, width):
    """Addresses of `width` vectors in a 1-D array of doubles, `stride` elements apart."""
    kind = ir.VectorType(ir.DoubleType(), width).as_pointer()
    rows = []
    for _ in range(width):
        rows.append(builder.bitcast(builder.gep(array.data, [start]), kind))
        start = builder.add(start, stride)
    return rows


@lowers(memory.gather_block)
def _gather_block(typingctx, lanes, at, array, start, stride):
    """Move a square block from one row per world into lanes.

    Element `at + k` of the lanes gets element `start + lane * stride + k` of the array in every lane.
    """
    width, single = lanes.dtype.width, lanes.dtype.single
    vector = ir.VectorType(ir.FloatType(), width)

    def codegen(context, builder, sig, args):
        source = arrayobj.make_array(array)(context, builder, args[2])
        # rows of the caller's arrays have no special alignment
        addresses = _rows(context, builder, source, args[3], args[4], width)
        rows = [builder.load(address, align=8) for address in addresses]
        if single:
            rows = [builder.fptrunc(row, vector) for row in rows]
        for k, row in enumerate(_transposed(builder, rows)):
            index = builder.add(args[1], ir.Constant(args[1].type, k))
            builder.store(row, builder.gep(args[0], [index]))
        return context.get_dummy_value()

    return types.none(lanes, types.intp, array, types.intp, types.intp), codegen


@lowers(memory.scatter_block)
def _scatter_block(typingctx, lanes, at, array, start, stride):
    """Move a square block from lanes back to one row per world; the inverse of `gather_block`."""
    width, single = lanes.dtype.width, lanes.dtype.single
    vector = ir.VectorType(ir.DoubleType(), width)

    def codegen(context, builder, sig, args):
        target = arrayobj.make_array(array)(context, builder, args[2])
        rows = []
        for k in range(width):
            index = builder.add(args[1], ir.Constant(args[1].type, k))
            rows.append(builder.load(builder.gep(args[0], [index])))
        addresses = _rows(context, builder, target, args[3], args[4], width)
        for row, address in zip(_transposed(builder, rows), addresses, strict=True):
            builder.store(builder.fpext(row, vector) if single else row, address, align=8)
        return context.get_dummy_value()

    return types.none(lanes, types.intp, array, types.intp, types.intp), codegen
