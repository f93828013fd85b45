# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Functions of a user that a World calls within its steps, by name.

They belong to the World and not to its description: clones have them too, files do not, and a World that has
any is not written to one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from worldline._src.errors import (
    ArgumentError,
    CapabilityError,
    FixedAttributes,
    NotFoundError,
    OperationError,
    ShapeError,
    nearest_name,
    require_kind,
)
from worldline._src.facade import values
from worldline._src.facade.copying import find
from worldline._src.facade.joint import Joint
from worldline._src.facade.link import Link
from worldline._src.facade.rigid_body import RigidBody
from worldline._src.keywords import shared_keywords
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array, float_array, numbers, rotation
from worldline._src.step.simulation import Simulation
from worldline._src.step.user_elements import (
    ACCELERATION_STAGE,
    CONTROLLER,
    END_STAGE,
    FORCE_ELEMENT,
    KERNEL_KINDS,
    OBSERVER,
    SENSOR,
    StepContext,
    UserElements,
    steps_of_period,
)
from worldline._src.step.user_kernels import Kernel
from worldline._src.step.user_tables import KernelElement


class WorksOn(TypedDict, total=False):
    """Keywords of everything that takes a kernel: what the kernel works on; see `World.add_controller`."""

    bodies: Iterable[RigidBody | Link]
    joints: Iterable[Joint]
    actuators: Iterable[str]
    parameters: ArrayLike


works_on_keywords = shared_keywords(WorksOn, bodies=(), joints=(), actuators=(), parameters=())

NATIVE = "native"
PLACES = {"accelerations": ACCELERATION_STAGE, "end": END_STAGE}
"""Where a stage of the user can be, and what it is then."""

if TYPE_CHECKING:
    from worldline._src.collision.detector import CollisionDetector
    from worldline._src.facade.runtime import Runtime
    from worldline._src.facade.world_runtime import WorldRuntime


class WorldStepContext(StepContext):
    """A `StepContext` that knows the objects of its World."""

    __slots__ = ("_coordinates", "_dofs", "_rows", "_runtime", "_world")

    def __init__(self, sim: Simulation, runtime: Runtime, world: WorldRuntime) -> None:
        super().__init__(sim)
        self._runtime, self._world = runtime, world
        self._rows: dict[RigidBody | Link, int] = {}
        self._dofs: dict[Joint, slice] = {}
        self._coordinates: dict[Joint, slice] = {}

    def body_row(self, body: RigidBody | Link) -> int:
        """Row of a rigid body or link in `body_q`, `body_qd` and `body_f`."""
        if not isinstance(body, (RigidBody, Link)):
            raise ShapeError(f"body must be a rigid body or a link, got {body!r}")
        row = self._rows.get(body)
        if row is None:
            row = self._rows[body] = self._runtime.body(self._mine(body)._link)
        return row

    def dofs(self, joint: Joint) -> slice:
        """Where the velocities and forces of a joint are in `v`, `force` and `v_target`."""
        return self._slice("dofs", joint, self._dofs, self._runtime.model.joint_qd_start)

    def coordinates(self, joint: Joint) -> slice:
        """Where the coordinates of a joint are in `q` and `q_target`."""
        return self._slice("coordinates", joint, self._coordinates, self._runtime.model.joint_q_start)

    def _slice(self, caller: str, joint: Joint, known: dict[Joint, slice], starts: Array) -> slice:
        require_kind(joint, Joint, "joint", caller)
        found = known.get(joint)
        if found is None:
            j = self._runtime.joint_index.get(id(self._mine(joint)._joint))
            found = slice(0, 0) if j is None else slice(int(starts[j]), int(starts[j + 1]))
            known[joint] = found
        return found

    def _mine(self, handle: Any) -> Any:
        """The object of this World with the same names: a clone runs the functions of the World it is of."""
        return handle if handle._world is self._world else find(self._world, handle._path())

    def center_of_mass(self, body: RigidBody | Link) -> Array:
        """Centre of mass of a body in the world [m], (3,); for force elements."""
        row = self.body_row(body)
        pose = self.body_q[row]
        return pose[:3] + rotation(pose) @ self._runtime.model.body_com[row]

    def add_force(self, body: RigidBody | Link, force: Array, point: Array | None = None) -> None:
        """Add a force [N], (3,), at a point of the world [m], (3,), or at the centre of mass; world axes."""
        row, force = self.body_row(body), numbers(force, (3,), "force")
        if point is not None:
            point = numbers(point, (3,), "point")
        self.body_f[row, 3:] += force
        if point is not None:
            arm = point - self.center_of_mass(body)
            self.body_f[row, 0] += arm[1] * force[2] - arm[2] * force[1]
            self.body_f[row, 1] += arm[2] * force[0] - arm[0] * force[2]
            self.body_f[row, 2] += arm[0] * force[1] - arm[1] * force[0]


WorldFunction = Callable[[WorldStepContext], object]


class Workpieces(NamedTuple):
    """What a kernel works on."""

    bodies: tuple[RigidBody | Link, ...] = ()
    joints: tuple[Joint, ...] = ()
    actuators: tuple[str, ...] = ()

    @classmethod
    def of(cls, world: WorldRuntime, what: str, bodies: Any, joints: Any, actuators: Any) -> Workpieces:
        """Checked: bodies and joints of this World, actuators of its scene."""
        given = {"bodies": bodies, "joints": joints, "actuators": actuators}
        made = cls(*(tuple(values.several(x, f"{name} of {what}")) for name, x in given.items()))
        for handle in made.bodies:
            if not isinstance(handle, (RigidBody, Link)):
                raise ShapeError(f"bodies of {what} must be rigid bodies and links, got {handle!r}")
        for handle in made.joints:
            require_kind(handle, Joint, "joints", what)
        for handle in (*made.bodies, *made.joints):
            handle._require_alive()
            if handle._world is not world:
                raise ArgumentError(f"'{handle.name}' of {what} belongs to another World")
        known = [actuator.name or "" for actuator in world._scene.actuators]
        for name in made.actuators:
            if name not in known:
                raise NotFoundError(f"no actuator '{name}' for {what}{nearest_name(str(name), known)}")
        return made


class StepFunction(FixedAttributes):
    """A function or kernel that a World runs within its steps.

    Attributes:
        name: unique among the functions of its World.
        kind: "controller", "force element", "stage at accelerations", "stage at the end" or "observer".
        function: what is called with a `WorldStepContext`, or the kernel.
        period: time from one call to the next [s]; None for every step or evaluation.
    """

    def __init__(
        self,
        name: str,
        kind: str,
        function: Any,
        period: float | None,
        works_on: Workpieces,
        parameters: Array,
    ) -> None:
        self.name, self.kind, self.function, self.period = name, kind, function, period
        self._works_on, self._parameters = works_on, parameters

    @property
    def is_compiled(self) -> bool:
        """Whether it runs as compiled code."""
        return isinstance(self.function, Kernel)

    @property
    def parameters(self) -> Array:
        """Parameters of a kernel, a copy; assign them to have the next step use others."""
        return self._parameters.copy()

    @parameters.setter
    def parameters(self, value: Any) -> None:
        self._parameters[:] = numbers(
            value, self._parameters.shape, f"parameters of {self.kind} '{self.name}'"
        )

    def __repr__(self) -> str:
        return f"<{self.kind} '{self.name}': {self.function!r}>"

    def copy_to(self, world: WorldRuntime) -> StepFunction:
        """The same for a clone of the World: handles stand for the objects of the same names."""
        works_on = Workpieces(
            tuple(find(world, handle._path()) for handle in self._works_on.bodies),
            tuple(find(world, handle._path()) for handle in self._works_on.joints),
            self._works_on.actuators,
        )
        return StepFunction(
            self.name, self.kind, self.function, self.period, works_on, self._parameters.copy()
        )


class UserSensor(Protocol):
    """A sensor whose readings a function or kernel makes; see `sensors.FunctionSensor`."""

    _kernel: StepFunction | None

    @property
    def dim(self) -> int: ...
    def copy_to(self, world: WorldRuntime) -> Any: ...


class StepFunctions:
    """The functions of one World, in the order in which they are called."""

    def __init__(self, world: WorldRuntime) -> None:
        self._world = world
        self._all: dict[str, StepFunction] = {}
        self.detector: CollisionDetector | None = None
        """Finds the contacts of steps; None for the native one."""
        self.sensors: dict[str, UserSensor] = {}
        """Sensors whose readings a function makes, by name."""

    def add(
        self,
        name: str,
        kind: str,
        function: WorldFunction | Kernel,
        period: float | None = None,
        **works_on: Unpack[WorksOn],
    ) -> None:
        world = self._world
        world._require_idle()
        name = values.text(name, f"name of a {kind}")
        if not name:
            raise ArgumentError(f"a {kind} needs a name")
        if name in self._all:
            raise ArgumentError(f"there is a {self._all[name].kind} '{name}' already")
        if not callable(function):
            raise ArgumentError(f"{kind} '{name}' needs a function of a StepContext, got {function!r}")
        steps_of_period(period, world.time_step)
        made = self.made(name, kind, function, period, **works_on)
        self._all[name] = made
        self._changed()

    def add_stage(
        self, name: str, function: WorldFunction | Kernel, place: str, **works_on: Unpack[WorksOn]
    ) -> None:
        """A stage of the user, `add` says with what; see `World.add_stage`."""
        if not isinstance(place, str) or place not in PLACES:
            hint = nearest_name(str(place), list(PLACES))
            raise ArgumentError(
                f"place of stage {name!r} must be one of {', '.join(PLACES)}, got {place!r}{hint}"
            )
        self.add(name, PLACES[place], function, **works_on)

    def made(
        self,
        name: str,
        kind: str,
        function: Any,
        period: float | None,
        bodies: Iterable[RigidBody | Link] = (),
        joints: Iterable[Joint] = (),
        actuators: Iterable[str] = (),
        parameters: ArrayLike = (),
    ) -> StepFunction:
        """A function or kernel with what it works on, checked; kernels are compiled."""
        works_on = Workpieces.of(self._world, f"{kind} '{name}'", bodies, joints, actuators)
        given = np.atleast_1d(float_array(parameters, f"parameters of {kind} '{name}'"))
        own = numbers(given, (given.size,), f"parameters of {kind} '{name}'").copy()
        if isinstance(function, Kernel):
            if kind not in KERNEL_KINDS:
                raise CapabilityError(f"{kind} '{name}' is a Python function; a kernel cannot observe steps")
            function.require_compiled()
        elif own.size or any(works_on):
            raise ArgumentError(
                f"{kind} '{name}': bodies, joints, actuators and parameters are for kernels, and "
                "a function of Python finds its own"
            )
        return StepFunction(name, kind, function, period, works_on, own)

    def remove(self, name: str) -> None:
        self._world._require_idle()
        name = values.key(name, "name of a function")
        if name not in self._all:
            raise NotFoundError(
                f"no function '{name}' in the steps{nearest_name(str(name), list(self._all))}"
            )
        del self._all[name]
        self._changed()

    def add_sensor(self, name: str, sensor: UserSensor) -> None:
        self.sensors[name] = sensor
        if sensor._kernel is not None:
            self._changed()

    def remove_sensor(self, name: str) -> None:
        if self.sensors.pop(name)._kernel is not None:
            self._changed()

    def reading(self, name: str) -> Array:
        """What the kernel of a sensor makes of the present state."""
        sim = self._world._ready().sim
        if not sim.stages or sim.user is None:
            raise OperationError(f"sensor '{name}' cannot be read: its World has nothing that steps")
        start = 0
        for other, sensor in self.sensors.items():
            if other == name:
                return sim.user.readings()[start : start + sensor.dim]
            start += sensor.dim if sensor._kernel is not None else 0
        raise NotFoundError(f"no sensor '{name}' of a kernel")

    def names(self, kind: str) -> tuple[str, ...]:
        return tuple(each.name for each in self._all.values() if each.kind == kind)

    @property
    def all(self) -> tuple[StepFunction, ...]:
        return tuple(self._all.values())

    @property
    def kernels(self) -> tuple[StepFunction, ...]:
        """All that is compiled, sensors last, in the order of their parameters."""
        found = [each for each in self._all.values() if each.is_compiled]
        return (*found, *(sensor._kernel for sensor in self.sensors.values() if sensor._kernel is not None))

    def take_over(self, other: StepFunctions) -> None:
        """Have the functions of another World."""
        self.detector = other.detector
        self._all = {name: each.copy_to(self._world) for name, each in other._all.items()}
        self.sensors = {name: sensor.copy_to(self._world) for name, sensor in other.sensors.items()}
        self._changed()

    def require_none(self, what: str) -> None:
        """Refuse what would lose the functions."""
        found = [f"{each.kind} '{each.name}'" for each in self._all.values()]
        found += [f"sensor '{name}'" for name in self.sensors]
        found += [] if self.detector is None else [f"collision detector '{self.detector.name}'"]
        if found:
            names = ", ".join(found)
            raise OperationError(f"{what} cannot hold functions of Python: remove {names} first")

    def attach(self, runtime: Runtime) -> None:
        """Let the steps of a compiled world call the functions."""
        sim, elements = runtime.sim, UserElements(self._share_parameters())
        elements.detector = self.detector
        context = WorldStepContext(sim, runtime, self._world)
        start = read = 0
        for each in self._all.values():
            if not each.is_compiled:
                elements.add(each.name, each.kind, each.function, each.period)
        for each in self.kernels:
            dim = self.sensors[each.name].dim if each.kind == SENSOR else 0
            end = start + each._parameters.size
            place = slice(start, end), slice(read, read + dim)
            elements.kernels.append(_resolved(each, context, runtime, *place))
            start, read = end, read + dim
        sim.elements = elements
        sim.make_context = lambda made: WorldStepContext(made, runtime, self._world)
        sim.time_start = lambda: self._world._time_start
        sim.reconfigure()

    def _share_parameters(self) -> Array:
        """One array with the parameters of all kernels, of which each has a part."""
        kernels = self.kernels
        made = np.concatenate([np.zeros(0), *(each._parameters for each in kernels)])
        parts = np.split(made, np.cumsum([each._parameters.size for each in kernels])[:-1]) if kernels else []
        for each, part in zip(kernels, parts, strict=True):
            each._parameters = part
        return made

    def parameter_slices(self) -> dict[str, slice]:
        """Where the parameters of every kernel are in those of all, by name."""
        made: dict[str, slice] = {}
        start = 0
        for each in self.kernels:
            made[each.name] = slice(start, start + each._parameters.size)
            start += each._parameters.size
        return made

    @property
    def any(self) -> bool:
        """Whether steps of the World have anything of its user."""
        return bool(self._all or self.kernels) or self.detector is not None

    def set_detector(self, given: CollisionDetector | str) -> None:
        """Let a registered detector, by its name or itself, find contacts from the next step on."""
        from worldline._src.collision import coal as _  # noqa: F401 - registers itself
        from worldline._src.collision.detector import CollisionDetector

        self._world._require_idle()
        if not isinstance(given, (str, CollisionDetector)):
            raise ShapeError(f"collision_detector must be a name or a CollisionDetector, got {given!r}")
        if isinstance(given, str) and given != NATIVE:
            given = CollisionDetector.create(given)
        self.detector = given if isinstance(given, CollisionDetector) and given.name != NATIVE else None
        self._changed()

    def _changed(self) -> None:
        if self._world._runtime is not None:
            self.attach(self._world._runtime)


def _resolved(
    each: StepFunction, context: WorldStepContext, runtime: Runtime, parameters: slice, readings: slice
) -> KernelElement:
    """A kernel with the indices of what it works on in a compiled world."""
    model, works_on = runtime.model, each._works_on
    for handle in (*works_on.bodies, *works_on.joints):
        if not handle._alive:
            raise OperationError(
                f"{each.kind} '{each.name}' works on '{handle.name}', which is gone; remove it"
            )
    labels = [] if model.actuators is None else list(model.actuators.label)
    actuators = tuple(labels.index(name) for name in works_on.actuators)
    constraints = runtime.sim.constraints
    acting = [] if constraints is None else constraints.actuators.tolist()
    for k in actuators:
        if k not in acting:
            raise OperationError(
                f"{each.kind} '{each.name}' works on actuator '{labels[k]}', which is disabled"
            )
    return KernelElement(
        each.name,
        KERNEL_KINDS[each.kind],
        each.function,
        tuple(context.body_row(body) for body in works_on.bodies),
        tuple(k for joint in works_on.joints for k in _all_of(context.dofs(joint))),
        tuple(k for joint in works_on.joints for k in _all_of(context.coordinates(joint))),
        actuators,
        parameters,
        readings,
        steps_of_period(each.period, runtime.sim.time_step),
    )


def _all_of(part: slice) -> range:
    return range(part.start, part.stop)


__all__ = ["CONTROLLER", "FORCE_ELEMENT", "OBSERVER", "StepFunction", "StepFunctions", "WorldStepContext"]
