# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Operations that only constants ask for where they are dual numbers: powers with an exponent of the model.

Exponents are no parameters, so their values count.
"""

from __future__ import annotations

import operator

from numba import types
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, overload

from worldline._src.compiler import INLINE_OPTIONS
from worldline._src.duals import parameter_kind as _kind
from worldline._src.duals.lowering import DUAL7, Dual7Type, _as_dual, _to_power, value_of
from worldline._src.scalar import lowering, ops

lowering.SCALARS[_kind.DUAL7_OWN.name] = DUAL7


def _by_value(context, builder, sig, args):
    return _to_power(builder, _as_dual(builder, args[0]), value_of(builder, args[1]))


@infer_global(operator.pow)
class _Power(AbstractTemplate):
    def generic(self, args, kws):
        if len(args) == 2 and isinstance(args[1], Dual7Type):
            if isinstance(args[0], Dual7Type):
                return signature(DUAL7, DUAL7, DUAL7)
            if isinstance(args[0], (types.Float, types.Integer)):
                return signature(DUAL7, types.float64, DUAL7)
        return None


lower_builtin(operator.pow, Dual7Type, Dual7Type)(_by_value)
lower_builtin(operator.pow, types.Float, Dual7Type)(_by_value)


@intrinsic
def _power(typingctx, x, exponent):
    return DUAL7(x, exponent), _by_value


@overload(ops.power, jit_options=INLINE_OPTIONS)
def _power_overload(x, exponent):
    if isinstance(exponent, Dual7Type) and isinstance(x, (Dual7Type, types.Float)):
        return lambda x, exponent: _power(x, exponent)
    return None


@intrinsic
def _shared(typingctx, x):
    return types.float64(DUAL7), lambda context, builder, sig, args: value_of(builder, args[0])


@overload(ops.shared, jit_options=INLINE_OPTIONS)
def _shared_overload(x):
    return (lambda x: _shared(x)) if isinstance(x, Dual7Type) else None
