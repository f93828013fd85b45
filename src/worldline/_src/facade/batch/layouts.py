# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The worlds of a batch in the layout that was chosen."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from worldline._src.facade.batch.lane_worlds import LaneWorlds
from worldline._src.facade.batch.layout_choice import LANES, LayoutChoice
from worldline._src.facade.batch.noise import BatchNoise
from worldline._src.facade.batch.template import Template
from worldline._src.facade.batch.thread_worlds import ThreadWorlds
from worldline._src.spatial.poses import Array


def worlds_of(template: Template, count: int, choice: LayoutChoice) -> LaneWorlds | ThreadWorlds:
    """`count` worlds at the start of a template."""
    if choice.kind == LANES:
        return LaneWorlds(template, count, choice.dtype)
    return ThreadWorlds(template, count)


def on_threads(
    lanes: LaneWorlds, given: Mapping[str, Array], which: np.ndarray, noise: BatchNoise
) -> ThreadWorlds:
    """Worlds that go on from those in lanes, on threads, once some were given parameters."""
    moved = ThreadWorlds(lanes.template, lanes.count, lanes.arrays)
    moved.write_parameters(lanes.own.rows, np.arange(lanes.count))
    moved.write_parameters(given, which)
    noise.give(moved)
    # a World that compiles again for a parameter forgets that it is frozen
    moved.continue_from(lanes.frame, lanes.time, lanes.failures, lanes.frozen)
    return moved
