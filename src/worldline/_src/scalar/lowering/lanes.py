# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Lanes: one double from each of 4 or 8 worlds, as one machine vector.

`LanesType(width)` is a Numba type backed by an LLVM vector, so `a * b` on lanes is one instruction.
Comparing lanes gives a mask that `ops.where` consumes. Numbers mix with lanes by broadcasting.
Every instruction carries the flags of `compiler.FASTMATH`, as those of plain doubles do, so that the same
sums are fused (`contraction.py`) and a lane equals the same world computed alone.
"""

from __future__ import annotations

import operator

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, lower_cast, register_model

from worldline._src.scalar.lowering.scalar_types import COMPARISONS, FLAGS, NUMBERS, ScalarType


class LanesType(ScalarType):
    """The Numba type of `width` doubles that are computed together."""

    def __init__(self, width: int) -> None:
        self.width = width
        super().__init__(name=f"{width} lanes")

    @property
    def key(self) -> int:
        return self.width


class MaskType(types.Type):
    """The Numba type of a comparison of lanes."""

    def __init__(self, width: int) -> None:
        self.width = width
        super().__init__(name=f"mask of {width} lanes")

    @property
    def key(self) -> int:
        return self.width


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, ir.VectorType(ir.DoubleType(), fe_type.width))


@register_model(MaskType)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, ir.VectorType(ir.IntType(1), fe_type.width))


LANES4 = LanesType(4)
LANES8 = LanesType(8)


def splat(builder, value, width: int):
    """Broadcast one double to every lane."""
    vector = ir.VectorType(ir.DoubleType(), width)
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), width), [0] * width)
    return builder.shuffle_vector(first, undefined, zeros)


@lower_cast(types.Float, LanesType)
@lower_cast(types.Integer, LanesType)
def _number_to_lanes(context, builder, fromty, toty, value):
    return splat(builder, context.cast(builder, value, fromty, types.float64), toty.width)


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
            return signature(MaskType(lanes.width), lanes, lanes) if lanes else None

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
    """Call an LLVM intrinsic on doubles or on vectors of doubles."""
    kind = args[0].type
    suffix = f"v{kind.count}f64" if isinstance(kind, ir.VectorType) else "f64"
    function_type = ir.FunctionType(kind, [a.type for a in args])
    function = cgutils.get_or_insert_function(builder.module, function_type, f"llvm.{name}.{suffix}")
    return builder.call(function, args, fastmath=FLAGS)
