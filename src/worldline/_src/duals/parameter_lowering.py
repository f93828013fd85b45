# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Operations that only constants ask for where they are dual numbers: powers with an exponent of the model.

Exponents are no parameters, so their values count.
"""

from __future__ import annotations

import operator

from numba import types
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin

from worldline._src.compiler import lowers
from worldline._src.duals import parameter_kind as _kind
from worldline._src.duals.lowering import DUAL7, Dual7Type, _as_dual, _of_dual, _to_power, value_of
from worldline._src.scalar import lowering, ops
from worldline._src.scalar.lowering.scalar_types import NUMBERS

lowering.SCALARS[_kind.DUAL7_OWN.name] = DUAL7


def _by_value(context, builder, sig, args):
    return _to_power(builder, _as_dual(builder, args[0]), value_of(builder, args[1]))


@infer_global(operator.pow)
class _Power(AbstractTemplate):
    def generic(self, args, kws):
        if len(args) == 2 and isinstance(args[1], Dual7Type):
            if isinstance(args[0], Dual7Type):
                return signature(DUAL7, DUAL7, DUAL7)
            if isinstance(args[0], NUMBERS):
                return signature(DUAL7, types.float64, DUAL7)
        return None


lower_builtin(operator.pow, Dual7Type, Dual7Type)(_by_value)
lower_builtin(operator.pow, types.Float, Dual7Type)(_by_value)


@lowers(ops.power)
def _power(typingctx, x, exponent):
    if not isinstance(exponent, Dual7Type) or not isinstance(x, (Dual7Type, types.Float)):
        return None
    return DUAL7(x, exponent), _by_value


@lowers(ops.shared)
def _shared(typingctx, x):
    return _of_dual(x, types.float64, value_of)
