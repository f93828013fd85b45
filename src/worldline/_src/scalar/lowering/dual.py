# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Dual numbers: a value and its derivative along one direction.

Kernels compiled for `DUAL` give the exact directional derivative of what they compute: the arithmetic
below is the chain rule, operation by operation. Comparisons look at the value alone. In memory a dual
is two doubles, value first.
"""

from __future__ import annotations

import operator

from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, lower_cast, register_model

from worldline._src.scalar.lowering.scalar_types import COMPARISONS, FLAGS, NUMBERS, ScalarType


class DualType(ScalarType):
    """The Numba type of a dual number over float64."""

    def __init__(self) -> None:
        super().__init__(name="dual")


@register_model(DualType)
class _DualModel(models.StructModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, [("value", types.float64), ("slope", types.float64)])


DUAL = DualType()


def make(context, builder, value, slope):
    """Assemble a dual from two LLVM doubles."""
    proxy = cgutils.create_struct_proxy(DUAL)(context, builder)
    proxy.value, proxy.slope = value, slope
    return proxy._getvalue()


def parts(context, builder, dual):
    """The two LLVM doubles of a dual."""
    proxy = cgutils.create_struct_proxy(DUAL)(context, builder, value=dual)
    return proxy.value, proxy.slope


@lower_cast(types.Float, DualType)
@lower_cast(types.Integer, DualType)
def _number_to_dual(context, builder, fromty, toty, value):
    value = context.cast(builder, value, fromty, types.float64)
    return make(context, builder, value, context.get_constant(types.float64, 0.0))


def _is_dual_call(args) -> bool:
    return any(isinstance(a, DualType) for a in args) and all(
        isinstance(a, (DualType, *NUMBERS)) for a in args
    )


def _add(b, x, dx, y, dy):
    return b.fadd(x, y, flags=FLAGS), b.fadd(dx, dy, flags=FLAGS)


def _sub(b, x, dx, y, dy):
    return b.fsub(x, y, flags=FLAGS), b.fsub(dx, dy, flags=FLAGS)


def _mul(b, x, dx, y, dy):
    slope = b.fadd(b.fmul(dx, y, flags=FLAGS), b.fmul(x, dy, flags=FLAGS), flags=FLAGS)
    return b.fmul(x, y, flags=FLAGS), slope


def _div(b, x, dx, y, dy):
    ratio = b.fdiv(x, y, flags=FLAGS)
    remainder = b.fsub(dx, b.fmul(ratio, dy, flags=FLAGS), flags=FLAGS)
    return ratio, b.fdiv(remainder, y, flags=FLAGS)


def _register_arithmetic(operation, rule) -> None:
    @infer_global(operation)
    class _Arithmetic(AbstractTemplate):
        def generic(self, args, kws):
            return signature(DUAL, DUAL, DUAL) if len(args) == 2 and _is_dual_call(args) else None

    @lower_builtin(operation, DualType, DualType)
    def _lower(context, builder, sig, args):
        x, dx = parts(context, builder, args[0])
        y, dy = parts(context, builder, args[1])
        return make(context, builder, *rule(builder, x, dx, y, dy))


for _operation, _rule in (
    (operator.add, _add),
    (operator.sub, _sub),
    (operator.mul, _mul),
    (operator.truediv, _div),
):
    _register_arithmetic(_operation, _rule)


@infer_global(operator.neg)
class _Negation(AbstractTemplate):
    def generic(self, args, kws):
        return signature(DUAL, DUAL) if isinstance(args[0], DualType) else None


@lower_builtin(operator.neg, DualType)
def _lower_negation(context, builder, sig, args):
    x, dx = parts(context, builder, args[0])
    return make(context, builder, builder.fneg(x, flags=FLAGS), builder.fneg(dx, flags=FLAGS))


def _register_comparison(operation, symbol: str) -> None:
    @infer_global(operation)
    class _Comparison(AbstractTemplate):
        def generic(self, args, kws):
            return signature(types.boolean, DUAL, DUAL) if _is_dual_call(args) else None

    @lower_builtin(operation, DualType, DualType)
    def _lower(context, builder, sig, args):
        x, _ = parts(context, builder, args[0])
        y, _ = parts(context, builder, args[1])
        return builder.fcmp_ordered(symbol, x, y)


for _operation, _symbol in COMPARISONS.items():
    _register_comparison(_operation, _symbol)
