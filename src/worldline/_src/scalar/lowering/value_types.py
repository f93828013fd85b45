# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Value types, such as vectors: those of numbers become those of other scalars where the two meet."""

from __future__ import annotations

from numba import types
from numba.core import cgutils
from numba.extending import lower_cast


def _unified(self, typingctx, other):
    """The value type whose elements hold those of both; None where they are different value types."""
    if not isinstance(other, types.BaseNamedTuple) or self.instance_class is not other.instance_class:
        return None
    kinds = [typingctx.unify_pairs(a, b) for a, b in zip(self, other, strict=True)]
    if any(kind is None for kind in kinds):
        return None
    if len(set(kinds)) == 1:
        return types.NamedUniTuple(kinds[0], len(kinds), self.instance_class)
    return types.NamedTuple(kinds, self.instance_class)


for _named in (types.NamedTuple, types.NamedUniTuple):
    _named.unify = _unified
    for _other in (types.NamedTuple, types.NamedUniTuple):

        @lower_cast(_named, _other)
        def _cast_value_type(context, builder, fromty, toty, value):
            parts = cgutils.unpack_tuple(builder, value, len(fromty))
            made = [context.cast(builder, x, a, b) for x, a, b in zip(parts, fromty, toty, strict=True)]
            return context.make_tuple(builder, toty, made)
