# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""One frame of a replay as one row of numbers: all that a World needs to continue from it bit for bit.

A row starts with what may change at any time without changing the layout (start of time, time step, gravity,
integration family) and the clock; then come the arrays of the step in `ARENA`, forces on bodies that are held
and that act once, and the poses of free frames.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from worldline._src.facade.frame import FreeFrame
from worldline._src.spatial.poses import Array
from worldline._src.step.stepping import MultibodyIntegrationFamily

if TYPE_CHECKING:
    from worldline._src.facade.runtime import Runtime
    from worldline._src.facade.world import World

ARENA = ("clock", "q", "v", "a", "force", "q_target", "v_target", "a_target")
"""Arrays of `Simulation` that a step reads before it writes them, and accelerations, which users read."""
_FAMILIES = tuple(MultibodyIntegrationFamily)
TIME_START, TIME_STEP, GRAVITY, FAMILY, STEPS, STEPS_SINCE = 0, 1, slice(2, 5), 5, 6, 7
"""Columns of every row; the last two are the clock."""
_SETTINGS = 6


class FrameRows:
    """How the state of one runtime goes into rows and comes back."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        model = runtime.model
        offsets, self.parts = model.arenas.offsets, {}
        rows = []
        at = _SETTINGS
        for name in ARENA:
            size = getattr(runtime.sim, name).size
            rows.append(np.arange(offsets[name], offsets[name] + size))
            self.parts[name] = slice(at, at + size)
            at += size
        self._index = np.concatenate(rows)
        self._arena = slice(_SETTINGS, at)
        for name, array in runtime.beside.items():
            self.parts[name] = slice(at, at + array.size)
            at += array.size
        self._fixed = at

    def capture(self, world: World) -> Array:
        """The row of the World as it is now."""
        runtime, sim = self.runtime, self.runtime.sim
        free = _free_poses(world)
        row = np.empty(self._fixed + free.size)
        row[TIME_START] = world._time_start
        row[TIME_STEP] = sim.time_step
        row[GRAVITY] = runtime.model.gravity
        row[FAMILY] = _FAMILIES.index(sim.family)
        # clip: without it take() goes through a buffer of its own
        sim.data.take(self._index, out=row[self._arena], mode="clip")
        for name, array in runtime.beside.items():
            row[self.parts[name]] = array.ravel()
        row[self._fixed :] = free
        return row

    def load(self, world: World, row: Array) -> None:
        """Make the World what it was; the layout was compared before."""
        runtime, sim = self.runtime, self.runtime.sim
        self._load_settings(world, row)
        self.spread(row, sim.data)
        for name, array in runtime.beside.items():
            array[:] = row[self.parts[name]].reshape(array.shape)
        if runtime.mocap.size:
            runtime.place_mocap()
        runtime.wrenches_written()
        sim.written()
        poses = row[self._fixed :].reshape(-1, 7)
        for frame, pose in zip(_free_frames(world), poses, strict=True):
            frame._place(pose)

    def _load_settings(self, world: World, row: Array) -> None:
        runtime, sim, options = self.runtime, self.runtime.sim, world._options
        if row[TIME_STEP] != sim.time_step:
            options.time_step = sim.time_step = float(row[TIME_STEP])
        if not np.array_equal(row[GRAVITY], runtime.model.gravity):
            options.gravity = row[GRAVITY].copy()
            runtime.update(gravity=row[GRAVITY].copy())
        family = _FAMILIES[int(row[FAMILY])]
        if family is not sim.family:
            chosen = options.multibody_options
            chosen.integration_family = sim.family = family
            options.multibody_options = chosen
            sim.reconfigure()
        world._time_start = float(row[TIME_START])

    def spread(self, row: Array, data: Array) -> None:
        """Put the arrays of a row into an arena."""
        data[self._index] = row[self._arena]

    def columns(self, rows: np.ndarray) -> list[int]:
        """Columns of a row in which entries of the arena are."""
        order = np.argsort(self._index)
        found = order[np.searchsorted(self._index, rows, sorter=order)]
        return (found + self._arena.start).tolist()


def times(rows: Array) -> Array:
    """Simulated time of every row [s]."""
    return rows[..., TIME_START] + rows[..., STEPS_SINCE] * rows[..., TIME_STEP]


def same_bits(a: Array, b: Array) -> bool:
    """Whether two rows are equal bit for bit."""
    return a.shape == b.shape and bool((a.view(np.int64) == b.view(np.int64)).all())


def _free_frames(world: World) -> list[FreeFrame]:
    return [frame for frame in world._frames.values() if isinstance(frame, FreeFrame)]


def _free_poses(world: World) -> Array:
    if not world._frames:
        return np.zeros(0)
    return np.array([frame._local() for frame in _free_frames(world)]).ravel()
