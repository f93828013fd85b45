# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Functions of a user that a World calls within its steps, by name.

They belong to the World and not to its description: clones have them too, files do not, and a World that has
any is not written to one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from worldline._src.errors import ArgumentError, NotFoundError, OperationError, nearest_name
from worldline._src.facade import values
from worldline._src.facade.copying import find
from worldline._src.facade.joint import Joint
from worldline._src.facade.link import Link
from worldline._src.facade.rigid_body import RigidBody
from worldline._src.spatial.poses import Array, rotation
from worldline._src.step.simulation import Simulation
from worldline._src.step.user_elements import (
    CONTROLLER,
    FORCE_ELEMENT,
    OBSERVER,
    StepContext,
    UserElements,
    steps_of_period,
)

if TYPE_CHECKING:
    from worldline._src.facade.runtime import Runtime
    from worldline._src.facade.sensors import FunctionSensor
    from worldline._src.facade.world import World


class WorldStepContext(StepContext):
    """A `StepContext` that knows the objects of its World."""

    __slots__ = ("_coordinates", "_dofs", "_rows", "_runtime", "_world")

    def __init__(self, sim: Simulation, runtime: Runtime, world: World) -> None:
        super().__init__(sim)
        self._runtime, self._world = runtime, world
        self._rows: dict[RigidBody | Link, int] = {}
        self._dofs: dict[Joint, slice] = {}
        self._coordinates: dict[Joint, slice] = {}

    def body_row(self, body: RigidBody | Link) -> int:
        """Row of a rigid body or link in `body_q`, `body_qd` and `body_f`."""
        row = self._rows.get(body)
        if row is None:
            row = self._rows[body] = self._runtime.body(self._mine(body)._link)
        return row

    def dofs(self, joint: Joint) -> slice:
        """Where the velocities and forces of a joint are in `v`, `force` and `v_target`."""
        found = self._dofs.get(joint)
        if found is None:
            found = self._dofs[joint] = self._slice(joint, self._runtime.model.joint_qd_start)
        return found

    def coordinates(self, joint: Joint) -> slice:
        """Where the coordinates of a joint are in `q` and `q_target`."""
        found = self._coordinates.get(joint)
        if found is None:
            found = self._coordinates[joint] = self._slice(joint, self._runtime.model.joint_q_start)
        return found

    def _slice(self, joint: Joint, starts: Array) -> slice:
        j = self._runtime.joint_index.get(id(self._mine(joint)._joint))
        return slice(0, 0) if j is None else slice(int(starts[j]), int(starts[j + 1]))

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
        row = self.body_row(body)
        self.body_f[row, 3:] += force
        if point is not None:
            arm = point - self.center_of_mass(body)
            self.body_f[row, 0] += arm[1] * force[2] - arm[2] * force[1]
            self.body_f[row, 1] += arm[2] * force[0] - arm[0] * force[2]
            self.body_f[row, 2] += arm[0] * force[1] - arm[1] * force[0]


WorldFunction = Callable[[WorldStepContext], object]


class StepFunction(NamedTuple):
    """A function that a World calls within its steps.

    Attributes:
        name: unique among the functions of its World.
        kind: "controller", "force element" or "observer".
        function: what is called with a `WorldStepContext`.
        period: time from one call to the next [s]; None for every step or evaluation.
    """

    name: str
    kind: str
    function: WorldFunction
    period: float | None = None


class StepFunctions:
    """The functions of one World, in the order in which they are called."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._all: dict[str, StepFunction] = {}
        self.sensors: dict[str, FunctionSensor] = {}
        """Sensors whose readings a function makes, by name."""

    def add(self, name: str, kind: str, function: WorldFunction, period: float | None = None) -> None:
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
        self._all[name] = StepFunction(name, kind, function, period)
        self._changed()

    def remove(self, name: str) -> None:
        self._world._require_idle()
        if name not in self._all:
            raise NotFoundError(
                f"no function '{name}' in the steps{nearest_name(str(name), list(self._all))}"
            )
        del self._all[name]
        self._changed()

    def names(self, kind: str) -> tuple[str, ...]:
        return tuple(each.name for each in self._all.values() if each.kind == kind)

    @property
    def all(self) -> tuple[StepFunction, ...]:
        return tuple(self._all.values())

    def take_over(self, other: StepFunctions) -> None:
        """Have the functions of another World."""
        self._all = dict(other._all)
        self.sensors = {name: sensor.copy_to(self._world) for name, sensor in other.sensors.items()}
        self._changed()

    def require_none(self, what: str) -> None:
        """Refuse what would lose the functions."""
        found = [f"{each.kind} '{each.name}'" for each in self._all.values()]
        found += [f"sensor '{name}'" for name in self.sensors]
        if found:
            names = ", ".join(found)
            raise OperationError(f"{what} cannot hold functions of Python: remove {names} first")

    def attach(self, runtime: Runtime) -> None:
        """Let the steps of a compiled world call the functions."""
        sim, elements = runtime.sim, UserElements()
        for each in self._all.values():
            elements.add(each.name, each.kind, each.function, each.period)
        sim.elements, sim.make_context = elements, lambda made: WorldStepContext(made, runtime, self._world)
        sim.reconfigure()

    def _changed(self) -> None:
        if self._world._runtime is not None:
            self.attach(self._world._runtime)


__all__ = ["CONTROLLER", "FORCE_ELEMENT", "OBSERVER", "StepFunction", "StepFunctions", "WorldStepContext"]
