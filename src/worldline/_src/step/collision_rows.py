# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From the shapes and bodies of a Model to rows of the collision tables.

Body 0 of the collision tables is the world, body b + 1 is body b of the Model. Planes with half sizes end
there; those of MJCF files, whose sizes are for the eye, have none. Meshes count by their convex hull, by
their convex parts where the scene requests them, or, on what stands still, by their triangles.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from worldline._src.collision.arenas import BodyRow, ShapeRow
from worldline._src.collision.shapes import CollisionShape, hull_shape
from worldline._src.model.kinds import ShapeFlags, ShapeKind
from worldline._src.model.model import Model
from worldline._src.spatial.poses import Array

_DECOMPOSED, _SURFACE = int(ShapeFlags.DECOMPOSED), int(ShapeFlags.SURFACE)


def collision_shape(model: Model, k: int) -> CollisionShape:
    """Row `k` of the shapes of a model as a shape of the collision tables."""
    shapes = model.shapes
    assert shapes is not None
    kind, size, place = ShapeKind(int(shapes.kind[k])), shapes.size[k].tolist(), shapes.xform[k]
    if kind is ShapeKind.PLANE:
        ends = size[:2] if size[0] > 0.0 and size[1] > 0.0 else None
        return CollisionShape.plane(half_extents=ends, local_transform=place)
    if kind is ShapeKind.SPHERE:
        return CollisionShape.sphere(size[0], local_transform=place)
    if kind is ShapeKind.CAPSULE:
        return CollisionShape.capsule(size[0], size[1], local_transform=place)
    if kind is ShapeKind.BOX:
        return CollisionShape.box(size, local_transform=place)
    if kind is ShapeKind.CYLINDER:
        return CollisionShape.cylinder(size[0], size[1], local_transform=place)
    if kind is ShapeKind.CONE:
        return CollisionShape.cone(size[0], size[1], local_transform=place)
    if kind is ShapeKind.ELLIPSOID:
        return CollisionShape.ellipsoid(size, local_transform=place)
    assert model.assets is not None
    source = int(shapes.source[k])
    if kind is ShapeKind.HFIELD:
        field = model.assets.hfield(source)
        return CollisionShape.height_field(field.heights, field.size, base=field.base, local_transform=place)
    if shapes.flags[k] & ShapeFlags.SURFACE:
        mesh = model.assets.mesh(source)
        return CollisionShape.mesh(mesh.vertices * shapes.scale[k], mesh.triangles, local_transform=place)
    points: Array = model.assets.hull(source).vertices * shapes.scale[k]
    return hull_shape(points, place, model.assets.cache)


def collision_parts(model: Model, k: int) -> list[CollisionShape]:
    """Row `k` of the shapes of a model as one shape, or as the convex parts of its mesh."""
    shapes, option = model.shapes, model.option
    assert shapes is not None
    config = None if option is None else option.coacd_strategy
    wanted = int(shapes.flags[k]) & (_DECOMPOSED | _SURFACE) == _DECOMPOSED
    if not wanted or config is None or model.assets is None:
        return [collision_shape(model, k)]
    parts = model.assets.parts(int(shapes.source[k]), config)
    if option is not None and len(parts) > option.runtime_max_convex_hulls_per_mesh:
        return [collision_shape(model, k)]
    place, scale = shapes.xform[k], shapes.scale[k]
    return [hull_shape(part.vertices * scale, place, model.assets.cache) for part in parts]


def shape_rows(
    model: Model, known: Sequence[tuple[int, ShapeRow]] | None = None
) -> list[tuple[int, ShapeRow]]:
    """The shapes of a model that can touch something, with their row in the model's table.

    A mesh in parts has several. `known` are those of a model with equal shapes, which are taken over.
    """
    shapes = model.shapes
    if shapes is None:
        return []
    made = []
    parts: dict[int, list[CollisionShape]] = {}
    for k, row in known or ():
        parts.setdefault(k, []).append(row.shape)
    collides = (shapes.flags & ShapeFlags.COLLIDES) != 0
    if model.contact_pairs is not None:
        # masks do not apply to pairs with parameters of their own
        collides[model.contact_pairs.shapes] = True
    for k in np.flatnonzero(collides).tolist():
        rest = (int(shapes.body[k]) + 1, float(shapes.margin[k]), int(shapes.group[k]), int(shapes.mask[k]))
        made += [(k, ShapeRow(part, *rest)) for part in parts.get(k) or collision_parts(model, k)]
    return made


def body_rows(model: Model, *, parents: bool = True) -> list[BodyRow]:
    """What the pair filters know of the bodies, the world first.

    Bodies welded together count as one; a body and the one its joint stands on do not touch unless that is
    the world.
    """
    weld, parent = list(range(model.body_count + 1)), [-1] * (model.body_count + 1)
    shaped = set() if model.shapes is None else set((model.shapes.body + 1).tolist())
    massless = [False, *(model.body_mass == 0.0).tolist()]
    ends = ((model.joint_child + 1).tolist(), (model.joint_parent + 1).tolist())
    welded = (np.diff(model.joint_qd_start) == 0).tolist()
    for child, above, is_welded in zip(*ends, welded, strict=True):
        # between several joints of one link stand bodies of nothing: the parent is the one before them;
        # a frame that is welded to a body is part of that body
        nothing = above != 0 and weld[above] == above and massless[above] and above not in shaped
        if is_welded:
            weld[child], parent[child] = weld[above], parent[above]
        else:
            parent[child] = parent[above] if nothing and parent[above] >= 0 else weld[above]
    count, quiet = model.body_count, model.self_collision_root
    trees = [-1] * (count + 1) if quiet is None else [-1, *quiet.tolist()]
    parents_of = set(parent)
    # single bodies that no force moves; others keep the filter between parent and child
    held = [False, *model.body_kinematic.tolist()]
    fixed = [weld[b] == 0 or (held[b] and b not in parents_of) for b in range(count + 1)]
    return list(map(BodyRow, fixed, weld, parent if parents else [-1] * (count + 1), trees))


def excluded_keys(model: Model, rows: Sequence[ShapeRow]) -> list[int]:
    """Keys of pairs of shapes whose bodies are excluded from touching."""
    if model.excluded_bodies is None:
        return []
    by_body: dict[int, list[int]] = {}
    for k, row in enumerate(rows):
        by_body.setdefault(row.body, []).append(k)
    keys = []
    for a, b in (model.excluded_bodies + 1).tolist():
        for i in by_body.get(a, ()):
            keys += [min(i, j) * len(rows) + max(i, j) for j in by_body.get(b, ())]
    return keys
