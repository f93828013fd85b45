# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Dual numbers whose constants of a model are dual numbers too, for derivatives by physical parameters."""

from __future__ import annotations

from pathlib import Path

from worldline._src.duals.kind import DOUBLES, DUAL7
from worldline._src.kernel_cache import SOURCES
from worldline._src.kinds import SCALARS, Kind

_DIGEST = SOURCES.digest(Path(__file__).with_name("parameter_lowering.py")).hex()[:6]
_NAME = DUAL7.name.replace("dual7", "dual7own") + _DIGEST

DUAL7_OWN = SCALARS.setdefault(
    _NAME,
    Kind(
        _NAME,
        "dual of 7 directions with parameters",
        DOUBLES,
        "worldline._src.duals.parameter_lowering",
        own_constants=True,
    ),
)
"""`DUAL7` in data and in constants."""
