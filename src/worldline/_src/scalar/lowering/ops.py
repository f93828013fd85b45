# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Compiled forms of `scalar/ops.py` for `float64`, lanes and duals."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import overload

from worldline._src.compiler import INLINE_OPTIONS, lowers
from worldline._src.scalar.lowering import dual as _dual
from worldline._src.scalar.lowering.dual import DualType
from worldline._src.scalar.lowering.lanes import LanesType, MaskType, rounded, splat, vector_intrinsic
from worldline._src.scalar.ops import (
    absolute,
    any_of,
    clamp,
    constant,
    is_single,
    maximum,
    minimum,
    nearest,
    power,
    shared,
    sqrt,
    unsigned,
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


@lowers(unsigned)
def _unsigned(typingctx, k):
    return types.uintp(k), lambda context, builder, sig, args: context.cast(builder, args[0], k, types.uintp)


@lowers(where)
def _where(typingctx, condition, a, b):
    scalar = widest(a, b)
    if scalar is None:
        return None
    if isinstance(condition, MaskType) and not isinstance(scalar, LanesType):
        scalar = condition.lanes

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


@lowers(constant)
def _constant(typingctx, number, like):
    scalar = widest(like)
    if scalar is None:
        return None

    def codegen(context, builder, sig, args):
        return args[0]

    return scalar(scalar, like), codegen


def _of_one(x, name, slope_of):
    """Signature and code of a function of one number: an LLVM intrinsic, and what it makes of slopes."""
    scalar = widest(x)
    if scalar is None:
        return None

    def codegen(context, builder, sig, args):
        if not isinstance(scalar, DualType):
            return vector_intrinsic(builder, name, args)
        value, slope = _dual.parts(context, builder, args[0])
        made = vector_intrinsic(builder, name, [value])
        return _dual.make(context, builder, made, slope_of(builder, made, slope))

    return scalar(scalar), codegen


@lowers(sqrt)
def _sqrt(typingctx, x):
    # d sqrt(x) = dx / (2 sqrt(x))
    return _of_one(x, "sqrt", lambda b, root, slope: b.fdiv(slope, b.fadd(root, root)))


@lowers(nearest)
def _nearest(typingctx, x):
    return _of_one(x, "rint", lambda b, made, slope: ir.Constant(slope.type, 0.0))


@lowers(power)
def _power(typingctx, x, exponent):
    scalar = widest(x)
    if scalar is None:
        return None

    def codegen(context, builder, sig, args):
        x, p = args
        if isinstance(scalar, LanesType):
            p = rounded(builder, p) if scalar.single else p
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


@lowers(shared)
def _shared(typingctx, x):
    if widest(x) is None:
        return None

    def codegen(context, builder, sig, args):
        if isinstance(x, LanesType):
            first = builder.extract_element(args[0], ir.Constant(ir.IntType(32), 0))
            return builder.fpext(first, ir.DoubleType()) if x.single else first
        return args[0]

    return (types.float64 if isinstance(x, LanesType) else x)(x), codegen


@lowers(any_of)
def _any_of(typingctx, condition):
    if not isinstance(condition, (MaskType, types.Boolean)):
        return None

    def codegen(context, builder, sig, args):
        if not isinstance(condition, MaskType):
            return args[0]
        bits = builder.bitcast(args[0], ir.IntType(condition.width))
        return builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))

    return types.boolean(condition), codegen


@overload(is_single, jit_options=INLINE_OPTIONS)
def _is_single(like):
    if isinstance(like, LanesType) and like.single:
        return lambda like: True
    return lambda like: False


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
