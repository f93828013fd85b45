# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of every world as named arrays: masses, sizes, friction, damping, gains, limits, noise, gravity.

Names are the way from a World to the property, such as `multibodies.arm.links.hand.mass`. Writing goes
through the property of each World, with its checks; when one world refuses, those written before get their
old values back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.errors import ArgumentError, CapabilityError, FixedAttributes, NotFoundError, nearest_name
from worldline._src.facade import joint_parameters, values
from worldline._src.facade.copying import VIEW_OF_A_BATCH, Address, NotCopied, find
from worldline._src.facade.shapes import checked_restitution
from worldline._src.facade.world import World
from worldline._src.model.force_tables import ForceKind
from worldline._src.model.scene_index import labels
from worldline._src.scene.actuators import ActuatorType
from worldline._src.scene.geometry import SHAPES, Geometry
from worldline._src.spatial.poses import Array

if TYPE_CHECKING:
    from worldline._src.facade.batch.selection import BatchPart

_BODY = ("mass", "center_of_mass", "inertia", "gravity_compensation")
_MATERIAL = ("friction", "restitution")
_JOINT = (
    *("target_stiffness", "target_damping", "spring_stiffness", "rest_position", "damping_coefficient"),
    *("coulomb_friction", "armature", "velocity_limits", "effort_limits"),
)
_LIMITS = ("position_lower_limits", "position_upper_limits")
_GAINS = {"position": ("kp", "damping_value"), "general": ("gainprm", "biasprm")}
"""Gains by the form of an actuator's law: of servos of position, and the parameters of affine laws."""
_SIZED = {shape: facts.lengths for shape, facts in SHAPES.items() if facts.sizes}
"""Shapes that sizes make, and how many they have."""
SENSORS = "sensors."
"""What the names of parameters of sensors begin with."""
REFUSED = {
    "size": "planes, meshes, height fields and shapes fitted to meshes have the size of the description",
    "restitution": "only hard contacts bounce, those of the shape are soft",
}
"""Names that end a parameter which no World changes, and why."""


class Parameter:
    """A number or an array of one World."""

    def __init__(self, read: Callable[[World], Any], write: Callable[[World, Any], None]) -> None:
        self.read, self.write = read, write


def _property(address: Address, name: str) -> Parameter:
    return Parameter(
        lambda world: getattr(find(world, address), name),
        lambda world, value: setattr(find(world, address), name, value),
    )


def _limit(address: Address, name: str) -> Parameter:
    """One of the two position limits; the other stays."""

    def write(world: World, value: Any) -> None:
        joint = find(world, address)
        joint.set_position_limits(*(value if end == name else getattr(joint, end) for end in _LIMITS))

    return Parameter(lambda world: getattr(find(world, address), name), write)


def _geoms(world: World) -> dict[str, Geometry]:
    """Shapes by the names that a Model has for them, made-up ones where the description has none."""
    runtime = world._live()
    if runtime.geoms is None:
        hierarchy = world._scene.hierarchy
        found = [*hierarchy.geoms, *(geom for link in hierarchy.links() for geom in link.geoms)]
        runtime.geoms = dict(zip(labels([geom.name for geom in found], "shape"), found, strict=True))
    return runtime.geoms


def _friction(name: str) -> Parameter:
    """The sliding friction of a shape."""

    def write(world: World, value: Any) -> None:
        material = _geoms(world)[name].physics_material
        mu = values.non_negative(value, f"friction of shape '{name}'")
        material.friction = [mu, *material.friction[1:]]
        runtime = world._live()
        assert runtime.model.shapes is not None
        runtime.set_friction(np.array([runtime.model.shapes.label.index(name)]), mu)
        world._configuration_changed()

    return Parameter(lambda world: _geoms(world)[name].physics_material.friction[0], write)


def _restitution(name: str) -> Parameter:
    """The restitution of a shape with hard contacts, which alone have one."""

    def write(world: World, value: Any) -> None:
        geom = _geoms(world)[name]
        geom.physics_material.restitution = checked_restitution(value, f"restitution of shape '{name}'")
        world._topology_changed()

    def read(world: World) -> float:
        shapes = world._live().model.shapes
        assert shapes is not None
        k = shapes.label.index(name)
        own = float(shapes.restitution[k])
        return float(shapes.force.bounciness[k]) if np.isnan(own) else own

    return Parameter(read, write)


def _hard_shapes(world: World) -> set[str]:
    """Names of shapes with hard contacts."""
    shapes = world._live().model.shapes
    hard = [] if shapes is None else np.flatnonzero(np.asarray(shapes.force.kind) == ForceKind.HARD).tolist()
    return set() if shapes is None else {shapes.label[k] for k in hard}


def _size(name: str, count: int) -> Parameter:
    """Half sizes of a shape; masses that come from its density follow."""

    def write(world: World, value: Any) -> None:
        geom = _geoms(world)[name]
        given = values.dof_vector(value, count, f"size of shape '{name}'")
        if (given <= 0.0).any():
            raise ArgumentError(f"size of shape '{name}' must be positive, got {given.tolist()}")
        geom.size = [*given, *geom.size[count:]]
        world._topology_changed()

    return Parameter(lambda world: np.array(_geoms(world)[name].size[:count]), write)


def _gear(index: int, name: str) -> Parameter:
    """The gear of an actuator."""

    def write(world: World, value: Any) -> None:
        world._scene.actuators[index].gear = values.dof_vector(value, 6, f"gear of actuator '{name}'")
        world._topology_changed()

    return Parameter(lambda world: np.array(world._scene.actuators[index].gear), write)


def _gain(index: int, name: str, field: str) -> Parameter:
    """A gain in the law of an actuator."""

    def write(world: World, value: Any) -> None:
        law, what = world._scene.actuators[index].actuator_type.value, f"{field} of actuator '{name}'"
        if field in ("gainprm", "biasprm"):
            setattr(law, field, values.dof_vector(value, len(getattr(law, field)), what))
        else:
            check = values.non_negative if field == "damping_value" else values.real
            setattr(law, field, check(value, what))
        world._topology_changed()

    return Parameter(lambda world: getattr(world._scene.actuators[index].actuator_type.value, field), write)


def _speed_gain(index: int, name: str) -> Parameter:
    """The gain of a servo of speed, which is all that its law has."""

    def write(world: World, value: Any) -> None:
        gain = values.real(value, f"kv of actuator '{name}'")
        world._scene.actuators[index].actuator_type = ActuatorType.velocity(gain)
        world._topology_changed()

    return Parameter(lambda world: world._scene.actuators[index].actuator_type.value, write)


def parameters_of(world: World) -> dict[str, Parameter]:
    """Every parameter of a World by name."""
    made = {"gravity": Parameter(lambda w: w.gravity, lambda w, value: setattr(w, "gravity", value))}
    for body in world.rigid_bodies:
        for name in _BODY + _MATERIAL:
            made[f"rigid_bodies.{body.name}.{name}"] = _property(body._path(), name)
    for robot in world.multibodies:
        for link in robot.links:
            for name in _BODY:
                made[f"multibodies.{robot.name}.links.{link.name}.{name}"] = _property(link._path(), name)
        for joint in robot.joints:
            if not joint.num_dofs:
                continue
            there = [name for name in (*_JOINT, *_LIMITS) if joint_parameters.is_settable(joint, name)]
            for name in there:
                of = _limit(joint._path(), name) if name in _LIMITS else _property(joint._path(), name)
                made[f"multibodies.{robot.name}.joints.{joint.name}.{name}"] = of
    hard = _hard_shapes(world)
    for name, geom in _geoms(world).items():
        made[f"shapes.{name}.friction"] = _friction(name)
        if name in hard:
            made[f"shapes.{name}.restitution"] = _restitution(name)
        if geom.shape in _SIZED and geom.mesh is None:
            made[f"shapes.{name}.size"] = _size(name, _SIZED[geom.shape])
    for index, name in enumerate(labels([actuator.name for actuator in world._scene.actuators], "actuator")):
        made[f"actuators.{name}.gear"] = _gear(index, name)
        law = world._scene.actuators[index].actuator_type.variant
        if law == "velocity":
            made[f"actuators.{name}.kv"] = _speed_gain(index, name)
        for field in _GAINS.get(law, ()):
            made[f"actuators.{name}.{field}"] = _gain(index, name, field)
    for sensor in world.sensors:
        if sensor.name not in world._functions.sensors:
            for name in ("noise", "gyro_noise") if sensor.kind == "imu" else ("noise",):
                made[f"{SENSORS}{sensor.name}.{name}"] = _property(sensor._path(), name)
    return made


def number_or_row(row: Array) -> Any:
    """What a property takes: a number, or an array."""
    return row if row.ndim else float(row)


class BatchParameters(NotCopied, FixedAttributes):
    """Parameters of the worlds of a batch by name, each an array with the world as its first dimension.

    Reading gives a read-only copy; assignment writes, and a value of the shape of one world serves all.
    Worlds in lanes stay there while parameters change numbers alone. One that changes what a step does, such
    as restitution of a body that had none, moves a batch to threads, unless lanes were requested, which is
    refused.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> box = world.add_rigid_body("box", mass=2.0)
        >>> batch = sx.WorldBatch(world, 3)
        >>> batch.parameters["rigid_bodies.box.mass"] = [1.0, 2.0, 3.0]
        >>> batch.parameters["rigid_bodies.box.mass"].tolist(), batch.layout
        ([1.0, 2.0, 3.0], 'lanes')
    """

    _instead = VIEW_OF_A_BATCH

    def __init__(self, part: BatchPart) -> None:
        self._part = part

    def _table(self) -> dict[str, Parameter]:
        return self._part._batch._parameters()

    @property
    def names(self) -> list[str]:
        """Names of all parameters."""
        return list(self._table())

    def matching(self, pattern: str) -> list[str]:
        """Names that a pattern with * and ? matches, such as `multibodies.*.links.*.mass`."""
        pattern = values.text(pattern, "pattern of parameters")
        return [name for name in self._table() if fnmatchcase(name, pattern)]

    def __len__(self) -> int:
        return len(self._table())

    def __iter__(self) -> Iterator[str]:
        return iter(self._table())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._table()

    def _find(self, name: str) -> Parameter:
        table, name = self._table(), values.text(name, "name of a parameter")
        if name not in table:
            why = REFUSED.get(str(name).rpartition(".")[2])
            if why is not None:
                raise CapabilityError(f"parameter '{name}' cannot differ from world to world: {why}")
            raise NotFoundError(f"no parameter '{name}'{nearest_name(str(name), list(table))}")
        return table[name]

    def __getitem__(self, name: str) -> Array:
        self._find(name)
        rows = self._part._batch._worlds.read_parameter(name, self._part._which)
        return values.read_only(np.array(self._part._leading(rows)))

    def __setitem__(self, name: str, value: Any) -> None:
        parameter, batch = self._find(name), self._part._batch
        assert batch._template.world is not None
        shape = np.shape(parameter.read(batch._template.world))
        numbers = values.array(value, name)
        whole = (len(self._part._which), *shape)
        if numbers.shape not in ((shape,) if self._part._single else (whole, shape, ())):
            raise values.ShapeError(f"{name} takes numbers of shape {whole} or {shape}, got {numbers.shape}")
        batch._write_parameters({name: np.broadcast_to(numbers, whole)}, self._part._which)

    def __repr__(self) -> str:
        return f"BatchParameters({len(self)} of {len(self._part._which)} worlds)"
