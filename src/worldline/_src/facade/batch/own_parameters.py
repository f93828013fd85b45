# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of worlds in lanes that differ from those the batch was made with, by name.

There is no World for each of them. One World takes the parameters of one world after the other, with the
checks of its properties, and its model has the numbers that lanes need.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from worldline._src.errors import CapabilityError
from worldline._src.facade.batch.parameters import Parameter, number_or_row, parameters_of
from worldline._src.facade.batch.template import Template
from worldline._src.facade.world import World
from worldline._src.spatial.poses import Array
from worldline._src.step.step_plan import StepPlan


class OwnParameters:
    """What was written of parameters, a row a world."""

    def __init__(self, template: Template, count: int) -> None:
        self._template, self._count = template, count
        self.rows: dict[str, Array] = {}
        """Numbers of all worlds by the name of a parameter; those without are the template's."""
        self._known: dict[str, Parameter] | None = None
        self._world: World | None = None
        self._given: dict[str, bytes] = {}
        self._plan: StepPlan | None = None

    def parameter(self, name: str) -> Parameter:
        """How a World has a parameter."""
        if self._known is None:
            assert self._template.world is not None
            self._known = parameters_of(self._template.world)
        return self._known[name]

    def __getstate__(self) -> dict[str, Any]:
        # functions that read and write parameters are found again when they are needed
        return {**vars(self), "_known": None}

    def read(self, name: str, which: np.ndarray) -> Array:
        """A parameter of some worlds, (worlds, ...)."""
        if name in self.rows:
            return self.rows[name][which]
        parameter, world = self.parameter(name), self._template.world
        assert world is not None
        value = np.array(parameter.read(world), float)
        return np.repeat(value[None], len(which), axis=0)

    def with_given(self, given: Mapping[str, Array], which: np.ndarray) -> dict[str, Array]:
        """All rows after some worlds were given numbers; nothing changes here."""
        made = dict(self.rows)
        for name, numbers in given.items():
            rows = self.read(name, np.arange(self._count)).copy()
            rows[which] = numbers
            made[name] = rows
        return made

    def world(self, index: int, rows: Mapping[str, Array] | None = None) -> World:
        """A World with the parameters of a world; it is the same one until the next call.

        Raises:
            CapabilityError: these parameters make a step of other stages than those of all worlds.
        """
        if self._world is None:
            assert self._template.world is not None
            self._world, self._given = self._template.world.clone(), {}
        world, kept = self._world, self._given
        # a World that refused a number may have taken a part of it
        self._world = None
        for name, numbers in (self.rows if rows is None else rows).items():
            row = numbers[index]
            given = row.tobytes()
            if kept.get(name) != given:
                self.parameter(name).write(world, number_or_row(row))
                kept[name] = given
        plan = world._ready().sim.plan()
        self._world = world
        if self._plan is None:
            self._plan = self._template.sim.plan()
        if plan != self._plan:
            start = self._plan
            wrong = [name for name in plan._fields if getattr(plan, name) != getattr(start, name)]
            stages = ", ".join(name.replace("_", " ") for name in wrong)
            raise CapabilityError(f"world {index} has another step than the others: {stages}")
        return world
