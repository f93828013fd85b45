# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Room for near pairs and rows of worlds in lanes, which grows when steps need more.

A group of worlds that was short of room keeps its state and is marked; the room is doubled and its steps are
made again, so results do not depend on how much room there was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.spatial.poses import Array
from worldline._src.step.lane_runner import MISSING

if TYPE_CHECKING:
    from worldline._src.step.lane_simulation import Chunk, LaneSimulation


def grown(sim: LaneSimulation, marks_io: Array) -> bool:
    """Grow what groups of worlds were short of, by their marks; False when they were short of nothing."""
    short = int(np.bitwise_or.reduce(marks_io[:, MISSING].astype(np.int64)))
    if not short:
        return False
    length = len(sim.constraints.block.d)
    sim.constraints.grow(short)
    sim.laid_out_again(len(sim.constraints.block.d) - length)
    marks_io[:, MISSING] = 0.0
    return True


def with_growth(
    sim: LaneSimulation, marks: Array, chunk: Chunk, many: int, share: Callable[[Chunk, int], None]
) -> None:
    """Share out `many` steps of all worlds, and again those of worlds that were short of room.

    marks: of all worlds, which `chunk` writes.
    """
    before = marks.copy()
    share(chunk, many)
    while (short := marks[:, MISSING] > 0.0).any():
        needs = marks.copy()
        marks[short] = before[short]
        grown(sim, needs)
        share(_on_runs(chunk, short), many)


def _on_runs(chunk: Chunk, chosen: np.ndarray) -> Chunk:
    """The work on every run of chosen worlds."""

    def work(low: int, high: int, many: int) -> None:
        edges = np.flatnonzero(np.diff(chosen[low:high].astype(np.int8), prepend=0, append=0)) + low
        for first, end in edges.reshape(-1, 2).tolist():
            chunk(first, end, many)

    return work


def dense_kept(listed: Array, count: int) -> Array:
    """Forces of rows at their places, of which `listed` has place from 1 on and force, (worlds, count)."""
    place, force = np.moveaxis(listed.reshape(len(listed), -1, 2), 2, 0)
    used = np.cumprod(place > 0.5, axis=1) > 0
    made, (world, _) = np.zeros((len(listed), count)), np.nonzero(used)
    made[world, place[used].astype(np.int64) - 1] = force[used]
    return made
