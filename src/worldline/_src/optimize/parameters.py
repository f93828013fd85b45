# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The differentiable parameters of a World as one vector."""

from __future__ import annotations

import numpy as np

from worldline._src.facade import physical_parameters
from worldline._src.facade.physical_parameters import Place
from worldline._src.facade.world import World
from worldline._src.spatial.poses import Array


class ParameterVector:
    """All numbers of `World.add_differentiable_parameter`, read and written together.

    The World is one that is there to be changed, a clone. Frames are given as displacements from where the
    World had them.

    Attributes:
        names: as in `StepDerivatives.parameter_names`, (p,).
        start: the numbers that the World had, (p,).
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.numbers = [physical_parameters.numbers_of(world, one) for one in world._parameters]
        self.names = tuple(name for one in self.numbers for name in one.names)
        runtime = world._live()
        self.parts = [physical_parameters.read(runtime, one) for one in self.numbers]
        self.start = np.concatenate([np.zeros(0), *self.parts])
        self._frames = np.array(runtime.model.joint_X_p)
        self._now = self.start

    def put(self, values: Array) -> None:
        """Give the World these numbers."""
        if np.array_equal(values, self._now):
            return
        runtime, first = self._world._live(), 0
        if any(one.place is Place.FRAME for one in self.numbers):
            runtime.update(joint_X_p=self._frames)
        for numbers in self.numbers:
            last = first + len(numbers.rows)
            physical_parameters.write(runtime, numbers, values[first:last])
            first = last
        self._now = values.copy()
