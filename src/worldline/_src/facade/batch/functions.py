# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Functions of Python that a batch calls within its steps, once for all worlds.

They run between steps of the layout, with arrays that have the world as their first dimension: controllers
and force elements before a step, stages and observers behind it. Evaluations within a step are compiled code
in every layout, so force elements of Runge-Kutta steps, and what changes accelerations, have to be kernels of
the World that the batch is made of.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src import errors
from worldline._src.facade import values
from worldline._src.facade.world_kind import kind_named
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array
from worldline._src.step import user_elements
from worldline._src.step.stepping import MultibodyIntegrationFamily
from worldline._src.step.user_kernels import Kernel

if TYPE_CHECKING:
    from worldline._src.facade.batch.world_batch import WorldBatch

_INPUTS = ("position_targets", "velocity_targets", "joint_forces", "controls", "body_wrenches")
"""Arrays that functions may write before a step."""


class BatchStepContext(user_elements.StepArrays):
    """What a function of a batch sees and writes: arrays of all worlds, without copies.

    Write into the arrays and keep none of them after the function returns.

    Attributes:
        q: coordinates, (worlds, joint_coord_count). Read only, but for stages at the end.
        v: velocities, (worlds, joint_dof_count). Read only, but for stages at the end.
        control: controls of all actuators, (worlds, count); for controllers.
        force: commanded generalized forces [N or N m], (worlds, joint_dof_count).
        q_target, v_target: what drives lead to; for controllers.
        body_f: torque [N m], then force at the centre of mass [N], of bodies, world axes,
            (worlds, body_count, 6); for force elements, which add to it.
        time: of every world [s], (worlds,).
        time_step: [s].
        frame: steps of every world before this one, (worlds,).
    """

    __slots__ = ("_batch", "_poses", "_twists")

    def __init__(self, batch: WorldBatch, kind: str, fraction: float) -> None:
        errors.require_kind(batch, kind_named("WorldBatch"), "batch", "BatchStepContext")
        worlds = batch._worlds
        arrays = worlds.arrays
        self._batch = batch
        self._poses: Array | None = None
        self._twists: Array | None = None
        q, v = arrays["joint_positions"], arrays["joint_velocities"]
        self.q, self.v = (
            (q, v)
            if kind == user_elements.END_STAGE
            else (user_elements.read_only_view(q), user_elements.read_only_view(v))
        )
        self.control, self.force = arrays["controls"], arrays["joint_forces"]
        self.q_target, self.v_target = arrays["position_targets"], arrays["velocity_targets"]
        self.body_f = arrays["body_wrenches"]
        self.time_step = batch.time_step
        self.frame = worlds.frame - round(fraction)
        self.time = worlds.time

    @property
    def body_q(self) -> Array:
        """Position [m] and xyzw of every body of every world, (worlds, body_count, 7). Read only."""
        if self._poses is None:
            self._poses = user_elements.read_only_view(self._batch.articulation_array("body_q"))
        return self._poses

    @property
    def body_qd(self) -> Array:
        """Velocity of the centre of mass, angular velocity of bodies, (worlds, body_count, 6). Read only."""
        if self._twists is None:
            self._twists = user_elements.read_only_view(self._batch.articulation_array("body_qd"))
        return self._twists

    def body_row(self, name: str) -> int:
        """Index of a body in `body_q`, `body_qd` and `body_f`, by its name."""
        names = self._batch.body_names
        if values.key(name, "name of a body") not in names:
            raise errors.NotFoundError(f"no body '{name}'{errors.nearest_name(str(name), names)}")
        return names.index(name)

    def actuator(self, name: str) -> int:
        """Index of an actuator in `control`, by its name."""
        names = self._batch.actuator_names
        if values.key(name, "name of an actuator") not in names:
            raise errors.NotFoundError(f"no actuator '{name}'{errors.nearest_name(str(name), names)}")
        return names.index(name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.time)} worlds>"


BatchFunction = Callable[[BatchStepContext], object]


class BatchStepFunction(NamedTuple):
    """A function that a batch calls within its steps.

    Attributes:
        name: unique among the functions of its batch.
        kind: "controller", "force element", "stage at the end" or "observer".
        function: what is called with a `BatchStepContext`.
        period: time from one call to the next [s]; None for every step.
    """

    name: str
    kind: str
    function: BatchFunction
    period: float | None = None


class BatchFunctions:
    """The functions of one batch, in the order in which they are called."""

    def __init__(self, batch: WorldBatch) -> None:
        self._batch = batch
        self._all: dict[str, BatchStepFunction] = {}
        self.running = False
        """Whether a function is being called."""

    @property
    def all(self) -> tuple[BatchStepFunction, ...]:
        return tuple(self._all.values())

    def add(self, name: str, kind: str, function: BatchFunction, period: float | None = None) -> None:
        self.require_idle(f"adding a {kind}")
        name = values.text(name, f"name of a {kind}")
        if not name:
            raise errors.ArgumentError(f"a {kind} needs a name")
        if name in self._all:
            raise errors.ArgumentError(f"there is a {self._all[name].kind} '{name}' already")
        if isinstance(function, Kernel):
            raise errors.ArgumentError(
                f"{kind} '{name}' is a kernel: add it to the World before the batch is made of it"
            )
        if not callable(function):
            raise errors.ArgumentError(
                f"{kind} '{name}' needs a function of a BatchStepContext, got {function!r}"
            )
        user_elements.steps_of_period(period, self._batch.time_step)
        family = self._batch._template.sim.family
        if kind == user_elements.FORCE_ELEMENT and family not in (
            MultibodyIntegrationFamily.SEMI_IMPLICIT,
            MultibodyIntegrationFamily.IMPLICIT_DAMPING,
            MultibodyIntegrationFamily.IMPLICIT_VELOCITY,
        ):
            raise errors.CapabilityError(
                f"force elements of a batch do not have integration family '{family.value}'; "
                "add a kernel, or the function, to the World that the batch is made of"
            )
        self._all[name] = BatchStepFunction(name, kind, function, period)

    def remove(self, name: str) -> None:
        self.require_idle("removing a function")
        name = values.text(name, "name of a function")
        if name not in self._all:
            hint = errors.nearest_name(str(name), list(self._all))
            raise errors.NotFoundError(f"no function '{name}' in the steps{hint}")
        del self._all[name]

    def require_idle(self, what: str) -> None:
        """Refuse what a function may not do while it is called."""
        if self.running:
            raise errors.BusyError(f"{what} is not possible within a function of this batch")

    def step(self, advance: Callable[[], None]) -> None:
        """One step of all worlds with the functions around it; `advance` makes the step itself.

        When a function raises, every world is as it was before the step, with its commands.
        """
        arrays = self._batch._worlds.arrays
        before = {name: arrays[name].copy() for name in _INPUTS}
        behind = [
            one for one in self._all.values() if one.kind in (user_elements.END_STAGE, user_elements.OBSERVER)
        ]
        worlds: Any = self._batch._worlds.remembered() if behind else None
        try:
            self._call(user_elements.CONTROLLER)
            applied = {name: arrays[name].copy() for name in ("joint_forces", "body_wrenches")}
            self._call(user_elements.FORCE_ELEMENT)
        except BaseException:
            self._put_back(before)
            raise
        try:
            advance()
        finally:
            self._put_back(applied)
        try:
            self._call(user_elements.END_STAGE, 1.0)
            self._call(user_elements.OBSERVER, 1.0)
        except BaseException:
            self._batch._worlds.restore(worlds)
            self._put_back(before)
            raise

    def _put_back(self, kept: dict[str, Array]) -> None:
        for name, numbers in kept.items():
            self._batch._worlds.arrays[name][...] = numbers

    def _call(self, kind: str, fraction: float = 0.0) -> None:
        """Call the functions of a kind in the worlds where they are due: every world counts its own steps."""
        mine = [one for one in self._all.values() if one.kind == kind]
        if not mine:
            return
        context = BatchStepContext(self._batch, kind, fraction)
        due = context.frame
        self.running = True
        try:
            for one in mine:
                every = user_elements.steps_of_period(one.period, self._batch.time_step)
                if every > 1 and (due % every).any():
                    self._call_due(one, context, due % every == 0)
                else:
                    one.function(context)
        finally:
            self.running = False

    def _call_due(self, one: BatchStepFunction, context: BatchStepContext, due: np.ndarray) -> None:
        """Call a controller for the worlds that it is due in: the commands of all others stay."""
        if not due.any():
            return
        arrays = self._batch._worlds.arrays
        before = {name: arrays[name][~due].copy() for name in _INPUTS}
        one.function(context)
        for name, numbers in before.items():
            arrays[name][~due] = numbers
