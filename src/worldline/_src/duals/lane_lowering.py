# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Dual numbers in lanes: a value and its derivative along one direction, a machine vector each.

Arithmetic is the chain rule, operation by operation; comparisons look at values and give the masks of lanes.
Lanes and plain numbers are constants beside them. Derivatives that do not exist are zero: that of the square
root at 0, and of a power below 1 at 0.
"""

from __future__ import annotations

import operator

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.typeconv.castgraph import Conversion
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, lower_cast, overload, register_model

from worldline._src.compiler import INLINE_OPTIONS, lowers
from worldline._src.duals import lane_kind as _kind
from worldline._src.scalar import lowering, ops, wide_rows
from worldline._src.scalar.lowering import packed
from worldline._src.scalar.lowering.lanes import (
    LANES4,
    LANES8,
    LanesType,
    MaskType,
    splat,
    vector_intrinsic,
)
from worldline._src.scalar.lowering.scalar_types import COMPARISONS, FLAGS, NUMBERS, ScalarType


class DualLanesType(ScalarType):
    """The Numba type of dual numbers of several worlds."""

    def __init__(self, lanes: LanesType) -> None:
        self.lanes = lanes
        super().__init__(name=f"dual of {lanes.name}")

    @property
    def key(self) -> LanesType:
        return self.lanes

    def can_convert_from(self, typingctx: object, other: types.Type) -> Conversion | None:
        return Conversion.safe if other == self.lanes else super().can_convert_from(typingctx, other)


@register_model(DualLanesType)
class _DualLanesModel(models.StructModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, [("value", fe_type.lanes), ("slope", fe_type.lanes)])


lowering.SCALARS[_kind.DUAL_LANES4.name] = DualLanesType(LANES4)
lowering.SCALARS[_kind.DUAL_LANES8.name] = DualLanesType(LANES8)


def _made(context, builder, kind, value, slope):
    proxy = cgutils.create_struct_proxy(kind)(context, builder)
    proxy.value, proxy.slope = value, slope
    return proxy._getvalue()


def _parts(context, builder, kind, x):
    proxy = cgutils.create_struct_proxy(kind)(context, builder, value=x)
    return proxy.value, proxy.slope


def _zero(like):
    return ir.Constant(like.type, [0.0] * like.type.count)


@lower_cast(types.Float, DualLanesType)
@lower_cast(types.Integer, DualLanesType)
@lower_cast(LanesType, DualLanesType)
def _to_dual(context, builder, fromty, toty, value):
    value = context.cast(builder, value, fromty, toty.lanes)
    return _made(context, builder, toty, value, _zero(value))


def _dual_among(args) -> DualLanesType | None:
    """The type of duals among operands; None without one, or beside what is no number."""
    found = next((a for a in args if isinstance(a, DualLanesType)), None)
    if found is None or not all(a in (found, found.lanes) or isinstance(a, NUMBERS) for a in args):
        return None
    return found


def _operand_types(args):
    """Types that an operation takes: duals as they are, all else as lanes."""
    dual = _dual_among(args)
    return None if dual is None else [a if a == dual else dual.lanes for a in args]


def _add(b, x, dx, y, dy):
    value = b.fadd(x, y, flags=FLAGS)
    if dx is None or dy is None:
        return value, dy if dx is None else dx
    return value, b.fadd(dx, dy, flags=FLAGS)


def _sub(b, x, dx, y, dy):
    value = b.fsub(x, y, flags=FLAGS)
    if dy is None:
        return value, dx
    return value, b.fneg(dy, flags=FLAGS) if dx is None else b.fsub(dx, dy, flags=FLAGS)


def _mul(b, x, dx, y, dy):
    one = None if dx is None else b.fmul(dx, y, flags=FLAGS)
    two = None if dy is None else b.fmul(x, dy, flags=FLAGS)
    slope = (one or two) if one is None or two is None else b.fadd(one, two, flags=FLAGS)
    return b.fmul(x, y, flags=FLAGS), slope


def _div(b, x, dx, y, dy):
    # d(x / y) = (dx - (x / y) dy) / y
    ratio = b.fdiv(x, y, flags=FLAGS)
    if dy is None:
        return ratio, b.fdiv(dx, y, flags=FLAGS)
    off = b.fmul(ratio, dy, flags=FLAGS)
    rest = b.fneg(off, flags=FLAGS) if dx is None else b.fsub(dx, off, flags=FLAGS)
    return ratio, b.fdiv(rest, y, flags=FLAGS)


def _register(operation, rule, symbol: str = "") -> None:
    """An operation of two operands of which at least one is a dual; a comparison has a symbol."""

    @infer_global(operation)
    class _Template(AbstractTemplate):
        def generic(self, args, kws):
            kinds = _operand_types(args) if len(args) == 2 else None
            if kinds is None:
                return None
            dual = _dual_among(args)
            assert dual is not None
            return signature(MaskType(dual.lanes) if symbol else dual, *kinds)

    for kinds in ((DualLanesType, DualLanesType), (DualLanesType, LanesType), (LanesType, DualLanesType)):

        @lower_builtin(operation, *kinds)
        def _lower(context, builder, sig, args):
            x, y = (
                _parts(context, builder, kind, one) if isinstance(kind, DualLanesType) else (one, None)
                for kind, one in zip(sig.args, args, strict=True)
            )
            if symbol:
                return builder.fcmp_ordered(symbol, x[0], y[0])
            return _made(context, builder, sig.return_type, *rule(builder, *x, *y))


for _operation, _rule in (
    (operator.add, _add),
    (operator.sub, _sub),
    (operator.mul, _mul),
    (operator.truediv, _div),
):
    _register(_operation, _rule)
for _operation, _symbol in COMPARISONS.items():
    _register(_operation, None, _symbol)


def _of_one(rule):
    """Code of a function of one dual: what becomes of its value and of its derivative."""

    def codegen(context, builder, sig, args):
        parts = _parts(context, builder, sig.args[0], args[0])
        return _made(context, builder, sig.return_type, *rule(builder, *parts))

    return codegen


@infer_global(operator.neg)
class _Negation(AbstractTemplate):
    def generic(self, args, kws):
        return signature(args[0], args[0]) if isinstance(args[0], DualLanesType) else None


lower_builtin(operator.neg, DualLanesType)(
    _of_one(lambda b, x, dx: (b.fneg(x, flags=FLAGS), b.fneg(dx, flags=FLAGS)))
)


# ---- rows of matrices: four doubles at a time are no four duals

_is_matrix = packed._is_matrix


def _is_matrix_of_numbers(array, ndim: int) -> bool:
    return _is_matrix(array, ndim) and not isinstance(array.dtype, DualLanesType)


packed._is_matrix = _is_matrix_of_numbers


@overload(wide_rows.clear_row, jit_options=INLINE_OPTIONS)
def _clear_row(target, k):
    def each(target, k):
        for d in range(target.shape[1]):
            target[k, d] = 0.0

    return each if isinstance(target.dtype, DualLanesType) else None


@overload(wide_rows.copy_row, jit_options=INLINE_OPTIONS)
def _copy_row(source, i, target, k):
    def each(source, i, target, k):
        for d in range(source.shape[1]):
            target[k, d] = source[i, d]

    return each if isinstance(target.dtype, DualLanesType) else None


@overload(wide_rows.spread_rows, jit_options=INLINE_OPTIONS)
def _spread_rows(source, i, j, x, target, k):
    def each(source, i, j, x, target, k):
        for d in range(source.shape[1]):
            middle, aside = source[i, d], x * source[j, d]
            target[k, d] = middle + aside
            target[k + 1, d] = middle - aside

    return each if isinstance(target.dtype, DualLanesType) else None


# ---- the operations of `scalar/ops.py`


@lowers(ops.where)
def _where(typingctx, condition, a, b):
    dual = _dual_among((a, b))
    if dual is None or not isinstance(condition, (MaskType, types.Boolean)):
        return None

    def codegen(context, builder, sig, args):
        x, y = (_parts(context, builder, dual, one) for one in args[1:])
        chosen = (builder.select(args[0], one, other) for one, other in zip(x, y, strict=True))
        return _made(context, builder, dual, *chosen)

    return dual(condition, dual, dual), codegen


@lowers(ops.constant)
def _constant(typingctx, number, like):
    if not isinstance(like, DualLanesType):
        return None
    return like(like, like), lambda context, builder, sig, args: args[0]


def _root(b, x, dx):
    root, zero = vector_intrinsic(b, "sqrt", [x]), _zero(x)
    slope = b.fdiv(dx, b.fadd(root, root, flags=FLAGS), flags=FLAGS)
    return root, b.select(b.fcmp_ordered(">", root, zero), slope, zero)


@lowers(ops.sqrt)
def _sqrt(typingctx, x):
    return (x(x), _of_one(_root)) if isinstance(x, DualLanesType) else None


@lowers(ops.nearest)
def _nearest(typingctx, x):
    if not isinstance(x, DualLanesType):
        return None
    return x(x), _of_one(lambda b, x, dx: (vector_intrinsic(b, "rint", [x]), _zero(x)))


@lowers(ops.power)
def _power(typingctx, x, exponent):
    if not isinstance(x, DualLanesType) or not isinstance(exponent, NUMBERS):
        return None

    def codegen(context, builder, sig, args):
        value, slope = _parts(context, builder, x, args[0])
        p, one = args[1], ir.Constant(ir.DoubleType(), 1.0)
        wide, less = (
            splat(builder, number, x.lanes.width) for number in (p, builder.fsub(p, one, flags=FLAGS))
        )
        # d(x^p) = p x^(p - 1) dx
        factor = builder.fmul(wide, vector_intrinsic(builder, "pow", [value, less]), flags=FLAGS)
        is_one = builder.fcmp_ordered("==", wide, splat(builder, one, x.lanes.width))
        at_zero = builder.select(is_one, wide, _zero(value))
        factor = builder.select(builder.fcmp_ordered("!=", value, _zero(value)), factor, at_zero)
        made = vector_intrinsic(builder, "pow", [value, wide])
        return _made(context, builder, x, made, builder.fmul(factor, slope, flags=FLAGS))

    return x(x, types.float64), codegen


@lowers(ops.shared)
def _shared(typingctx, x):
    if not isinstance(x, DualLanesType):
        return None

    def codegen(context, builder, sig, args):
        value, _ = _parts(context, builder, x, args[0])
        return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))

    return types.float64(x), codegen
