# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Elements of a user inside of a step: controllers, force elements, stages, observers.

Controllers run at the start of a step and write commands. Force elements run in every evaluation of the
dynamics, four times in a Runge-Kutta step, and add forces that hold for that evaluation. Stages change
accelerations before constraints are solved, or the state after integration. Observers look at the end. Each
is a compiled kernel (`user_kernels.py`), which runs within compiled code, or a function of Python, for which
the step returns. Kernels of a kind come before functions of that kind, each in the order in which they were
added. A function that raises ends the call of `step`: the world is as it was before that step, and the error
reaches the caller.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

import numpy as np
from numpy import copyto

from worldline._src.errors import ArgumentError, CapabilityError, OperationError
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array
from worldline._src.step import user_stages as stages
from worldline._src.step.step_plan import StepPlan
from worldline._src.step.user_tables import KernelElement, UserTables

if TYPE_CHECKING:
    from worldline._src.collision.detector import CollisionDetector
    from worldline._src.step.simulation import Simulation

CONTROLLER, FORCE_ELEMENT, OBSERVER = "controller", "force element", "observer"
ACCELERATION_STAGE, END_STAGE = "stage at accelerations", "stage at the end"
SENSOR = "sensor"
KERNEL_KINDS = {
    CONTROLLER: stages.CONTROLLERS,
    FORCE_ELEMENT: stages.FORCES,
    ACCELERATION_STAGE: stages.ACCELERATIONS,
    END_STAGE: stages.ENDS,
    SENSOR: stages.SENSORS,
}
"""What kernels can be, and the list that each is in."""
_MULTIPLE = 1e-6
"""How far a period may be from a whole number of time steps, in time steps."""
_FRACTIONS = (0.0, 0.5, 0.5, 1.0)
"""Times of the evaluations of a Runge-Kutta step, in time steps."""

Function = Callable[[Any], object]
"""Is called with a `StepContext`; what it returns is dropped."""


class StepArrays:
    """The arrays that functions of users see within a step, of one world or of a batch."""

    __slots__ = ("body_f", "control", "force", "frame", "q", "q_target", "time", "time_step", "v", "v_target")


class StepContext(StepArrays):
    """What a function of a user sees and writes within a step: arrays, without copies.

    The arrays are those of the step itself, so write into them (`context.control[2] = 1.0`) and keep none of
    them after the function returns. Calls on the World are refused while it steps.

    Attributes:
        q: coordinates, (joint_coord_count,). Read only, but for stages at the end.
        v: velocities, (joint_dof_count,). Read only, but for stages at the end.
        a: accelerations, (joint_dof_count,). Read only, but for stages at accelerations.
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

    __slots__ = ("_sim", "a", "body_q", "body_qd")

    def __init__(self, sim: Simulation) -> None:
        self._sim = sim
        self.q, self.v, self.a = read_only_view(sim.q), read_only_view(sim.v), read_only_view(sim.a)
        self.body_q, self.body_qd = read_only_view(sim.body_q), read_only_view(sim.body_qd)
        self.control, self.force, self.body_f = sim.control, sim.force, sim.body_f
        self.q_target, self.v_target = sim.q_target, sim.v_target
        self.time_step = sim.time_step
        self.time, self.frame = sim.time_start() + sim.time, sim.frame

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise OperationError(
            f"a {type(self).__name__} can be neither copied nor pickled: it ends with the call"
        )

    def _let_write(self, kind: str) -> None:
        """Let the arrays be written that functions of a kind may change."""
        if kind == END_STAGE:
            self.q, self.v = self._sim.q, self._sim.v
        elif kind == ACCELERATION_STAGE:
            self.a = self._sim.a

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of step {self.frame} at {self.time:g} s>"


def read_only_view(array: Array) -> Array:
    """A view of an array that cannot be written through."""
    view = array.view()
    view.flags.writeable = False
    return view


class UserElement(NamedTuple):
    """A function with its kind, and the time from one call to the next [s], None for every step."""

    kind: str
    function: Function
    period: float | None


class UserElements:
    """The functions and kernels of one Simulation by name, in the order in which they were added."""

    def __init__(self, parameters: Array | None = None) -> None:
        self._elements: dict[str, UserElement] = {}
        self.kernels: list[KernelElement] = []
        self.parameters = np.zeros(0) if parameters is None else parameters
        """Parameters of all kernels; every call of steps begins with what is in them."""
        self.detector: CollisionDetector | None = None
        """Finds the contacts of steps; None for the native broad and narrow phase."""

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
        return len(self._elements) + len(self.kernels) + (self.detector is not None)

    @property
    def has_functions(self) -> bool:
        """Whether steps return to Python."""
        return bool(self._elements) or self.detector is not None

    def has_kernels(self, kind: str) -> bool:
        return any(one.kind == KERNEL_KINDS[kind] for one in self.kernels)

    def planned(self, plan: StepPlan) -> StepPlan:
        """A plan with the calls of the functions and kernels."""
        adds = bool(self.of_kind(FORCE_ELEMENT)) or self.has_kernels(FORCE_ELEMENT)
        changes = bool(self.of_kind(ACCELERATION_STAGE)) or self.has_kernels(ACCELERATION_STAGE)
        return plan._replace(
            controllers=bool(self.of_kind(CONTROLLER)),
            force_elements=bool(self.of_kind(FORCE_ELEMENT)),
            acceleration_stages=bool(self.of_kind(ACCELERATION_STAGE)),
            end_stages=bool(self.of_kind(END_STAGE)),
            observers=bool(self.of_kind(OBSERVER)),
            controller_kernels=self.has_kernels(CONTROLLER),
            force_kernels=self.has_kernels(FORCE_ELEMENT),
            acceleration_kernels=self.has_kernels(ACCELERATION_STAGE),
            end_kernels=self.has_kernels(END_STAGE),
            counted=any(one.kind != stages.SENSORS for one in self.kernels),
            detector=self.detector is not None,
            user_poses=adds or changes or self.detector is not None,
            wrenches=plan.wrenches or adds,
        )

    def require_family(self, plan: StepPlan, family: str) -> None:
        """Refuse elements that an integration family has no place for, by kind."""
        for kind in (FORCE_ELEMENT, ACCELERATION_STAGE):
            if plan.variational and (self.of_kind(kind) or self.has_kernels(kind)):
                raise CapabilityError(f"integration family '{family}' does not have {kind}s")

    def of_kind(self, kind: str) -> list[UserElement]:
        return [element for element in self._elements.values() if element.kind == kind]


def steps_of_period(period: float | None, time_step: float) -> int:
    """Steps between two calls of a controller; the period must be a whole number of them."""
    if period is None:
        return 1
    whole = isinstance(period, (int, float, np.integer, np.floating)) and not isinstance(period, bool)
    if not whole or not 0.0 < period < 1e300:
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

    def __init__(
        self, sim: Simulation, elements: UserElements, tables: UserTables, args: np.ndarray, evaluations: int
    ) -> None:
        self._sim = sim
        self._tables, self._args = tables, args
        self._context = sim.make_context(sim)
        self._controllers = [
            (element.function, steps_of_period(element.period, sim.time_step))
            for element in elements.of_kind(CONTROLLER)
        ]
        self._forces = [element.function for element in elements.of_kind(FORCE_ELEMENT)]
        self._observers = [element.function for element in elements.of_kind(OBSERVER)]
        self._stages = {kind: self._stage_calls(elements, kind) for kind in (ACCELERATION_STAGE, END_STAGE)}
        self._kernels_control = elements.has_kernels(CONTROLLER)
        self._fractions = _FRACTIONS[:evaluations]
        at = sim.model.arenas.offsets
        assert at["body_f"] < at["force"] < at["q_target"] < at["v_target"] < at["a_target"]
        # the arena has them one after the other, so that one copy does for all
        self._commands = sim.data[at["body_f"] : at["a_target"]]
        self._commands_before = self._commands.copy()
        self._control_before = sim.control.copy()
        shaped = sim.constraints is not None and sim.constraints.collision is not None
        self._detector = None
        if elements.detector and shaped:
            from worldline._src.step.step_detector import StepDetector

            self._detector = StepDetector(sim, elements.detector)
        self.rebind()

    def _stage_calls(self, elements: UserElements, kind: str) -> list[tuple[Function, StepContext]]:
        """Functions that change what others only read, each with a context that lets it."""
        found = elements.of_kind(kind)
        context = self._sim.make_context(self._sim) if found else self._context
        if found:
            context._let_write(kind)
        return [(element.function, context) for element in found]

    def rebind(self) -> None:
        """The arrays of constraints are others now."""
        constraints, control = self._sim.constraints, self._sim.control
        drives = constraints is not None and constraints.drives
        self._column = constraints.column.control if constraints is not None and drives else np.zeros(0)
        """Controls of the actuators that act, as the stages of the last step read them."""
        acting = constraints.actuators if constraints is not None and drives else np.zeros(0, np.int64)
        self._acting = None if len(acting) == len(control) else acting

    def _set_time(self, fraction: float, context: StepContext | None = None) -> None:
        """Time and frame of this call, `fraction` of a time step after the start of the step."""
        context = self._context if context is None else context
        frame, steps = self._sim.clock[:2].tolist()
        start = float(self._tables.d[stages.START])
        context.frame, context.time = int(frame), start + (steps + fraction) * context.time_step

    def call_controllers(self) -> None:
        sim, context = self._sim, self._context
        self._set_time(0.0)
        copyto(self._commands_before, self._commands)
        if self._acting is not None:
            copyto(self._control_before, sim.control)
        if self._kernels_control and self._sim.user is not None:
            self._sim.user.end()
        try:
            for function, every in self._controllers:
                if every == 1 or context.frame % every == 0:
                    function(context)
        except BaseException:
            self._commands[:] = self._commands_before
            sim.control[:] = self._column if self._acting is None else self._control_before
            raise
        copyto(self._column, sim.control if self._acting is None else sim.control[self._acting])

    def call_force_elements(self) -> None:
        # the kernels of this evaluation, which came before, have counted it
        which = int(self._args[stages.EVALUATION]) - 1
        self._set_time(self._fractions[which])
        for function in self._forces:
            function(self._context)

    def call_detector(self) -> None:
        assert self._detector is not None
        self._detector.run()

    def call_acceleration_stages(self) -> None:
        self._call_stages(ACCELERATION_STAGE, float(self._tables.d[stages.FRACTION]))

    def call_end_stages(self) -> None:
        self._call_stages(END_STAGE, 1.0)

    def _call_stages(self, kind: str, fraction: float) -> None:
        for function, context in self._stages[kind]:
            self._set_time(fraction, context)
            function(context)

    def call_observers(self) -> None:
        self._set_time(1.0)
        for function in self._observers:
            function(self._context)
