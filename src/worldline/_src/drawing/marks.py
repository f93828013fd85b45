# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Marks beside the shapes: sites, frames, joint axes, centres of mass, contacts and tendons.

Everything is computed from poses of bodies that the caller has, in world coordinates, for one frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.drawing import triangles
from worldline._src.drawing.items import Item, Items
from worldline._src.drawing.looks import Look
from worldline._src.drawing.placement import points_of
from worldline._src.drawing.wrapping import tendon_lines
from worldline._src.facade.contacts import _touching as touching
from worldline._src.facade.frame import FixedFrame, FreeFrame
from worldline._src.model.kinds import JointType, ShapeKind
from worldline._src.model.model import Model
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import IDENTITY, Array, compose, rotation

if TYPE_CHECKING:
    from worldline._src.facade.world import World

_TURNS = (JointType.REVOLUTE, JointType.SCREW, JointType.UNIVERSAL, JointType.EULER, JointType.D6)
_AXES = (*_TURNS, JointType.PRISMATIC, JointType.PLANAR, JointType.TRANSLATIONAL)


class Contacts(NamedTuple):
    """Contacts of the last step."""

    points: Array
    """World [m], (n, 3)."""
    normals: Array
    """From the first body to the second, (n, 3)."""
    forces: Array
    """On the second body [N], (n, 3)."""


class Axes(NamedTuple):
    """Axes of joints."""

    origins: Array
    """World [m], (n, 3)."""
    directions: Array
    """Unit vectors, world, (n, 3)."""


def site_items(world: World) -> Items:
    """Sites as items."""
    runtime = world._live()
    table = runtime.model.sites
    if table is None or not len(table):
        return Items([])
    hierarchy = runtime.scene.hierarchy
    rows = [*hierarchy.sites, *(site for link in hierarchy.links() for site in link.sites)]
    found = []
    for k, site in enumerate(rows):
        kind = ShapeKind(int(table.kind[k]))
        mesh, key, scale = _site_mesh(kind, np.maximum(table.size[k], 1e-3))
        r, g, b, a = site.rgba
        look = Look((r, g, b, a))
        place = (table.label[k], k, kind, int(table.body[k]), table.xform[k])
        found.append(Item(*place, mesh, key, scale, look, site.group, False))
    return Items(found)


def _site_mesh(kind: ShapeKind, size: Array) -> tuple[triangles.Triangles, Any, Array]:
    a, b, c = size.tolist()
    if kind is ShapeKind.BOX:
        return triangles.box(), "box", size
    if kind is ShapeKind.CYLINDER:
        return triangles.cylinder(), "cylinder", np.array([a, a, b])
    if kind is ShapeKind.CAPSULE:
        ratio = round(b / a, 6)
        return triangles.capsule(ratio), ("capsule", ratio), np.full(3, a)
    return triangles.sphere(), "sphere", np.array([a, b, c]) if kind is ShapeKind.ELLIPSOID else np.full(3, a)


def frame_poses(world: World, bodies: Array) -> tuple[list[str], Array]:
    """Names and poses of the named frames of a World, (n, 7)."""
    runtime = world._live()
    poses = []
    for frame in world._frames.values():
        local, above = frame._local(), frame._parent
        while isinstance(above, FixedFrame | FreeFrame):
            local, above = compose(above._local(), local), above._parent
        link = getattr(above, "_link", None)
        outer = IDENTITY if link is None else bodies[runtime.link_body[id(link)]]
        poses.append(compose(outer, local))
    return list(world._frames), np.array(poses).reshape(-1, 7)


def joint_axes(model: Model, q: Array, bodies: Array) -> Axes:
    """Axes of all joints that have some; those of a joint follow each other's turns."""
    origins, directions = [], []
    for j in range(model.joint_count):
        if model.joint_type[j] not in _AXES:
            continue
        start, end = int(model.joint_qd_start[j]), int(model.joint_qd_start[j + 1])
        R = rotation(compose(bodies[model.joint_parent[j]], model.joint_X_p[j]))
        at = compose(bodies[model.joint_child[j]], model.joint_X_c[j])[:3]
        linear = int(model.joint_dof_dim[j, 0]) if model.joint_type[j] != JointType.SCREW else 0
        for k, d in enumerate(range(start, end)):
            axis = model.joint_axis[d]
            origins.append(at)
            directions.append(R @ axis)
            if k >= linear and model.joint_type[j] in _TURNS:
                R = R @ _turn(axis, float(q[model.joint_q_start[j] + k]))
    return Axes(np.array(origins).reshape(-1, 3), np.array(directions).reshape(-1, 3))


def _turn(axis: Array, angle: float) -> Array:
    return rotation(np.array([0.0, 0.0, 0.0, *(np.sin(0.5 * angle) * axis), np.cos(0.5 * angle)]))


def body_centres(model: Model, bodies: Array) -> Array:
    """Centres of mass of the bodies, world [m], (n, 3)."""
    return points_of(bodies[:-1], model.body_com)


def centre_of_mass(model: Model, bodies: Array) -> Array:
    """Centre of mass of everything, world [m], (3,); the origin when nothing has mass."""
    mass = model.body_mass
    return mass @ body_centres(model, bodies) / mass.sum() if mass.any() else np.zeros(3)


def contacts_of(world: World) -> Contacts:
    """Points, normals and forces of the contacts of the last step."""
    constraints = world._live().constraints
    rows = touching(constraints)
    if constraints is None or constraints.collision is None or not rows:
        return Contacts(*np.zeros((3, 0, 3)))
    hit = constraints.collision.column.contact[[k for k, _ in rows]]
    return Contacts(hit[:, 0:3].copy(), hit[:, 3:6].copy(), np.array([force for _, (force, _) in rows]))


class TendonLines(NamedTuple):
    """A spatial tendon as it is drawn."""

    label: str
    rgba: tuple[float, ...]
    radius: float
    """[m]"""
    lines: list[Array]
    """Each (n, 3), world [m]."""


def tendons_of(world: World, bodies: Array) -> list[TendonLines]:
    """Spatial tendons; fixed ones have no place."""
    runtime = world._live()
    model, table = runtime.model, runtime.model.tendons
    lines = tendon_lines(model, bodies)
    if table is None or not lines:
        return []
    tendon_set = runtime.scene.tendon_set
    first = len(tendon_set.joint_tendons)
    return [
        TendonLines(table.label[first + k], tuple(row.rgba), row.width, lines[first + k])
        for k, row in enumerate(tendon_set.spatial_tendons)
    ]
