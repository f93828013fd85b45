# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Plain numbers where kernels of derivatives ask for the value of a number: a double is its own value."""

from __future__ import annotations

from numba import types
from numba.extending import overload

from worldline._src.compiler import INLINE_OPTIONS
from worldline._src.duals import kind as _kind
from worldline._src.scalar import lowering

lowering.SCALARS[_kind.PLAIN.name] = types.float64


@overload(_kind.value_of, jit_options=INLINE_OPTIONS)
def _value_overload(x):
    return (lambda x: x) if isinstance(x, types.Float) else None
