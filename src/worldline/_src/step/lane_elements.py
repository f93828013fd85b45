# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels of a user in the steps of worlds in lanes: their arenas, rows and readings.

The same source as for one world is compiled for the scalar of lanes. Commands that controllers write, and the
clock, are part of the state of a world; parameters are part of its inputs, so that every world may have its
own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.errors import CapabilityError
from worldline._src.scalar.memory import address_of
from worldline._src.spatial.poses import Array
from worldline._src.step import user_stages
from worldline._src.step.evaluate import choose_scalar
from worldline._src.step.lane_rows import spread_over
from worldline._src.step.lane_runner import MARKS, lane_runner, program_table, set_table
from worldline._src.step.step_plan import StepPlan
from worldline._src.step.step_table import CONSTRAINT, MULTIBODY, USER, sensor_stages
from worldline._src.step.user_elements import UserElements
from worldline._src.step.user_tables import UserTables, kind_of

if TYPE_CHECKING:
    from worldline._src.step.lane_simulation import LaneSimulation

_UNCHECKED = np.zeros((0, 4), np.int64)


class LaneElements:
    """The kernels of a `LaneSimulation`."""

    def __init__(self, sim: LaneSimulation, elements: UserElements, four: bool, control_at: int) -> None:
        if elements.has_functions:
            raise CapabilityError("steps in lanes have no functions of Python within them; use kernels")
        for one in elements.kernels:
            if not one.kernel.lanes:
                raise CapabilityError(f"kernel '{one.kernel.__name__}' was made with lanes=False")
            if one.every != 1:
                raise CapabilityError(f"steps in lanes have no period of kernels, which '{one.name}' has")
        self._sim = sim
        acting = sim.constraints.actuators
        self.tables = UserTables(
            sim.model, elements.kernels, elements.parameters, acting, control_at, four=four
        )
        self.parameters_at, self.start_at = self.tables.parameters_at, user_stages.START
        self.com_at = self.tables.com_at

    @property
    def parameter_count(self) -> int:
        """How many parameters all kernels have."""
        return self.tables.parameters.size

    def with_arenas(self, sets: list[tuple[Any, ...]], scalar: str) -> list[tuple[Any, ...]]:
        """Sets of arenas of a group of worlds with that of the kernels."""
        tables, wide = self.tables, spread_over(self.tables.d, scalar)
        args = tables.arguments(kind_of(scalar))
        args[user_stages.TREES] = address_of(sets[MULTIBODY][3])
        args[user_stages.ROWS] = address_of(sets[CONSTRAINT][3])
        return [*sets, *[sets[MULTIBODY]] * (USER - len(sets)), (tables.m, tables.c, args, wide)]

    def readings(self, lanes: int | None = None) -> Array:
        """What the kernels that are sensors make of the present state of every world, (worlds, numbers)."""
        sim, size = self._sim, self.tables.readings.size
        if not size:
            return np.zeros((sim.worlds, 0))
        # kernels of sensors are compiled for constants that worlds share
        scalar = "float" if sim.has_own_parameters else choose_scalar(lanes, sim.worlds)
        state, inputs, own = sim.rows(np.arange(sim.worlds))
        rows = np.concatenate([state, np.zeros((sim.worlds, size))], axis=1)
        parts = np.array([(USER, self.tables.readings_at, size, state.shape[1])], np.int64)
        parts = np.concatenate([sim.row_tables[0], parts])
        program = program_table(sensor_stages(StepPlan(sensor_kernels=True)), scalar)
        sets = sim.sets_of(scalar, rows.shape[1])
        tables = parts, *sim.row_tables[1:3], _UNCHECKED, np.zeros((2, 0))
        marks = np.zeros((sim.worlds, MARKS))
        lane_runner(scalar)(program, set_table(sets), *tables, rows, inputs, own, marks, 0, sim.worlds, 1)
        return np.ascontiguousarray(rows[:, state.shape[1] :])
