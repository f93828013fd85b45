# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Contacts of the last step: where bodies touched, and the forces that were solved for.

Rows of a contact are its normal and tangents when friction is a cone, and the edges of a pyramid otherwise;
both become one force in world axes here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.facade.exclusive import exclusive
from worldline._src.facade.link import Link
from worldline._src.facade.rigid_body import RigidBody
from worldline._src.kernels.constraints import tables as t
from worldline._src.linear_algebra import matmul
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array
from worldline._src.step.constraints import Constraints

if TYPE_CHECKING:
    from worldline._src.facade.runtime import Runtime
    from worldline._src.facade.world_runtime import WorldRuntime


@dataclass(frozen=True, eq=False)
class Contact:
    """One point where two bodies touch.

    Attributes:
        body_a, body_b: rigid body or link; None for shapes of the world itself, such as the ground.
        point: halfway between the two surfaces, world [m], (3,).
        normal: unit vector from body_a to body_b, world, (3,).
        depth: how deep they overlap [m]; negative for a gap.
        force: on body_b, world axes [N], (3,); zero from queries, which solve nothing.
        shape_index_a, shape_index_b: which of the `collision_shapes` of the bodies touch.
        feature: which features of the shapes touch; stays while they do.
        local_point_a, local_point_b: the points of the two surfaces, in the frames of their shapes [m], (3,).
        torque: of torsional and rolling friction on body_b about the point, world axes [N m], (3,).
    """

    body_a: RigidBody | Link | None
    body_b: RigidBody | Link | None
    point: Array
    normal: Array
    depth: float
    force: Array
    shape_index_a: int
    shape_index_b: int
    feature: int
    local_point_a: Array
    local_point_b: Array
    torque: Array = field(default_factory=lambda: np.zeros(3))


def surface_points(point: Array, normal: Array, depth: float, X_a: Array, X_b: Array) -> tuple[Array, Array]:
    """The points of two surfaces about a contact, each in the frame of its shape; poses are 12 numbers.

    The surface of the first ends half a depth along the normal, that of the second half a depth against it.
    """
    half = 0.5 * depth * normal
    ends: list[Array] = []
    for X, place in ((X_a, point + half), (X_b, point - half)):
        ends.append(matmul(X[3:].reshape(3, 3).T, place - X[:3]))
    return ends[0], ends[1]


@dataclass(frozen=True, eq=False)
class ContactForce:
    """The force of one contact in the last step.

    Attributes:
        body_a, body_b: rigid body or link; None for shapes of the world itself.
        point: where it acts, world [m], (3,).
        force: on body_b, world axes [N], (3,); body_a feels the opposite.
        impulse: force times the time step [N s], (3,).
    """

    body_a: RigidBody | Link | None
    body_b: RigidBody | Link | None
    point: Array
    force: Array
    impulse: Array


class Owners(NamedTuple):
    """Whose the rows of the model's shapes are."""

    body: list[RigidBody | Link | None]
    """By body of the model, the world last."""
    place: np.ndarray
    """By shape of the model: its place in the `collision_shapes` of its body."""


def owners(world: WorldRuntime, runtime: Runtime) -> Owners:
    """Handles by body of the model, and places of shapes."""
    table: list[RigidBody | Link | None] = [None] * (runtime.model.body_count + 1)
    handles: list[RigidBody | Link] = list(world._rigid_bodies.values())
    for robot in world._multibodies.values():
        handles += robot._links.values()
    for handle in handles:
        body = runtime.link_body.get(id(handle._link))
        if body is not None:
            # an object that is just being added is not compiled yet
            table[body] = handle
    shapes = runtime.model.shapes
    index = np.zeros(0 if shapes is None else len(shapes.body), np.int64)
    if shapes is not None:
        seen: dict[int, int] = {}
        for k in np.flatnonzero(shapes.flags & 1).tolist():
            body = int(shapes.body[k])
            index[k] = seen.get(body, 0)
            seen[body] = index[k] + 1
    return Owners(table, index)


@exclusive
def last_contacts(world: WorldRuntime) -> list[Contact]:
    """See `World.contacts`."""
    runtime = world._live()
    constraints = runtime.constraints
    touching = _touching(constraints)
    if constraints is None or constraints.collision is None or not touching:
        return []
    who = owners(world, runtime)
    hit, ids = constraints.collision.column.contact, constraints.collision.column.contact_id
    placed = constraints.collision.column.shape_X_W
    made: list[Contact] = []
    for k, (force, torque) in touching:
        rows = constraints.shapes[ids[k, 0:2]]
        X_a, X_b = placed[ids[k, 0]], placed[ids[k, 1]]
        made.append(
            Contact(
                who.body[int(ids[k, 2]) - 1],
                who.body[int(ids[k, 3]) - 1],
                hit[k, 0:3].copy(),
                hit[k, 3:6].copy(),
                float(hit[k, 6]),
                force,
                int(who.place[rows[0]]),
                int(who.place[rows[1]]),
                int(ids[k, 4]),
                *surface_points(hit[k, 0:3], hit[k, 3:6], float(hit[k, 6]), X_a, X_b),
                torque,
            )
        )
    return made


@exclusive
def last_contact_forces(world: WorldRuntime) -> list[ContactForce]:
    """See `World.get_last_contact_forces`."""
    h = world.time_step
    return [ContactForce(c.body_a, c.body_b, c.point, c.force, c.force * h) for c in last_contacts(world)]


def contact_summary(runtime: Runtime) -> tuple[int, float]:
    """Number of contacts of the last step and the deepest overlap [m]."""
    constraints = runtime.constraints
    touching = _touching(constraints)
    if constraints is None or constraints.collision is None or not touching:
        return 0, 0.0
    depth = constraints.collision.column.contact[[k for k, _ in touching], 6]
    return len(touching), max(float(depth.max()), 0.0)


def _touching(constraints: Constraints | None) -> list[tuple[int, Array]]:
    """Contacts of the last step that overlap or push, with force and torque of each, (2, 3)."""
    if constraints is None or constraints.collision is None:
        return []
    column = constraints.column
    count = int(column.counter[t.CONTACT_COUNT])
    rows, depth = column.contact_row[:count], constraints.collision.column.contact[:count, 6]
    # rows of a frame are the normal and the tangents
    axes = column.frame[:count].reshape(-1, 1, 3, 3).transpose(0, 1, 3, 2)
    pairs = matmul(axes, column.contact_force[:count].reshape(-1, 2, 3, 1))[..., 0]
    touches = (rows[:, 0] >= 0) & ((depth >= 0.0) | pairs[:, 0].any(axis=1))
    return [(k, pairs[k].copy()) for k in np.flatnonzero(touches).tolist()]
