# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The arenas of a user's elements: where their kernels are, what they see of a step, what they keep.

One set of four for all elements of a world. `m` and `c` are constant, `args` has addresses and counters, and
`d` holds, in this order: two numbers of time, the centres of mass of bodies, the forces without those of
force elements, the forces on bodies of the last evaluation, the parameters of all kernels, and the readings
of those that are sensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from worldline._src.jit import DISABLED
from worldline._src.kinds import Kind
from worldline._src.model.model import Model
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.memory import address_of
from worldline._src.spatial.poses import Array
from worldline._src.step import user_stages as s
from worldline._src.step.evaluate import SCALARS
from worldline._src.step.island_stages import LINKED
from worldline._src.step.user_kernels import HEADER, LISTS, TREE_FIELDS, Kernel


class KernelElement(NamedTuple):
    """A kernel with what it works on."""

    name: str
    kind: int
    """One of the kinds of `user_stages.py`."""
    kernel: Kernel
    bodies: tuple[int, ...] = ()
    dofs: tuple[int, ...] = ()
    coordinates: tuple[int, ...] = ()
    actuators: tuple[int, ...] = ()
    """Entries of all actuators of the model, those that are disabled included."""
    parameters: slice = slice(0, 0)
    """Its part of the parameters of all elements."""
    readings: slice = slice(0, 0)
    """Its part of the readings of all kernels that are sensors."""
    every: int = 1
    """Steps from one call to the next."""


class UserTables:
    """The arenas of the elements of one world, or of worlds in lanes."""

    def __init__(
        self,
        model: Model,
        kernels: Sequence[KernelElement],
        parameters: Array,
        acting: np.ndarray,
        control_at: int,
        *,
        four: bool,
    ) -> None:
        """`acting` are the actuators with a control in the arena of rows, which begin at `control_at`."""
        sizes, at = model.arenas.sizes, model.arenas.offsets
        nbody = 6 * sizes["nbody"]
        applied = at["q_target"] - at["body_f"]
        assert at["body_f"] + nbody <= at["force"] < at["q_target"], "forces follow each other"
        readings = max((one.readings.stop for one in kernels), default=0)
        self.com_at, base = 2, 2 + 3 * sizes["nbody"]
        acted = base + applied
        self.parameters_at = acted + nbody
        self.readings_at = self.parameters_at + len(parameters)
        self.model = model
        self.m = np.array([at["body_f"], nbody, applied, at["clock"], base, acted], np.int64)
        self.c = np.zeros(1)
        self.d = np.zeros(self.readings_at + readings)
        self.d[self.parameters_at : self.readings_at] = parameters
        self.base, self.acted = self.d[base:acted], self.d[acted : acted + nbody].reshape(-1, 6)
        self.parameters = self.d[self.parameters_at : self.readings_at]
        self.readings = self.d[self.readings_at :]
        self._kernels = list(kernels)
        places = {int(actuator): k for k, actuator in enumerate(acting)}
        self._integers = [self._numbers(one, len(acting), control_at, places) for one in kernels]
        self.args = np.zeros(s.KINDS + 2 * s.KIND_COUNT + s.ENTRY * len(kernels), np.int64)
        self.args[s.FOUR] = four
        self.refresh()

    def _numbers(
        self, one: KernelElement, controls: int, control_at: int, places: dict[int, int]
    ) -> np.ndarray:
        """The integers of a kernel: sizes, places, and the lists of what it works on."""
        sizes, at = self.model.arenas.sizes, self.model.arenas.offsets
        lists = (one.bodies, one.dofs, one.coordinates, tuple(places[k] for k in one.actuators))
        head = [sizes["nq"], sizes["nv"], sizes["nbody"], controls]
        head += [at[name] for name in TREE_FIELDS]
        head += [control_at, self.com_at]
        for first, part in ((self.parameters_at, one.parameters), (self.readings_at, one.readings)):
            head += [first + part.start, part.stop - part.start]
        start = HEADER
        for numbers in lists:
            head += [start, len(numbers)]
            start += len(numbers)
        assert len(head) == HEADER and len(lists) == len(LISTS) - 2
        return np.array([*head, *(k for numbers in lists for k in numbers)], np.int64)

    def refresh(self) -> None:
        """Take over the constants that the model has now."""
        com = self.model.body_com
        self.d[self.com_at : self.com_at + com.size] = com.ravel()

    def arguments(self, scalar: Kind) -> np.ndarray:
        """A copy of `args` with the kernels for a scalar; addresses of trees and rows are still missing."""
        made, at = self.args.copy(), s.KINDS + 2 * s.KIND_COUNT
        for kind in range(s.KIND_COUNT):
            mine = [k for k, one in enumerate(self._kernels) if one.kind == kind]
            made[s.KINDS + 2 * kind : s.KINDS + 2 * kind + 2] = at, len(mine)
            for k in mine:
                one = self._kernels[k]
                made[at : at + s.ENTRY] = (
                    _linked(one.kernel, scalar),
                    address_of(self._integers[k]),
                    one.every,
                )
                at += s.ENTRY
        return made

    def arenas(self, args: np.ndarray) -> tuple[Any, ...]:
        """The set of one world."""
        return self.m, self.c, args, self.d


def _linked(kernel: Kernel, scalar: Kind) -> int:
    """What calls a kernel: its address, or where it is in `LINKED` without the compiler."""
    if not DISABLED:
        return kernel.stage.address(scalar)
    if kernel.stage not in LINKED:
        LINKED.append(kernel.stage)
    return LINKED.index(kernel.stage)


def kind_of(scalar: str) -> Kind:
    """The scalar of lanes by the name that loops over worlds have for it."""
    return SCALARS[scalar][0]
