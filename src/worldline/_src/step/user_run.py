# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The elements of a user in the steps of one Simulation: their arenas, and the calls of functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.jit import Stage
from worldline._src.kernels.program import caller
from worldline._src.kinds import float64
from worldline._src.scalar.memory import address_of
from worldline._src.spatial.poses import Array
from worldline._src.step import user_stages
from worldline._src.step.evaluate import stage_addresses
from worldline._src.step.step_plan import StepPlan
from worldline._src.step.step_table import CONSTRAINT, MULTIBODY, PAUSES
from worldline._src.step.user_elements import CONTROLLER, UserCalls
from worldline._src.step.user_tables import UserTables

if TYPE_CHECKING:
    from worldline._src.step.simulation import Simulation


class UserRun:
    """What the steps of a Simulation need of its elements, as prepared for a plan."""

    def __init__(self, sim: Simulation, plan: StepPlan) -> None:
        self._sim = sim
        constraints, elements = sim.constraints, sim.elements
        drives = constraints is not None and constraints.drives
        self._acting = constraints.actuators if constraints is not None and drives else np.zeros(0, np.int64)
        at = constraints.place_of("control") if constraints is not None and drives else 0
        kernels, parameters = elements.kernels, elements.parameters
        self.tables = UserTables(sim.model, kernels, parameters, self._acting, at, four=plan.runge_kutta)
        self._args = self.tables.arguments(float64)
        self._adds = plan.force_elements or plan.force_kernels
        self._controls = elements.has_kernels(CONTROLLER)
        self._calls: UserCalls | None = None
        if elements.has_functions:
            self._calls = UserCalls(sim, elements, self.tables, self._args, 4 if plan.runge_kutta else 1)
        first, count = self.tables.m[user_stages.APPLIED], len(self.tables.base)
        self._applied = sim.data[first : first + count]
        """Forces on bodies and commanded forces."""

    def pauses(self, schedule: Sequence[tuple[Stage, int]]) -> dict[int, Callable[[], None]]:
        """What to call when the loop over these stages returns for the user, by the stage it goes on with."""
        calls = self._calls
        if calls is None:
            return {}
        return {k + 1: getattr(calls, s.name) for k, (s, _) in enumerate(schedule) if s in PAUSES}

    @property
    def acted(self) -> Array | None:
        """Torques, then forces of the last evaluation where force elements add some, (body_count, 6)."""
        return self.tables.acted if self._adds else None

    def arenas(self) -> tuple[Any, ...]:
        """The set of arenas of these elements, with the places of the others as they are now."""
        sim = self._sim
        rows = sim.data if sim.constraints is None else sim.constraints.block.d
        self._args[user_stages.TREES], self._args[user_stages.ROWS] = address_of(sim.data), address_of(rows)
        if self._calls is not None:
            self._calls.rebind()
        return self.tables.arenas(self._args)

    def kept(self, saved: int, first: int) -> list[tuple[int, int, int, int, int]]:
        """Commands that are put back with a step where kernels write them: set, place, count, copy and place.

        Copies are in set `saved`, from `first` on.
        """
        if not self._controls:
            return []
        sim, at = self._sim, self._sim.model.arenas.offsets
        count = at["a_target"] - at["force"]
        made = [(MULTIBODY, at["force"], count, saved, first)]
        if sim.constraints is not None and len(self._acting):
            place = sim.constraints.place_of("control")
            made.append((CONSTRAINT, place, len(self._acting), saved, first + count))
        return made

    def begin(self) -> bool:
        """Let elements have what the next steps begin with; returns whether these return to Python."""
        sim, tables = self._sim, self.tables
        np.copyto(tables.parameters, sim.elements.parameters)
        tables.d[user_stages.START] = sim.time_start()
        self._args[user_stages.FRAME] = sim.clock[0]
        np.copyto(tables.base, self._applied)
        return self._calls is not None

    def end(self) -> None:
        """Controls that kernels wrote are those of the world."""
        if self._controls and len(self._acting):
            assert self._sim.constraints is not None
            self._sim.control[self._acting] = self._sim.constraints.column.control

    def give_up(self) -> None:
        """Put back forces and controls of a step that is broken off; the commands are back already."""
        np.copyto(self._applied, self.tables.base)
        self.end()

    def readings(self) -> Array:
        """What the kernels that are sensors make of the present state, one after the other."""
        sim = self._sim
        sim.fresh_poses()
        sim.fresh_velocities()
        self.begin()
        program = stage_addresses((user_stages.sensor_kernels,))
        caller()(program, *self.arenas())
        return self.tables.readings.copy()
