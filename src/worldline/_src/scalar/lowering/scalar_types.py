# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What the types of scalars have in common: numbers convert to them, and all compare in the same ways."""

from __future__ import annotations

import operator

from numba import types
from numba.core.typeconv.castgraph import Conversion

from worldline._src.compiler import FASTMATH

FLAGS = tuple(sorted(FASTMATH))
"""Flags of every instruction."""
NUMBERS = (types.Float, types.Integer)
"""Types of numbers that may stand where a scalar is expected."""
COMPARISONS = {
    operator.lt: "<",
    operator.le: "<=",
    operator.gt: ">",
    operator.ge: ">=",
    operator.eq: "==",
}
"""Comparisons of scalars, and their symbols in LLVM."""


class ScalarType(types.Type):
    """A type of scalars: numbers convert to it."""

    def can_convert_from(self, typingctx: object, other: types.Type) -> Conversion | None:
        return Conversion.safe if isinstance(other, NUMBERS) else None
