# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Dual numbers of seven directions: a value and its derivatives along them, as one vector of 8 doubles.

The value is lane 0. Arithmetic is the chain rule on whole vectors, so seven columns of a Jacobian cost little
more than one; with a plain number it scales or shifts the vector. Comparisons look at the value alone.

Derivatives that do not exist are zero: that of the square root at 0, and of a power below 1 at 0.
"""

from __future__ import annotations

import operator

from llvmlite import ir
from numba import types
from numba.core.datamodel import models
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, lower_cast, overload, register_model

from worldline._src.compiler import INLINE_OPTIONS, lowers
from worldline._src.duals import kind as _kind
from worldline._src.scalar import lowering, ops, wide_rows
from worldline._src.scalar.lowering import packed
from worldline._src.scalar.lowering.lanes import splat, vector_intrinsic
from worldline._src.scalar.lowering.scalar_types import COMPARISONS, FLAGS, NUMBERS, ScalarType

_WIDTH = 8
_VECTOR = ir.VectorType(ir.DoubleType(), _WIDTH)
_SLOPES = ir.Constant(ir.VectorType(ir.IntType(1), _WIDTH), [0, *[1] * (_WIDTH - 1)])
_FIRST = ir.Constant(ir.IntType(32), 0)


class Dual7Type(ScalarType):
    """The Numba type of a dual number of seven directions over float64."""

    def __init__(self) -> None:
        super().__init__(name="dual7")


@register_model(Dual7Type)
class _Dual7Model(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, _VECTOR)


DUAL7 = Dual7Type()
lowering.SCALARS[_kind.DUAL7.name] = DUAL7


def value_of(builder, x):
    """The value of a dual, an LLVM double."""
    return builder.extract_element(x, _FIRST)


def of_number(builder, value):
    """A number as a dual: all derivatives are zero."""
    return builder.insert_element(ir.Constant(_VECTOR, [0.0] * _WIDTH), value, _FIRST)


def with_value(builder, value, slopes):
    """The derivatives in lanes 1 to 7 of `slopes` with a value."""
    return builder.select(_SLOPES, slopes, splat(builder, value, _WIDTH))


@lower_cast(types.Float, Dual7Type)
@lower_cast(types.Integer, Dual7Type)
def _number_to_dual(context, builder, fromty, toty, value):
    return of_number(builder, context.cast(builder, value, fromty, types.float64))


def _operand_types(args):
    """Types that an operation takes: duals as they are, all numbers as float64; None without duals."""
    if any(isinstance(a, Dual7Type) for a in args) and all(
        isinstance(a, (Dual7Type, *NUMBERS)) for a in args
    ):
        return [a if isinstance(a, Dual7Type) else types.float64 for a in args]
    return None


def _mul(b, x, y):
    product = b.fmul(splat(b, value_of(b, x), _WIDTH), y, flags=FLAGS)
    other = b.fmul(x, splat(b, value_of(b, y), _WIDTH), flags=FLAGS)
    return b.select(_SLOPES, b.fadd(product, other, flags=FLAGS), product)


def _scale(b, x, number):
    return b.fmul(x, splat(b, number, _WIDTH), flags=FLAGS)


def _div(b, x, y):
    # d(x / y) = (dx - (x / y) dy) / y
    divisor = value_of(b, y)
    ratio = b.fdiv(value_of(b, x), divisor, flags=FLAGS)
    rest = b.fsub(x, b.fmul(splat(b, ratio, _WIDTH), y, flags=FLAGS), flags=FLAGS)
    inverse = b.fdiv(ir.Constant(ir.DoubleType(), 1.0), divisor, flags=FLAGS)
    return with_value(b, ratio, _scale(b, rest, inverse))


def _div_by_number(b, x, number):
    inverse = b.fdiv(ir.Constant(ir.DoubleType(), 1.0), number, flags=FLAGS)
    ratio = b.fdiv(value_of(b, x), number, flags=FLAGS)
    return with_value(b, ratio, _scale(b, x, inverse))


_RULES = {
    operator.add: (
        lambda b, x, y: b.fadd(x, y, flags=FLAGS),
        lambda b, x, n: b.fadd(x, of_number(b, n), flags=FLAGS),
        lambda b, n, y: b.fadd(of_number(b, n), y, flags=FLAGS),
    ),
    operator.sub: (
        lambda b, x, y: b.fsub(x, y, flags=FLAGS),
        lambda b, x, n: b.fsub(x, of_number(b, n), flags=FLAGS),
        lambda b, n, y: b.fsub(of_number(b, n), y, flags=FLAGS),
    ),
    operator.mul: (_mul, _scale, lambda b, n, y: _scale(b, y, n)),
    operator.truediv: (_div, _div_by_number, lambda b, n, y: _div(b, of_number(b, n), y)),
}
"""What an operation does with two duals, with a dual and a number, and with a number and a dual."""


def _register(operation, typed, rules) -> None:
    """An operation of two operands of which at least one is a dual."""

    @infer_global(operation)
    class _Template(AbstractTemplate):
        def generic(self, args, kws):
            kinds = _operand_types(args) if len(args) == 2 else None
            return signature(typed, *kinds) if kinds else None

    for kinds, rule in zip(
        ((Dual7Type, Dual7Type), (Dual7Type, types.Float), (types.Float, Dual7Type)), rules, strict=True
    ):

        @lower_builtin(operation, *kinds)
        def _lower(context, builder, sig, args, rule=rule):
            return rule(builder, *args)


_IN_PLACE = {
    operator.add: operator.iadd,
    operator.sub: operator.isub,
    operator.mul: operator.imul,
    operator.truediv: operator.itruediv,
}
for _operation, _rules in _RULES.items():
    _register(_operation, DUAL7, _rules)
    _register(_IN_PLACE[_operation], DUAL7, _rules)


def _double(builder, x):
    """The value of a dual or of a number."""
    return value_of(builder, x) if isinstance(x.type, ir.VectorType) else x


def _compare(symbol):
    ordered = symbol != "!="

    def rule(b, x, y):
        compare = b.fcmp_ordered if ordered else b.fcmp_unordered
        return compare(symbol, _double(b, x), _double(b, y))

    return (rule,) * 3


for _operation, _symbol in (*COMPARISONS.items(), (operator.ne, "!=")):
    _register(_operation, types.boolean, _compare(_symbol))


def _as_dual(builder, x):
    return x if isinstance(x.type, ir.VectorType) else of_number(builder, x)


def _choose(symbol):
    """The operand whose value is smaller or larger."""

    def rule(b, x, y):
        first = b.fcmp_ordered(symbol, _double(b, x), _double(b, y))
        return b.select(first, _as_dual(b, x), _as_dual(b, y))

    return (rule,) * 3


_register(min, DUAL7, _choose("<"))
_register(max, DUAL7, _choose(">"))


def _register_unary(operation, rule) -> None:
    @infer_global(operation)
    class _Template(AbstractTemplate):
        def generic(self, args, kws):
            return signature(DUAL7, DUAL7) if len(args) == 1 and isinstance(args[0], Dual7Type) else None

    @lower_builtin(operation, Dual7Type)
    def _lower(context, builder, sig, args):
        return rule(builder, args[0])


def _absolute(b, x):
    negative = b.fcmp_ordered("<", value_of(b, x), ir.Constant(ir.DoubleType(), 0.0))
    return b.select(negative, b.fneg(x, flags=FLAGS), x)


_register_unary(operator.neg, lambda b, x: b.fneg(x, flags=FLAGS))
_register_unary(abs, _absolute)


@infer_global(int)
class _Whole(AbstractTemplate):
    def generic(self, args, kws):
        return signature(types.int64, DUAL7) if len(args) == 1 and isinstance(args[0], Dual7Type) else None


@lower_builtin(int, Dual7Type)
def _lower_whole(context, builder, sig, args):
    return builder.fptosi(value_of(builder, args[0]), ir.IntType(64))


def _square_root(b, x):
    root = vector_intrinsic(b, "sqrt", [value_of(b, x)])
    zero = ir.Constant(ir.DoubleType(), 0.0)
    factor = b.fdiv(ir.Constant(ir.DoubleType(), 0.5), root, flags=FLAGS)
    factor = b.select(b.fcmp_ordered(">", root, zero), factor, zero)
    return with_value(b, root, _scale(b, x, factor))


def _nearest(b, x):
    return of_number(b, vector_intrinsic(b, "rint", [value_of(b, x)]))


def _to_power(b, x, p):
    # d(x^p) = p x^(p - 1) dx
    base, one, zero = value_of(b, x), ir.Constant(ir.DoubleType(), 1.0), ir.Constant(ir.DoubleType(), 0.0)
    less = vector_intrinsic(b, "pow", [base, b.fsub(p, one)])
    at_zero = b.select(b.fcmp_ordered("==", p, one), one, zero)
    factor = b.select(b.fcmp_ordered("!=", base, zero), b.fmul(p, less), at_zero)
    return with_value(b, vector_intrinsic(b, "pow", [base, p]), _scale(b, x, factor))


@infer_global(operator.pow)
class _Power(AbstractTemplate):
    def generic(self, args, kws):
        if len(args) == 2 and isinstance(args[0], Dual7Type) and isinstance(args[1], NUMBERS):
            return signature(DUAL7, DUAL7, types.float64)
        return None


@lower_builtin(operator.pow, Dual7Type, types.Float)
def _lower_power(context, builder, sig, args):
    return _to_power(builder, *args)


# ---- rows of matrices: four doubles at a time are no four duals

_is_matrix = packed._is_matrix


def _is_matrix_of_doubles(array, ndim: int) -> bool:
    return _is_matrix(array, ndim) and not isinstance(array.dtype, Dual7Type)


packed._is_matrix = _is_matrix_of_doubles


@overload(wide_rows.clear_row, jit_options=INLINE_OPTIONS)
def _clear_row(target, k):
    def each(target, k):
        for d in range(target.shape[1]):
            target[k, d] = 0.0

    return each if isinstance(target.dtype, Dual7Type) else None


@overload(wide_rows.copy_row, jit_options=INLINE_OPTIONS)
def _copy_row(source, i, target, k):
    def each(source, i, target, k):
        for d in range(source.shape[1]):
            target[k, d] = source[i, d]

    return each if isinstance(target.dtype, Dual7Type) else None


@overload(wide_rows.spread_rows, jit_options=INLINE_OPTIONS)
def _spread_rows(source, i, j, x, target, k):
    def each(source, i, j, x, target, k):
        for d in range(source.shape[1]):
            middle, aside = source[i, d], x * source[j, d]
            target[k, d] = middle + aside
            target[k + 1, d] = middle - aside

    return each if isinstance(target.dtype, Dual7Type) else None


# ---- the operations of `scalar/ops.py`


def _of_dual(x, made, rule):
    """Signature and code of a function of one dual; None for other numbers."""
    if not isinstance(x, Dual7Type):
        return None
    return made(DUAL7), lambda context, builder, sig, args: rule(builder, args[0])


@lowers(ops.sqrt)
def _sqrt(typingctx, x):
    return _of_dual(x, DUAL7, _square_root)


@lowers(ops.nearest)
def _rint(typingctx, x):
    return _of_dual(x, DUAL7, _nearest)


@lowers(_kind.value_of)
def _value(typingctx, x):
    return _of_dual(x, types.float64, value_of)


@lowers(ops.power)
def _power(typingctx, x, exponent):
    if not isinstance(x, Dual7Type) or not isinstance(exponent, NUMBERS):
        return None
    return DUAL7(DUAL7, types.float64), lambda context, builder, sig, args: _to_power(builder, *args)


@lowers(ops.where)
def _where(typingctx, condition, a, b):
    if not isinstance(condition, types.Boolean) or not _operand_types((a, b)):
        return None
    return DUAL7(types.boolean, DUAL7, DUAL7), lambda context, builder, sig, args: builder.select(*args)


@lowers(ops.constant)
def _constant(typingctx, number, like):
    if not isinstance(like, Dual7Type):
        return None
    return DUAL7(DUAL7, like), lambda context, builder, sig, args: args[0]
