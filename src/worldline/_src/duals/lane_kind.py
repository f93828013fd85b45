# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The scalar of derivatives of steps in lanes: a value and its derivative along one direction, in every lane.

In memory it is two machine vectors, values first, so that an arena of it is one of lanes with twice as many
numbers: stages over lanes write values beside derivatives and read them there.
"""

from __future__ import annotations

from pathlib import Path

from worldline._src.kernel_cache import SOURCES
from worldline._src.kinds import SCALARS, Kind

_LOWERING = "worldline._src.duals.lane_lowering"
_DIGEST = SOURCES.digest(Path(__file__).with_name("lane_lowering.py")).hex()[:12]


def _kind(width: int) -> Kind:
    name = f"dual{width}lanes-{_DIGEST}"
    return SCALARS.setdefault(name, Kind(name, f"dual of {width} lanes", 2 * width, _LOWERING, worlds=width))


DUAL_LANES4, DUAL_LANES8 = _kind(4), _kind(8)
"""A value and a derivative from each of 4 or 8 worlds."""
