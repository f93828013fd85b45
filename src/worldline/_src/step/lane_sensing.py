# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Readings of the sensors of many worlds, by the same stages as those of one.

Rows of state are copied, with room for the readings behind them; the loop over steps runs the stages of an
evaluation and of the sensors on them once and copies the readings out. The state of the worlds stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.kernels.sensors import tables as t
from worldline._src.model.model import Model
from worldline._src.scalar.memory import aligned_zeros
from worldline._src.spatial.poses import Array
from worldline._src.step.evaluate import SCALARS, choose_scalar, in_threads, number_type
from worldline._src.step.lane_room import grown
from worldline._src.step.lane_rows import spread_over
from worldline._src.step.lane_runner import MARKS, lane_runner, program_table, set_table
from worldline._src.step.pack_sensors import SensorTables, connected
from worldline._src.step.sensor_noise import SensorNoise, noise_of
from worldline._src.step.step_table import MULTIBODY, SENSOR, sensor_stages

if TYPE_CHECKING:
    from worldline._src.step.lane_simulation import LaneSimulation

_UNCHECKED = np.zeros((0, 4), np.int64)


def scene_noise(model: Model, count: int) -> SensorNoise | None:
    """The noise that a scene requests in so many worlds; None where it requests none."""
    if model.option is None:
        return None
    policy = model.option.policy
    return noise_of(model, policy.sensor_noise_seed, policy.sensor_noise_world + np.arange(count))


class LaneSensing:
    """Readings of all sensors of a `LaneSimulation`, with noise if there is any."""

    def __init__(self, sim: LaneSimulation, noise: SensorNoise | None) -> None:
        self.sim, self._noise = sim, noise
        table = sim.model.sensors
        self._off = table is None or (sim.model.option is not None and sim.model.option.disable_sensors)
        self._size = 0 if table is None else table.size
        self.refused: dict[str, str] = {}
        """Why sensors cannot be read, by name."""
        if table is None or self._off:
            return
        self._tables = tables = SensorTables(sim.model, sim.constraints, clips=noise is None)
        self.refused = {table.label[k]: why for k, why in tables.refused.items()}
        spans = [np.arange(table.start[k], table.start[k + 1]) for k in tables.refused]
        self._unreadable = np.concatenate([np.zeros(0, np.int64), *spans])
        entry, m = t.TABLE.entry, tables.block.m
        width = sim._state.shape[1]
        extra = np.array(
            [
                (SENSOR, int(m[entry["reading"]]), self._size, width),
                (SENSOR, int(m[entry["time"]]), 1, width + self._size),
            ],
            np.int64,
        )
        self._parts = np.concatenate([sim._state_parts, extra])
        self._programs: dict[tuple[str, bool], Any] = {}
        self._rooms: dict[str, list[tuple[list[tuple[Any, ...]], Any]]] = {}

    def values(self, threads: int, lanes: int | None, time: Array | float, frames: np.ndarray | int) -> Array:
        """Readings of every world, (worlds, numbers), at the time and the number of steps of each."""
        sim = self.sim
        if self._off:
            return np.zeros((sim.worlds, self._size))
        scalar = choose_scalar(lanes, sim.worlds)
        # kernels of sensors are compiled for constants that worlds share
        scalar = "float" if self._tables.branches or sim.has_own_parameters else scalar
        key = scalar, bool(sim.body_f.any())
        if key not in self._programs:
            plan = self._tables.plan(sim.plan(wrenches=key[1]), self._tables.present)
            self._programs[key] = program_table(sensor_stages(plan), scalar)
        width = sim._state.shape[1]
        rows = np.empty((sim.worlds, width + self._size + 1))
        rows[:, :width], rows[:, width:-1], rows[:, -1] = sim._state, 0.0, time
        marks, run, limits = np.zeros((sim.worlds, MARKS)), lane_runner(scalar), np.zeros((2, 0))

        own = sim._own

        def chunk(low: int, high: int, many: int) -> None:
            try:
                room = self._rooms.setdefault(scalar, []).pop()
            except IndexError:
                room = self._room(scalar, rows.shape[1])
            tables = self._parts, sim._input_parts, own.parts(len(room[0]) - 1 - own.count), _UNCHECKED
            numbers = rows, sim._inputs, own.numbers, marks
            run(self._programs[key], room[1], *tables, limits, *numbers, low, high, many)
            self._rooms[scalar].append(room)

        if threads == 1:
            chunk(0, sim.worlds, 1)
        else:
            in_threads(chunk, sim.worlds, threads, SCALARS[scalar][1], 1)
        if grown(sim, marks):
            return sim._sensing().values(threads, lanes, time, frames)
        made = np.ascontiguousarray(rows[:, width:-1])
        made[:, self._unreadable] = np.nan
        if self._noise is not None:
            self._noise.add(made, frames)
        return made

    def _room(self, scalar: str, numbers: int) -> tuple[list[tuple[Any, ...]], Any]:
        """Arenas for a group of worlds with those of sensors, and the table of their addresses."""
        width, sets = SCALARS[scalar][1], self.sim.arenas(scalar)
        constants, own = self.sim._own.sets(sets), []
        for m, c, args, d in self._tables.arenas():
            own.append((m, c, args.copy(), spread_over(d, scalar)))
        sets += [sets[MULTIBODY]] * (SENSOR - len(sets))
        sets = [*connected(sets, own, has_rows=True), *constants]
        sets.append((*sets[MULTIBODY][:3], aligned_zeros(numbers * width, number_type(scalar))))
        return sets, set_table(sets)
