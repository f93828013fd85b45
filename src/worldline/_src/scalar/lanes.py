# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Lanes: one number from each of several worlds, as one machine vector.

Doubles of 4 or 8 worlds, or numbers of single precision of 8 or 16. `a * b` on lanes is one instruction, and
numbers mix with lanes by broadcasting. How lanes are compiled is in `lowering/lanes.py`.
"""

from __future__ import annotations

from worldline._src.kinds import LANES4, LANES8, SINGLE8, SINGLE16
from worldline._src.processor import levels

__all__ = ["LANES4", "LANES8", "SINGLE8", "SINGLE16", "native_width"]


def native_width() -> int:
    """How many doubles the processor computes at once: 8 with all of x86-64-v4, otherwise 4."""
    return 8 if "x86-64-v4" in levels() else 4
