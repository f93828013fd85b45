# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What the compiler knows of scalars, of the operations on them and of views; imported by it alone."""

from worldline._src.scalar.lowering import memory, ops, packed, value_types, wide_rows
from worldline._src.scalar.lowering.dual import DUAL
from worldline._src.scalar.lowering.lanes import LANES4, LANES8, SINGLE8, SINGLE16

__all__ = ["SCALARS", "memory", "ops", "packed", "value_types", "wide_rows"]

SCALARS = {
    "lanes4": LANES4,
    "lanes8": LANES8,
    "lanes4own": LANES4,
    "lanes8own": LANES8,
    "single8": SINGLE8,
    "single16": SINGLE16,
    "single8own": SINGLE8,
    "single16own": SINGLE16,
    "dual": DUAL,
}
"""Types of the scalars that are not the compiler's own, by the names of `kinds.py`."""
