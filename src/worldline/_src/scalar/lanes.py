# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Lanes: one double from each of 4 or 8 worlds, as one machine vector.

`a * b` on lanes is one instruction, and numbers mix with lanes by broadcasting. How lanes are compiled is in
`lowering/lanes.py`.
"""

from __future__ import annotations

from worldline._src.kinds import LANES4, LANES8
from worldline._src.processor import flags

__all__ = ["LANES4", "LANES8", "native_width"]


def native_width() -> int:
    """How many doubles the processor computes at once: 8 with AVX-512, otherwise 4."""
    return 8 if "avx512f" in flags() else 4
