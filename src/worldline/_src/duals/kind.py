# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The scalar of derivatives of steps, and stages compiled for it.

It is no part of `scalar`, on which all machine code depends: the name of the kind has a hash of the sources
of its arithmetic, so an edit there recompiles derivatives and nothing else.
"""

from __future__ import annotations

from pathlib import Path

from worldline._src.jit import Stage
from worldline._src.kernel_cache import SOURCES
from worldline._src.kinds import SCALARS, Kind

DIRECTIONS = 7
"""Derivatives that a number carries."""
DOUBLES = DIRECTIONS + 1
"""Doubles that a number is: its value, then its derivatives."""

_LOWERING = "worldline._src.duals.lowering"
_DIGEST = SOURCES.digest(Path(__file__).with_name("lowering.py")).hex()[:12]

DUAL7 = SCALARS.setdefault(
    f"dual7-{_DIGEST}", Kind(f"dual7-{_DIGEST}", "dual of 7 directions", DOUBLES, _LOWERING)
)
"""A value and its derivatives along seven directions, as one machine vector."""
PLAIN = SCALARS.setdefault(
    "plain", Kind("plain", "float64 of derivatives", 1, "worldline._src.duals.plain_lowering")
)
"""One double, for stages of derivatives that also run in plain numbers."""


def dual_address(stage: Stage) -> int:
    """The address of a stage's machine code for dual numbers, compiled when there is none."""
    return stage.address(DUAL7)


def value_of(x):
    """The value of a dual number, a float64."""
    return x
