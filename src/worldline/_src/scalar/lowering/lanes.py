# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Lanes: one number from each of several worlds, as one machine vector.

`LanesType(width)` is a Numba type backed by an LLVM vector of doubles, or of numbers of single precision, so
`a * b` on lanes is one instruction. Comparing lanes gives a mask that `ops.where` consumes. Numbers mix with
lanes by broadcasting; lanes of single precision round them first.
Every instruction carries the flags of `compiler.FASTMATH`, as those of plain doubles do, so that the same
sums are fused (`contraction.py`) and a lane equals the same world computed alone.
"""

from __future__ import annotations

import math
import operator

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, lower_cast, register_model

from worldline._src.scalar.lowering.scalar_types import COMPARISONS, FLAGS, NUMBERS, ScalarType


class LanesType(ScalarType):
    """The Numba type of `width` numbers that are computed together: doubles, or of single precision."""

    def __init__(self, width: int, single: bool = False) -> None:
        self.width, self.single = width, single
        self.number = types.float32 if single else types.float64
        super().__init__(name=f"{width} single lanes" if single else f"{width} lanes")

    @property
    def key(self) -> tuple[int, bool]:
        return self.width, self.single


class MaskType(types.Type):
    """The Numba type of a comparison of `lanes`."""

    def __init__(self, lanes: LanesType) -> None:
        self.lanes, self.width = lanes, lanes.width
        super().__init__(name=f"mask of {lanes.name}")

    @property
    def key(self) -> LanesType:
        return self.lanes


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        number = ir.FloatType() if fe_type.single else ir.DoubleType()
        super().__init__(dmm, fe_type, ir.VectorType(number, fe_type.width))


@register_model(MaskType)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, ir.VectorType(ir.IntType(1), fe_type.width))


LANES4 = LanesType(4)
LANES8 = LanesType(8)
SINGLE8 = LanesType(8, single=True)
SINGLE16 = LanesType(16, single=True)

_LEAST_SINGLE, _MOST_SINGLE = 2.0**-126, (2.0 - 2.0**-23) * 2.0**127
"""The least normal number and the largest one of single precision."""


def splat(builder, value, width: int):
    """Broadcast one number to every lane."""
    vector = ir.VectorType(value.type, width)
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), width), [0] * width)
    return builder.shuffle_vector(first, undefined, zeros)


@lower_cast(types.Float, LanesType)
@lower_cast(types.Integer, LanesType)
def _number_to_lanes(context, builder, fromty, toty, value):
    value = context.cast(builder, value, fromty, types.float64)
    return splat(builder, rounded(builder, value) if toty.single else value, toty.width)


def rounded(builder, value):
    """A double in single precision; see `in_range` for literals."""
    if isinstance(value, ir.Constant):
        return ir.Constant(ir.FloatType(), in_range(value.constant))
    # a literal that a helper got as an argument is seen to be one when the helper is merged into its caller
    literal = _scalar_intrinsic(builder, "is.constant", [value], ir.IntType(1))
    size = _scalar_intrinsic(builder, "fabs", [value])
    zero, infinity = (ir.Constant(value.type, x) for x in (0.0, float("inf")))
    least, most = (ir.Constant(value.type, x) for x in (_LEAST_SINGLE, _MOST_SINGLE))
    small = builder.and_(builder.fcmp_ordered(">", size, zero), builder.fcmp_ordered("<", size, least))
    large = builder.and_(builder.fcmp_ordered(">", size, most), builder.fcmp_ordered("<", size, infinity))
    moved = builder.select(small, least, builder.select(large, most, size))
    moved = _scalar_intrinsic(builder, "copysign", [moved, value])
    return builder.fptrunc(builder.select(literal, moved, value), ir.FloatType())


def in_range(x: float) -> float:
    """A literal within the range of single precision.

    Guards such as `maximum(x, 1e-300)` stay guards: what is not zero does not become zero, and what is finite
    not infinite.
    """
    if x == 0.0 or not math.isfinite(x):
        return x
    return math.copysign(min(max(abs(x), _LEAST_SINGLE), _MOST_SINGLE), x)


def _scalar_intrinsic(builder, name: str, args, result=None):
    """Call an LLVM intrinsic on doubles."""
    result = args[0].type if result is None else result
    function_type = ir.FunctionType(result, [a.type for a in args])
    function = cgutils.get_or_insert_function(builder.module, function_type, f"llvm.{name}.f64")
    return builder.call(function, args)


def _lanes_among(args) -> LanesType | None:
    lanes = [a for a in args if isinstance(a, LanesType)]
    if lanes and all(isinstance(a, (LanesType, *NUMBERS)) for a in args):
        return lanes[0]
    return None


def _register_arithmetic(operation, instruction: str) -> None:
    @infer_global(operation)
    class _Arithmetic(AbstractTemplate):
        def generic(self, args, kws):
            lanes = _lanes_among(args)
            return signature(lanes, *[lanes] * len(args)) if lanes else None

    @lower_builtin(operation, *[LanesType] * (1 if instruction == "fneg" else 2))
    def _lower(context, builder, sig, args):
        return getattr(builder, instruction)(*args, flags=FLAGS)


for _operation, _instruction in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
    (operator.neg, "fneg"),
):
    _register_arithmetic(_operation, _instruction)


def _register_comparison(operation, symbol: str) -> None:
    @infer_global(operation)
    class _Comparison(AbstractTemplate):
        def generic(self, args, kws):
            lanes = _lanes_among(args)
            return signature(MaskType(lanes), lanes, lanes) if lanes else None

    @lower_builtin(operation, LanesType, LanesType)
    def _lower(context, builder, sig, args):
        return builder.fcmp_ordered(symbol, *args)


for _operation, _symbol in COMPARISONS.items():
    _register_comparison(_operation, _symbol)


def _register_logic(operation, instruction: str) -> None:
    @infer_global(operation)
    class _Logic(AbstractTemplate):
        def generic(self, args, kws):
            if all(isinstance(a, MaskType) for a in args):
                return signature(args[0], *args)
            return None

    @lower_builtin(operation, *[MaskType] * (1 if instruction == "not_" else 2))
    def _lower(context, builder, sig, args):
        return getattr(builder, instruction)(*args)


for _operation, _instruction in (
    (operator.and_, "and_"),
    (operator.or_, "or_"),
    (operator.invert, "not_"),
):
    _register_logic(_operation, _instruction)


def vector_intrinsic(builder, name: str, args):
    """Call an LLVM intrinsic on doubles or on vectors."""
    kind = args[0].type
    bits = 32 if isinstance(kind, ir.VectorType) and isinstance(kind.element, ir.FloatType) else 64
    suffix = f"v{kind.count}f{bits}" if isinstance(kind, ir.VectorType) else "f64"
    function_type = ir.FunctionType(kind, [a.type for a in args])
    function = cgutils.get_or_insert_function(builder.module, function_type, f"llvm.{name}.{suffix}")
    return builder.call(function, args, fastmath=FLAGS)
