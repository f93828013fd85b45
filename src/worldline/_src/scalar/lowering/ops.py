# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Compiled forms of `scalar/ops.py` for `float64`, lanes and duals."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from worldline._src.compiler import INLINE_OPTIONS
from worldline._src.scalar.lowering import dual as _dual
from worldline._src.scalar.lowering.dual import DualType
from worldline._src.scalar.lowering.lanes import LanesType, MaskType, splat, vector_intrinsic
from worldline._src.scalar.ops import (
    absolute,
    any_of,
    clamp,
    constant,
    maximum,
    minimum,
    nearest,
    power,
    shared,
    sqrt,
    where,
)


def widest(*kinds: types.Type) -> types.Type | None:
    """The scalar type that holds all of `kinds`, None when one of them is no scalar."""
    special = [k for k in kinds if isinstance(k, (LanesType, DualType))]
    if not all(isinstance(k, (LanesType, DualType, types.Float, types.Integer)) for k in kinds):
        return None
    return special[0] if special else types.float64


def _no_branch(builder, choice, x, y):
    """A select that stays one.

    The compiler may turn a select of plain doubles into a branch, which processors predict badly: what is
    selected hangs on numbers.
    """
    selected = builder.select(choice, x, y)
    selected.set_metadata("unpredictable", builder.module.add_metadata([]))
    return selected


@intrinsic
def _select(typingctx, condition, a, b):
    scalar = widest(a, b)
    if scalar is None:
        return None
    if isinstance(condition, MaskType) and not isinstance(scalar, LanesType):
        scalar = LanesType(condition.width)

    def codegen(context, builder, sig, args):
        choice, x, y = args
        if isinstance(sig.args[0], types.Boolean) and isinstance(scalar, DualType):
            # two selects of doubles; a select of a structure is not optimised well
            xv, xs = _dual.parts(context, builder, x)
            yv, ys = _dual.parts(context, builder, y)
            value = _no_branch(builder, choice, xv, yv)
            return _dual.make(context, builder, value, _no_branch(builder, choice, xs, ys))
        return _no_branch(builder, choice, x, y)

    return scalar(condition, scalar, scalar), codegen


@overload(where, jit_options=INLINE_OPTIONS)
def _where(condition, a, b):
    return lambda condition, a, b: _select(condition, a, b)


@intrinsic
def _constant(typingctx, number, like):
    scalar = widest(like)
    if scalar is None:
        return None

    def codegen(context, builder, sig, args):
        return args[0]

    return scalar(scalar, like), codegen


@overload(constant, jit_options=INLINE_OPTIONS)
def _constant_overload(number, like):
    return lambda number, like: _constant(number, like)


@intrinsic
def _sqrt(typingctx, x):
    scalar = widest(x)
    if scalar is None:
        return None

    def codegen(context, builder, sig, args):
        if not isinstance(scalar, DualType):
            return vector_intrinsic(builder, "sqrt", args)
        value, slope = _dual.parts(context, builder, args[0])
        root = vector_intrinsic(builder, "sqrt", [value])
        return _dual.make(context, builder, root, builder.fdiv(slope, builder.fadd(root, root)))

    return scalar(scalar), codegen


@overload(sqrt, jit_options=INLINE_OPTIONS)
def _sqrt_overload(x):
    return lambda x: _sqrt(x)


@intrinsic
def _nearest(typingctx, x):
    scalar = widest(x)
    if scalar is None:
        return None

    def codegen(context, builder, sig, args):
        if not isinstance(scalar, DualType):
            return vector_intrinsic(builder, "rint", args)
        value, _ = _dual.parts(context, builder, args[0])
        zero = context.get_constant(types.float64, 0.0)
        return _dual.make(context, builder, vector_intrinsic(builder, "rint", [value]), zero)

    return scalar(scalar), codegen


@overload(nearest, jit_options=INLINE_OPTIONS)
def _nearest_overload(x):
    return lambda x: _nearest(x)


@intrinsic
def _power(typingctx, x, exponent):
    scalar = widest(x)
    if scalar is None:
        return None

    def codegen(context, builder, sig, args):
        x, p = args
        if isinstance(scalar, LanesType):
            return vector_intrinsic(builder, "pow", [x, splat(builder, p, scalar.width)])
        if not isinstance(scalar, DualType):
            return vector_intrinsic(builder, "pow", [x, p])
        value, slope = _dual.parts(context, builder, x)
        less = builder.fsub(p, context.get_constant(types.float64, 1.0))
        factor = builder.fmul(p, vector_intrinsic(builder, "pow", [value, less]))
        return _dual.make(
            context, builder, vector_intrinsic(builder, "pow", [value, p]), builder.fmul(factor, slope)
        )

    return scalar(scalar, types.float64), codegen


@overload(power, jit_options=INLINE_OPTIONS)
def _power_overload(x, exponent):
    return lambda x, exponent: _power(x, exponent)


@intrinsic
def _shared(typingctx, x):
    if widest(x) is None:
        return None

    def codegen(context, builder, sig, args):
        if isinstance(x, LanesType):
            return builder.extract_element(args[0], ir.Constant(ir.IntType(32), 0))
        return args[0]

    return (types.float64 if isinstance(x, LanesType) else x)(x), codegen


@overload(shared, jit_options=INLINE_OPTIONS)
def _shared_overload(x):
    return lambda x: _shared(x)


@intrinsic
def _any_of(typingctx, condition):
    if not isinstance(condition, (MaskType, types.Boolean)):
        return None

    def codegen(context, builder, sig, args):
        if not isinstance(condition, MaskType):
            return args[0]
        bits = builder.bitcast(args[0], ir.IntType(condition.width))
        return builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))

    return types.boolean(condition), codegen


@overload(any_of, jit_options=INLINE_OPTIONS)
def _any_of_overload(condition):
    return lambda condition: _any_of(condition)


@overload(absolute, jit_options=INLINE_OPTIONS)
def _absolute(x):
    return lambda x: where(x < 0.0, -x, x)


@overload(minimum, jit_options=INLINE_OPTIONS)
def _minimum(a, b):
    return lambda a, b: where(a < b, a, b)


@overload(maximum, jit_options=INLINE_OPTIONS)
def _maximum(a, b):
    return lambda a, b: where(a < b, b, a)


@overload(clamp, jit_options=INLINE_OPTIONS)
def _clamp(x, low, high):
    return lambda x, low, high: maximum(low, minimum(x, high))
