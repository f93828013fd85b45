# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Operators that kernels of a user may write and those of this package do not: `+=` and its kin on lanes.

Imported when a kernel of a user has to be compiled, and only then, so that machine code of no other stage
depends on it.
"""

from __future__ import annotations

import operator

from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin

from worldline._src.compiler import FASTMATH
from worldline._src.scalar.lowering.lanes import LanesType

FLAGS = tuple(sorted(FASTMATH))
"""Floating-point freedoms, those of every kernel."""


def _register(operation, instruction: str) -> None:
    @infer_global(operation)  # type: ignore[misc] # a decorator that the stubs do not know
    class _InPlace(AbstractTemplate):
        def generic(self, args, kws):
            lanes = args[0]
            return signature(lanes, lanes, lanes) if isinstance(lanes, LanesType) else None

    @lower_builtin(operation, LanesType, LanesType)
    def _lower(context, builder, sig, args):
        return getattr(builder, instruction)(*args, flags=FLAGS)


for _operation, _instruction in (
    (operator.iadd, "fadd"),
    (operator.isub, "fsub"),
    (operator.imul, "fmul"),
    (operator.itruediv, "fdiv"),
):
    _register(_operation, _instruction)
