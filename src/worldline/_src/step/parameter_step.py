# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of a step by physical parameters: the constants of a model as dual numbers.

A parameter p acts through the constants c(p) that stages read: inertias, joint frames, gains, laws of
contact, sizes of shapes, and what is derived from them, such as inverse weights. Along its direction the
step in dual numbers (`dual_step.py`) has constants with the derivatives dc/dp, which do not depend on the
state.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from worldline._src.duals.kind import DOUBLES
from worldline._src.duals.parameter_kind import DUAL7_OWN
from worldline._src.errors import OperationError
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.memory import address_of
from worldline._src.spatial.poses import Array
from worldline._src.step.dual_step import NUMBERS, OPERATION, DualStep, as_duals
from worldline._src.step.simulation import Simulation
from worldline._src.step.step_table import COLLISION, CONSTRAINT, MULTIBODY

_CONSTANT = 1
"""Where constants are in a set of arenas."""


class ConstantSlopes(NamedTuple):
    """Derivatives of constants by parameters.

    Attributes:
        at: positions of constants that depend on any, by set of arenas, (k,).
        slopes: their derivatives, (parameters, k).
    """

    at: Mapping[int, np.ndarray]
    slopes: Mapping[int, Array]

    @staticmethod
    def of(dense: Mapping[int, Array]) -> ConstantSlopes:
        """Those of whole arenas of constants, (parameters, constants) each."""
        at = {place: np.flatnonzero((slopes != 0.0).any(axis=0)) for place, slopes in dense.items()}
        return ConstantSlopes(at, {place: dense[place][:, k] for place, k in at.items()})


def constants_of(sim: Simulation) -> dict[int, Array]:
    """The arenas of constants of a Simulation as its next step reads them, by set of arenas."""
    if not sim.stages:
        raise OperationError("a step of this world has no stages")
    used = (MULTIBODY, CONSTRAINT, COLLISION) if sim.constraints is not None else (MULTIBODY,)
    if sim.constraints is not None and sim.constraints.collision is None:
        used = (MULTIBODY, CONSTRAINT)
    return {place: sim.sets[place][_CONSTANT] for place in used}


def structure_of(sim: Simulation) -> tuple[object, ...]:
    """What must be the same for all values of a parameter: stages, integers, numbers of constants."""
    numbers = constants_of(sim)
    return (
        *sim.schedule,
        *(sim.sets[place][0].tobytes() for place in numbers),
        *(len(each) for each in numbers.values()),
    )


class ParameterStep(DualStep):
    """A step whose constants have derivatives."""

    kind = DUAL7_OWN

    def __init__(self, sim: Simulation, kept: dict[str, Array], slopes: ConstantSlopes) -> None:
        self.given = slopes
        super().__init__(sim, False, kept)
        self.kept = dict(kept)
        inputs = []
        start = sum(self._sizes.values())
        for place, at in slopes.at.items():
            numbers = sim.sets[place][_CONSTANT]
            for run in np.split(at, np.flatnonzero(np.diff(at) > 1) + 1) if at.size else ():
                name = f"{place} {run[0]}"
                address = int(self._sets[place, _CONSTANT]) + 8 * DOUBLES * int(run[0])
                inputs.append((address, len(run), start))
                self.kept[name] = numbers[run[0] : run[0] + len(run)]
                self._sizes[name], self._starts[name] = len(run), start
                start += len(run)
        self._inputs = np.concatenate([self._inputs, np.array(inputs, np.int64).reshape(-1, 3)])

    def _constants(self, numbers: Array) -> Array:
        return as_duals(numbers)

    def _make_first(self, sim: Simulation) -> None:
        """Values of constants are those of today, and have no derivatives but those of the groups."""
        super()._make_first(sim)
        values = [
            (NUMBERS, address_of(numbers), int(self._sets[place, _CONSTANT]), len(numbers))
            for place, numbers in constants_of(sim).items()
        ]
        self._first = np.concatenate([self._first, np.array(values, np.int64).reshape(-1, OPERATION)])

    def by_parameters(self) -> dict[str, Array]:
        """Values, then derivatives by the parameters, of what the step ends with; see `run`."""
        slopes: dict[str, Array] = {}
        n = 0
        for place, at in self.given.at.items():
            rows = self.given.slopes[place]
            n = len(rows)
            for k in range(len(at)):
                if k == 0 or at[k] != at[k - 1] + 1:
                    name = f"{place} {at[k]}"
                    slopes[name] = rows[:, k : k + self._sizes[name]]
        return self.run(slopes, n)
