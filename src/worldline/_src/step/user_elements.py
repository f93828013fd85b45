# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Functions of a user inside of a step: controllers, force elements, observers.

Controllers run at the start of a step and write commands. Force elements run in every evaluation of the
dynamics, four times in a Runge-Kutta step, and add forces that hold for that evaluation. Observers run after
integration. A function that raises ends the call of `step`: the world is as it was before that step, and the
error reaches the caller.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy import copyto

from worldline._src.errors import ArgumentError
from worldline._src.spatial.poses import Array
from worldline._src.step.step_table import StepPlan

if TYPE_CHECKING:
    from worldline._src.step.simulation import Simulation

CONTROLLER, FORCE_ELEMENT, OBSERVER = "controller", "force element", "observer"
_MULTIPLE = 1e-6
"""How far a period may be from a whole number of time steps, in time steps."""
_FRACTIONS = (0.0, 0.5, 0.5, 1.0)
"""Times of the evaluations of a Runge-Kutta step, in time steps."""

Function = Callable[[Any], object]
"""Is called with a `StepContext`; what it returns is dropped."""


class StepContext:
    """What a function of a user sees and writes within a step: arrays, without copies.

    The arrays are those of the step itself, so write into them (`context.control[2] = 1.0`) and keep none of
    them after the function returns. Calls on the World are refused while it steps.

    Attributes:
        q: coordinates, (joint_coord_count,). Read only.
        v: velocities, (joint_dof_count,). Read only.
        control: controls of all actuators, (count,); for controllers.
        force: commanded generalized forces [N or N m], (joint_dof_count,).
        q_target, v_target: what drives lead to; for controllers.
        body_q: position [m] and xyzw of every body, world, (body_count, 7). Read only; for force elements.
        body_qd: velocity of the centre of mass [m/s] and angular velocity [rad/s] of every body, world axes,
            (body_count, 6). Read only; for force elements.
        body_f: torque [N m], then force at the centre of mass [N], of bodies, world axes, (body_count, 6);
            for force elements, which add to it.
        time: of this evaluation [s].
        time_step: [s].
        frame: steps made before this one.
    """

    __slots__ = (
        "_sim",
        "body_f",
        "body_q",
        "body_qd",
        "control",
        "force",
        "frame",
        "q",
        "q_target",
        "time",
        "time_step",
        "v",
        "v_target",
    )

    def __init__(self, sim: Simulation) -> None:
        self._sim = sim
        self.q, self.v = _read_only(sim.q), _read_only(sim.v)
        self.body_q, self.body_qd = _read_only(sim.body_q), _read_only(sim.body_qd)
        self.control, self.force, self.body_f = sim.control, sim.force, sim.body_f
        self.q_target, self.v_target = sim.q_target, sim.v_target
        self.time_step = sim.time_step
        self.time, self.frame = sim.time, sim.frame

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of step {self.frame} at {self.time:g} s>"


def _read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view


class UserElement(NamedTuple):
    """A function with its kind, and the time from one call to the next [s], None for every step."""

    kind: str
    function: Function
    period: float | None


class UserElements:
    """The functions of one Simulation by name, in the order in which they were added."""

    def __init__(self) -> None:
        self._elements: dict[str, UserElement] = {}

    def add(self, name: str, kind: str, function: Function, period: float | None = None) -> None:
        """Refuses names that are taken and what cannot be called."""
        if name in self._elements:
            raise ArgumentError(f"there is a {self._elements[name].kind} '{name}' already")
        if not callable(function):
            raise ArgumentError(f"{kind} '{name}' needs a function of a StepContext, got {function!r}")
        self._elements[name] = UserElement(kind, function, period)

    def remove(self, name: str) -> None:
        del self._elements[name]

    def __len__(self) -> int:
        return len(self._elements)

    def planned(self, plan: StepPlan) -> StepPlan:
        """A plan with the calls of the functions."""
        return plan._replace(
            controllers=bool(self.of_kind(CONTROLLER)),
            force_elements=bool(self.of_kind(FORCE_ELEMENT)),
            observers=bool(self.of_kind(OBSERVER)),
            wrenches=plan.wrenches or bool(self.of_kind(FORCE_ELEMENT)),
        )

    def of_kind(self, kind: str) -> list[UserElement]:
        return [element for element in self._elements.values() if element.kind == kind]


def steps_of_period(period: float | None, time_step: float) -> int:
    """Steps between two calls of a controller; the period must be a whole number of them."""
    if period is None:
        return 1
    if not (np.isfinite(period) and period > 0.0):
        raise ArgumentError(f"the period of a controller must be positive and finite, got {period!r}")
    steps = period / time_step
    if round(steps) < 1 or abs(steps - round(steps)) > _MULTIPLE * steps:
        raise ArgumentError(
            f"the period of a controller must be a whole number of time steps of {time_step:g} s, "
            f"got {period!r} s"
        )
    return round(steps)


class UserCalls:
    """Calls the functions of a Simulation when its loop returns for them."""

    def __init__(self, sim: Simulation, elements: UserElements, evaluations: int) -> None:
        self._sim = sim
        self._context = sim.make_context(sim)
        self._controllers = [
            (element.function, steps_of_period(element.period, sim.time_step))
            for element in elements.of_kind(CONTROLLER)
        ]
        self._forces = [element.function for element in elements.of_kind(FORCE_ELEMENT)]
        self._observers = [element.function for element in elements.of_kind(OBSERVER)]
        self._fractions = _FRACTIONS[:evaluations]
        self._evaluation = 0
        at = sim.model.arenas.offsets
        assert at["body_f"] < at["force"] < at["q_target"] < at["v_target"] < at["a_target"]
        # the arena has them one after the other, so that one copy does for all
        self._commands = sim.data[at["body_f"] : at["a_target"]]
        self._commands_before = self._commands.copy()
        self._control_before = sim.control.copy()
        self._applied = sim.data[at["body_f"] : at["q_target"]]
        """Forces on bodies and commanded forces, and a copy without those of force elements."""
        self._base = self._applied.copy()
        self.rebind()
        self.acted = sim.body_f.copy() if self._forces else None
        """Forces on bodies in the last evaluation, with those of force elements; None without any."""

    def rebind(self) -> None:
        """The arrays of constraints are others now."""
        constraints, control = self._sim.constraints, self._sim.control
        drives = constraints is not None and constraints.drives
        self._column = constraints.column["control"] if constraints is not None and drives else np.zeros(0)
        """Controls of the actuators that act, as the stages of the last step read them."""
        acting = constraints.actuators if constraints is not None and drives else np.zeros(0, np.int64)
        self._acting = None if len(acting) == len(control) else acting

    def begin(self) -> None:
        """Take the forces that are applied and commanded now as those that force elements add to."""
        self._evaluation = 0
        if self._forces:
            copyto(self._base, self._applied)

    def end(self) -> None:
        """Put those forces back, at the end of a call of steps or when it is broken off."""
        if self.acted is not None:
            copyto(self.acted, self._sim.body_f)
            copyto(self._applied, self._base)

    def _set_time(self, fraction: float) -> None:
        """Time and frame of this call, `fraction` of a time step after the start of the step."""
        context = self._context
        frame, steps = self._sim.clock[:2].tolist()
        context.frame, context.time = int(frame), (steps + fraction) * context.time_step

    def call_controllers(self) -> None:
        sim, context = self._sim, self._context
        if self._forces:
            copyto(self._applied, self._base)
        self._set_time(0.0)
        copyto(self._commands_before, self._commands)
        if self._acting is not None:
            copyto(self._control_before, sim.control)
        try:
            for function, every in self._controllers:
                if every == 1 or context.frame % every == 0:
                    function(context)
        except BaseException:
            self._commands[:] = self._commands_before
            sim.control[:] = self._column if self._acting is None else self._control_before
            raise
        if self._forces:
            self.begin()
        copyto(self._column, sim.control if self._acting is None else sim.control[self._acting])

    def call_force_elements(self) -> None:
        context, which = self._context, self._evaluation
        copyto(self._applied, self._base)
        self._set_time(self._fractions[which])
        self._evaluation = (which + 1) % len(self._fractions)
        for function in self._forces:
            function(context)

    def call_observers(self) -> None:
        context = self._context
        self._set_time(1.0)
        for function in self._observers:
            function(context)
