# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Drawable items of the shapes of a World: triangles, scale, look, body and local pose.

An item is made once; a frame is one pose for every item (`Items.poses`). Items that differ only in stretch,
colour and place share their triangles, which `Item.mesh_key` identifies.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.drawing import looks, triangles
from worldline._src.drawing.looks import Look, Looks
from worldline._src.drawing.placement import composed, points_of
from worldline._src.drawing.triangles import Triangles
from worldline._src.model.kinds import ShapeFlags, ShapeKind
from worldline._src.model.model import Model
from worldline._src.spatial.poses import Array

if TYPE_CHECKING:
    from worldline._src.facade.world import World

SHOWN_GROUPS = (0, 1, 2)
"""Visibility groups that are shown by default."""
_FAR = 25.0
"""Half size of a plane without end, in sizes of the scene."""
_GROWN = 1.01
"""Size of a hull as drawn."""


@dataclass(frozen=True, eq=False)
class Item:
    """One shape to draw.

    Attributes:
        label: name of the shape.
        shape: its row in the shapes of the model.
        kind: which shape it is.
        body: its body, -1 for the world.
        xform: pose in the body, position [m] and xyzw, (7,).
        mesh: triangles in the axes of the shape, before `scale`.
        mesh_key: the same for items that share their triangles.
        scale: factors along the axes of the shape, (3,).
        look: colour and texture.
        group: visibility group, 0 to 7.
        collides: whether it can touch anything.
    """

    label: str
    shape: int
    kind: ShapeKind
    body: int
    xform: Array
    mesh: Triangles
    mesh_key: Hashable
    scale: Array
    look: Look
    group: int
    collides: bool

    @property
    def is_endless(self) -> bool:
        """A plane without end, which says nothing about the size of a scene."""
        return self.mesh_key == "endless plane"


@dataclass(eq=False)
class Items:
    """All shapes of a World as things to draw, in the order of the model's shapes."""

    rows: Sequence[Item]
    body: np.ndarray = field(init=False)
    """Body of every item, -1 for the world."""
    xform: Array = field(init=False)
    """Poses in the bodies, (n, 7)."""

    def __post_init__(self) -> None:
        self.body = np.array([item.body for item in self.rows], np.int64)
        self.xform = np.array([item.xform for item in self.rows], np.float64).reshape(-1, 7)

    def poses(self, bodies: Array) -> Array:
        """Poses of all items in the world from those of the bodies, the world's last; (n, 7)."""
        return composed(bodies[self.body], self.xform)

    def bounds(self, bodies: Array, groups: Sequence[int] = SHOWN_GROUPS) -> tuple[Array, Array]:
        """Lowest and highest coordinates of what is shown [m], planes aside; a box of 1 m about nothing."""
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        for item, pose in zip(self.rows, self.poses(bodies), strict=True):
            if item.kind is ShapeKind.PLANE or item.group not in groups:
                continue
            corners = item.mesh.vertices * item.scale
            box = np.array(np.meshgrid(*zip(corners.min(axis=0), corners.max(axis=0), strict=True)))
            points = points_of(np.tile(pose, (8, 1)), box.reshape(3, -1).T)
            low, high = np.minimum(low, points.min(axis=0)), np.maximum(high, points.max(axis=0))
        if not np.isfinite(low).all():
            at = bodies[:-1, :3] if len(bodies) > 1 else np.zeros((1, 3))
            return at.min(axis=0) - 0.5, at.max(axis=0) + 0.5
        return low, high


def items_of(world: World) -> Items:
    """The shapes of a World; meshes and height fields are loaded here."""
    runtime = world._live()
    model = runtime.model
    table = model.shapes
    if table is None:
        return Items([])
    source = Looks(runtime.scene)
    size = _size_of_scene(model)
    branches = _branches(model)
    hierarchy = runtime.scene.hierarchy
    geoms = [*hierarchy.geoms, *(geom for link in hierarchy.links() for geom in link.geoms)]
    found = []
    for k in range(len(table)):
        kind, body = ShapeKind(int(table.kind[k])), int(table.body[k])
        mesh, key, scale = _geometry(model, k, kind)
        if kind is ShapeKind.PLANE:
            # planes touch without end, and are drawn as large as the scene says
            half = [x or _FAR * size for x in geoms[k].size[:2]]
            key, scale = "plane" if all(geoms[k].size[:2]) else "endless plane", np.array([*half, 1.0])
        material = model.material_label[table.material[k]] if table.material[k] >= 0 else None
        plain = material is None and bool(np.isnan(table.rgba[k]).any())
        look = source.of(table.rgba[k], material, *branches[body])
        if plain and kind in (ShapeKind.PLANE, ShapeKind.HFIELD) and body < 0:
            look = looks.ground()
        if kind is ShapeKind.PLANE and look.texture is not None and not look.per_metre:
            # without end there is no size to lay it over
            look = look._replace(per_metre=key == "endless plane")
        found.append(
            Item(
                label=table.label[k],
                shape=k,
                kind=kind,
                body=body,
                xform=table.xform[k],
                mesh=mesh,
                mesh_key=key,
                scale=scale,
                look=_laid(look, mesh),
                group=int(table.visual_group[k]),
                collides=bool(table.flags[k] & ShapeFlags.COLLIDES),
            )
        )
    return Items(found)


def hulls_of(world: World) -> Items:
    """What meshes count as in contact: their convex hulls, as items of their own."""
    model = world._live().model
    table = model.shapes
    found = []
    for k in [] if table is None else np.flatnonzero(table.kind == ShapeKind.MESH).tolist():
        assert table is not None
        if not table.flags[k] & ShapeFlags.COLLIDES:
            continue
        hull = model.assets.hull(int(table.source[k]))
        # a little larger than it is: where it touches its mesh, both would be seen in stripes
        middle = hull.vertices.mean(axis=0)
        grown = middle + _GROWN * (hull.vertices - middle)
        mesh = triangles.with_edges(grown, np.asarray(hull.triangles))
        look = Look((0.95, 0.5, 0.1, 0.5))
        place = (table.label[k], k, ShapeKind.HULL, int(table.body[k]), table.xform[k])
        found.append(Item(*place, mesh, ("hull", int(table.source[k])), table.scale[k], look, 0, True))
    return Items(found)


def texcoords(item: Item) -> Array | None:
    """Places of the vertices in the texture of an item, repeats counted; None when it has none."""
    if item.look.texture is None or item.mesh.texcoords is None:
        return None
    places = item.mesh.texcoords
    if item.look.per_metre and item.kind is ShapeKind.PLANE:
        # squares keep their place in the world when the drawn part of a plane grows
        return (places - 0.5) * 2.0 * item.scale[:2] * item.look.repeat
    return places * item.look.repeat


def _laid(look: Look, mesh: Triangles) -> Look:
    """The look, with a texture only where it can be laid on; elsewhere its mean colour counts."""
    if look.texture is None or mesh.texcoords is not None:
        return look
    r, g, b, a = look.rgba
    x, y, z = looks.average(look.texture)
    return look._replace(rgba=(r * x, g * y, b * z, a), texture=None)


def _branches(model: Model) -> list[tuple[int, int]]:
    """Number of the tree of every body and its depth in it; the world last, as body -1."""
    found = [(-1, 0)] * (model.body_count + 1)
    trees = 0
    for j in range(model.joint_count):
        parent, child = int(model.joint_parent[j]), int(model.joint_child[j])
        tree, depth = found[parent]
        if parent < 0:
            tree, depth = trees, -1
            trees += 1
        found[child] = (tree, depth + 1)
    return found


def _size_of_scene(model: Model) -> float:
    """A length for planes without end: how far bodies and shapes are apart [m]."""
    table = model.shapes
    assert table is not None
    reach = 1.0
    if model.body_count:
        reach = max(reach, float(np.abs(model.body_q[:, :3]).max()))
    solid = (table.kind != ShapeKind.PLANE) & (table.body < 0)
    if solid.any():
        reach = max(reach, float(np.abs(table.xform[solid, :3]).max() + table.size[solid].max()))
    return reach


def _geometry(model: Model, k: int, kind: ShapeKind) -> tuple[Triangles, Hashable, Array]:
    """Triangles of a shape, the key they are shared under, and the stretch."""
    table = model.shapes
    assert table is not None
    a, b, c = table.size[k].tolist()
    if kind is ShapeKind.SPHERE:
        return triangles.sphere(), "sphere", np.full(3, a)
    if kind is ShapeKind.ELLIPSOID:
        return triangles.sphere(), "sphere", np.array([a, b, c])
    if kind is ShapeKind.BOX:
        return triangles.box(), "box", np.array([a, b, c])
    if kind is ShapeKind.CYLINDER:
        return triangles.cylinder(), "cylinder", np.array([a, a, b])
    if kind is ShapeKind.CONE:
        return triangles.cone(), "cone", np.array([a, a, b])
    if kind is ShapeKind.CAPSULE:
        ratio = round(b / a, 6)
        return triangles.capsule(ratio), ("capsule", ratio), np.full(3, a)
    if kind is ShapeKind.PLANE:
        return triangles.plane(), "plane", np.array([a, b, 1.0])
    source = int(table.source[k])
    if kind is ShapeKind.HFIELD:
        return triangles.height_field(model.assets.hfield(source)), ("height field", source), np.ones(3)
    found = model.assets.mesh(source)
    key = ("mesh", source)
    faces = np.asarray(found.triangles)
    if found.normals is not None:
        made = Triangles(found.vertices, faces, found.normals, found.texcoords)
    elif found.texcoords is not None:
        made = triangles.from_soup(found.vertices, faces, found.texcoords)
    else:
        made = triangles.with_edges(found.vertices, faces)
    return made, key, table.scale[k].copy()
