# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Physical parameters of a World as numbers: their owners, their locations, and how to change them.

They stand in arrays of the model, in columns of constraints (friction, restitution) or in columns of
collision (sizes of shapes). Frames of joints are changed by displacements: a translation, then a rotation
vector, both in the axes of the frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.errors import CapabilityError, NotFoundError, OperationError
from worldline._src.facade import values
from worldline._src.facade.kinds import PhysicalParameter, member
from worldline._src.kernels.constraints import tables as t
from worldline._src.model.kinds import ShapeKind
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.geometry import SHAPES
from worldline._src.spatial.poses import Array, compose

if TYPE_CHECKING:
    from worldline._src.facade.joint import Joint
    from worldline._src.facade.link import Link
    from worldline._src.facade.rigid_body import RigidBody
    from worldline._src.facade.runtime import Runtime
    from worldline._src.facade.world_runtime import WorldRuntime


class Parameter(NamedTuple):
    """A parameter that derivatives are taken against, by the names of what it belongs to."""

    owner: tuple[str, ...]
    """Name of a rigid body, or of a multibody and of its link or joint; empty for the World."""
    parameter: PhysicalParameter
    lower: float | None
    upper: float | None


class Place(Enum):
    """Which arrays numbers stand in."""

    MODEL = "model"
    FRAME = "frame"
    CONSTRAINTS = "constraints"
    COLLISION = "collision"


class Numbers(NamedTuple):
    """The numbers of a parameter: the array, where they are in it, and their names."""

    place: Place
    array: str
    rows: tuple[tuple[int, ...], ...]
    names: list[str]
    signed: bool
    """Whether they may be negative."""


_OF_BODY = {
    PhysicalParameter.MASS: ("body_mass", ((),)),
    PhysicalParameter.CENTER_OF_MASS: ("body_com", ((0,), (1,), (2,))),
    PhysicalParameter.INERTIA: ("body_inertia", ((0, 0), (1, 1), (2, 2))),
}
_OF_SHAPES = {
    PhysicalParameter.FRICTION: (Place.CONSTRAINTS, "shape_friction", 0),
    PhysicalParameter.RESTITUTION: (Place.CONSTRAINTS, "shape_law", t.BOUNCINESS),
    PhysicalParameter.SHAPE_SIZE: (Place.COLLISION, "shape_size", None),
}
_OF_JOINT = {
    PhysicalParameter.DAMPING: "joint_damping",
    PhysicalParameter.STIFFNESS: "joint_stiffness",
    PhysicalParameter.ARMATURE: "joint_armature",
    PhysicalParameter.POSITION_GAIN: "joint_target_ke",
    PhysicalParameter.VELOCITY_GAIN: "joint_target_kd",
    PhysicalParameter.JOINT_FRAME: "joint_X_p",
}
_SIZES = {facts.kind: facts.lengths for facts in SHAPES.values() if facts.sizes}
"""How many sizes count, by the name of the type of a shape in a Model."""


def require_differentiable(world: WorldRuntime) -> None:
    """Refuse a World whose steps have no derivatives."""
    if not world.is_differentiable:
        raise OperationError("this World takes no derivatives; make it with World(differentiable=True)")


def add_parameter(
    world: WorldRuntime,
    owner: RigidBody | Link | Joint | WorldRuntime,
    parameter: PhysicalParameter,
    lower: float | None,
    upper: float | None,
) -> None:
    """See `World.add_differentiable_parameter`."""
    world._require_idle()
    kind = member(PhysicalParameter, parameter, "parameter")
    require_differentiable(world)
    bounds = [
        None if x is None else values.real(x, name)
        for x, name in ((lower, "lower_bound"), (upper, "upper_bound"))
    ]
    world._parameters.append(parameter_of(world, owner, kind, *bounds))


def parameter_of(
    world: WorldRuntime,
    owner: RigidBody | Link | Joint | WorldRuntime,
    parameter: PhysicalParameter,
    lower: float | None,
    upper: float | None,
) -> Parameter:
    """A parameter of a body, of a joint or of the World; refuses those that have no derivatives."""
    path = next((path for path, handle in _owners(world, parameter) if handle is owner), None)
    if path is None:
        raise CapabilityError(
            f"derivatives by {parameter.name} of {owner!r} are not available; links and rigid bodies of this "
            f"World have {', '.join(p.name for p in (*_OF_BODY, *_OF_SHAPES))}, joints of its multibodies "
            f"{', '.join(p.name for p in _OF_JOINT)}, the World itself GRAVITY"
        )
    made = Parameter(path, parameter, lower, upper)
    numbers_of(world, made)
    return made


def _owners(world: WorldRuntime, parameter: PhysicalParameter) -> Iterator[tuple[tuple[str, ...], Any]]:
    """What may have a parameter, by its names."""
    if parameter is PhysicalParameter.GRAVITY:
        yield (), world
        return
    of_body = parameter in _OF_BODY or parameter in _OF_SHAPES
    if of_body:
        for name, body in world._rigid_bodies.items():
            yield (name,), body
    for name, robot in world._multibodies.items():
        for part, handle in (robot._links if of_body else robot._joints).items():
            yield (name, part), handle


def numbers_of(world: WorldRuntime, one: Parameter) -> Numbers:
    """Where the numbers of a parameter are; raises when its owner is gone or has no such numbers."""
    runtime = world._live()
    base = ".".join((*one.owner, one.parameter.value))
    handle = next((handle for path, handle in _owners(world, one.parameter) if path == one.owner), None)
    if handle is None:
        raise NotFoundError(f"'{base}' is a differentiable parameter, but its owner is no longer here")
    if one.parameter is PhysicalParameter.GRAVITY:
        return Numbers(Place.MODEL, "gravity", ((0,), (1,), (2,)), numbered(base, 3), True)
    if one.parameter in _OF_BODY:
        array, parts = _OF_BODY[one.parameter]
        rows = tuple((runtime.body(handle._link), *part) for part in parts)
        signed = one.parameter is PhysicalParameter.CENTER_OF_MASS
        return Numbers(Place.MODEL, array, rows, numbered(base, len(rows)), signed)
    if one.parameter in _OF_SHAPES:
        return _of_shapes(runtime, one.parameter, runtime.body(handle._link), base)
    array = _OF_JOINT[one.parameter]
    if one.parameter is PhysicalParameter.JOINT_FRAME:
        joint = runtime.joint_index[id(handle._joint)]
        rows = tuple((joint, k) for k in range(6))
        return Numbers(Place.FRAME, array, rows, numbered(base, 6), True)
    dofs = runtime.v_slice(handle._joint)
    rows = tuple((d,) for d in range(dofs.start, dofs.stop))
    return Numbers(Place.MODEL, array, rows, numbered(base, len(rows)), False)


def count(world: WorldRuntime) -> int:
    """Numbers of all parameters of a World."""
    return sum(len(numbers_of(world, one).rows) for one in world._parameters)


def _of_shapes(runtime: Runtime, parameter: PhysicalParameter, body: int, base: str) -> Numbers:
    """Friction, restitution or sizes of all shapes of a body that can touch others."""
    place, array, column = _OF_SHAPES[parameter]
    constraints, shapes = runtime.constraints, runtime.model.shapes
    own = np.zeros(0, np.int64)
    if constraints is not None and constraints.collision is not None and shapes is not None:
        own = np.flatnonzero(shapes.body[constraints.shapes] == body)
    if not own.size:
        raise CapabilityError(f"'{base}' needs shapes that can touch others, and there are none")
    if column is not None:
        rows = tuple((k, column) for k in own.tolist())
    else:
        assert constraints is not None and shapes is not None
        kinds = [ShapeKind(shapes.kind[constraints.shapes[k]]).name for k in own.tolist()]
        rows = tuple(
            (k, i) for k, kind in zip(own.tolist(), kinds, strict=True) for i in range(_SIZES.get(kind, 0))
        )
        if not rows:
            raise CapabilityError(f"'{base}': {', '.join(kinds)} have no sizes; {', '.join(_SIZES)} have")
    return Numbers(place, array, rows, numbered(base, len(rows)), False)


def numbered(name: str, count: int) -> list[str]:
    """Names of numbers that share one."""
    return [name] if count == 1 else [f"{name}[{k}]" for k in range(count)]


def _column(runtime: Runtime, numbers: Numbers) -> Array:
    constraints = runtime.constraints
    assert constraints is not None
    if numbers.place is Place.CONSTRAINTS:
        return constraints.column[numbers.array]
    assert constraints.collision is not None
    return constraints.collision.column[numbers.array]


def _own_column(runtime: Runtime, numbers: Numbers) -> Array:
    """The same to be written: clones share numbers of collision."""
    collision = None if runtime.constraints is None else runtime.constraints.collision
    if numbers.place is Place.COLLISION and collision is not None and collision.own():
        runtime.sim.reconfigure()
    return _column(runtime, numbers)


def read(runtime: Runtime, numbers: Numbers) -> Array:
    """The numbers as they are; displacements of frames are zero."""
    if numbers.place is Place.FRAME:
        return np.zeros(len(numbers.rows))
    of_model = numbers.place is Place.MODEL
    array = getattr(runtime.model, numbers.array) if of_model else _column(runtime, numbers)
    return np.array([array[row] for row in numbers.rows])


def shift(runtime: Runtime, numbers: Numbers, change: Array) -> None:
    """Add to the numbers of a World that is there to be changed; its description does not follow."""
    if numbers.place is Place.FRAME:
        poses = np.array(runtime.model.joint_X_p)
        joint = numbers.rows[0][0]
        angle = float(np.linalg.norm(change[3:]))
        # exp of half the rotation vector: (sin(|r| / 2) r / |r|, cos(|r| / 2))
        turn = np.concatenate([0.5 * np.sinc(angle / (2.0 * np.pi)) * change[3:], [np.cos(0.5 * angle)]])
        poses[joint] = compose(poses[joint], np.concatenate([change[:3], turn]))
        runtime.update(joint_X_p=poses)
    elif numbers.place is Place.MODEL:
        array = np.array(getattr(runtime.model, numbers.array))
        for row, x in zip(numbers.rows, change, strict=True):
            array[row] += x
        runtime.perturb(**{numbers.array: array})
    else:
        column = _own_column(runtime, numbers)
        for row, x in zip(numbers.rows, change, strict=True):
            column[row] += x


def write(runtime: Runtime, numbers: Numbers, values: Array) -> None:
    """Set the numbers of a World that is there to be changed; frames are displaced. See `shift`."""
    if numbers.place is Place.FRAME:
        shift(runtime, numbers, values)
        return
    of_model = numbers.place is Place.MODEL
    array = np.array(getattr(runtime.model, numbers.array)) if of_model else _own_column(runtime, numbers)
    for row, x in zip(numbers.rows, values, strict=True):
        array[row] = x
    if of_model:
        runtime.update(**{numbers.array: array})


def take_over(target: Runtime, source: Runtime, numbers: Numbers) -> None:
    """Give a copy the numbers of the World it was made of, which its description may not have."""
    if numbers.place is Place.FRAME:
        poses = np.array(target.model.joint_X_p)
        joint = numbers.rows[0][0]
        poses[joint] = source.model.joint_X_p[joint]
        target.update(joint_X_p=poses)
    elif not np.array_equal(values := read(source, numbers), read(target, numbers)):
        write(target, numbers, values)
