# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Support mapping: the farthest point of a convex shape in a direction.

Spheres and capsules are their core, a point or a segment, and a radius that is added afterwards: distances to
them are exact. So are ellipsoids: a ball that rolls inside of one is no larger than its least radius of
curvature, and the core is what remains without that ball [Schneider 2014, Convex Bodies, 3.2]. Ellipsoids
that penetrate by less than the radii have cores apart, whose closest points are the deepest. A few loose
vertices (a triangle, a prism of a height field) lie in the work space.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline
from worldline._src.kernels.narrowphase.tables import (
    BOX,
    CAPSULE,
    CONE,
    ELLIPSOID,
    HULL,
    SPHERE,
    START_SIDE,
    TYPE_COUNT,
    VERTEX_COUNT,
    VERTEX_FIRST,
)
from worldline._src.kernels.narrowphase.values import TINY
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.ops import absolute, maximum, minimum, sqrt, where
from worldline._src.spatial.vec3 import Vec3

LOOSE = TYPE_COUNT
"""Type of a convex shape whose vertices lie in the work space."""

CLIMB = 32
"""Hulls with more vertices are climbed from neighbour to neighbour instead of searched."""


_ROLLING = 0.9
"""Share of an ellipsoid's least radius of curvature that is its radius; cores stay larger than rounding."""


class Convex(NamedTuple):
    """A convex core: type, sizes, radius around it; of hulls the row of geom and the vertices."""

    kind: Any
    size: Any
    radius: Any
    first: Any
    count: Any
    row: Any


@inline
def load_convex(shapes, geom, i):
    """The core of shape `i`."""
    kind = shapes.shape_type[i]
    size = Vec3(shapes.shape_size[i, 0], shapes.shape_size[i, 1], shapes.shape_size[i, 2])
    radius = 0.0
    if kind == SPHERE or kind == CAPSULE:
        radius = size.x
    if kind == ELLIPSOID:
        # least^2 / largest
        least = minimum(size.x, minimum(size.y, size.z))
        radius = _ROLLING * least * least / maximum(size.x, maximum(size.y, size.z))
    first = 0
    count = 0
    row = shapes.shape_geom[i]
    if kind == HULL:
        first = geom[row, VERTEX_FIRST]
        count = geom[row, VERTEX_COUNT]
    return Convex(kind, size, radius, first, count, row)


@inline
def core_box(shape):
    """Half sizes of the box around a shape that is not loose vertices, radius included."""
    kind, size = shape.kind, shape.size
    if kind == BOX or kind == ELLIPSOID or kind == HULL:
        return size
    if kind == CAPSULE:
        return Vec3(size.x, size.x, size.y + size.x)
    if kind == SPHERE:
        return Vec3(size.x, size.x, size.x)
    return Vec3(size.x, size.x, size.y)


@inline
def _cell(x):
    """The cell of a coordinate from -1 to 1 on a face of the cube of directions; NaN counts as -1."""
    return max(0, min(START_SIDE - 1, int((x + 1.0) * (0.5 * START_SIDE))))


@inline
def direction_cell(d):
    """The cell of a direction on the cube around the origin: by face, then along its two sides."""
    x, y, z = absolute(d.x), absolute(d.y), absolute(d.z)
    main, u, v, face = d.z, d.x, d.y, 4
    if x >= y and x >= z:
        main, u, v, face = d.x, d.y, d.z, 0
    elif y >= z:
        main, u, v, face = d.y, d.z, d.x, 2
    length = absolute(main)
    k = 1.0 / where(length > 0.0, length, 1.0)
    if main < 0.0:
        face += 1
    return (face * START_SIDE + _cell(u * k)) * START_SIDE + _cell(v * k)


@inline
def hull_support(hulls, first, count, row, d):
    """The vertex of a hull farthest along `d`, by number.

    Climbing starts at the vertex that is farthest in the middle of the cell of `d`, a few edges away.
    """
    vertex = hulls.vertex
    best = first
    if count <= CLIMB:
        reach = vertex[first, 0] * d.x + vertex[first, 1] * d.y + vertex[first, 2] * d.z
        for k in range(first + 1, first + count):
            value = vertex[k, 0] * d.x + vertex[k, 1] * d.y + vertex[k, 2] * d.z
            if value > reach:
                reach = value
                best = k
        return best
    best = hulls.start[row, direction_cell(d)]
    reach = vertex[best, 0] * d.x + vertex[best, 1] * d.y + vertex[best, 2] * d.z
    # every step goes strictly up, so there are fewer steps than vertices
    for _ in range(count):
        here = best
        for e in range(hulls.near_start[here], hulls.near_start[here + 1]):
            k = hulls.near[e]
            value = vertex[k, 0] * d.x + vertex[k, 1] * d.y + vertex[k, 2] * d.z
            if value > reach:
                reach = value
                best = k
        if best == here:
            break
    return best


@inline
def cone_apex(size, rho, z):
    """Whether the apex of a cone is its farthest point in a direction: `rho` across, `z` along its axis."""
    return size.y * z > size.x * rho - size.y * z


@inline
def support(shape, hulls, work, d):
    """The farthest point of a convex core along `d` (any length), in the shape's frame."""
    kind, size = shape.kind, shape.size
    if kind == BOX:
        return Vec3(
            where(d.x < 0.0, -size.x, size.x),
            where(d.y < 0.0, -size.y, size.y),
            where(d.z < 0.0, -size.z, size.z),
        )
    if kind == CAPSULE:
        return Vec3(0.0, 0.0, where(d.z < 0.0, -size.y, size.y))
    if kind == SPHERE:
        return Vec3(0.0, 0.0, 0.0)
    if kind == HULL:
        k = hull_support(hulls, shape.first, shape.count, shape.row, d)
        return Vec3(hulls.vertex[k, 0], hulls.vertex[k, 1], hulls.vertex[k, 2])
    if kind == LOOSE:
        best = shape.first
        reach = work[best] * d.x + work[best + 1] * d.y + work[best + 2] * d.z
        for k in range(1, shape.count):
            at = shape.first + 3 * k
            value = work[at] * d.x + work[at + 1] * d.y + work[at + 2] * d.z
            if value > reach:
                reach = value
                best = at
        return Vec3(work[best], work[best + 1], work[best + 2])
    if kind == ELLIPSOID:
        # S^2 d / |S d| - r d / |d|
        x, y, z = size.x * d.x, size.y * d.y, size.z * d.z
        n2 = x * x + y * y + z * z
        if n2 < TINY:
            return Vec3(size.x - shape.radius, 0.0, 0.0)
        k = 1.0 / sqrt(n2)
        r = shape.radius / sqrt(d.x * d.x + d.y * d.y + d.z * d.z)
        return Vec3((size.x * k * x) - r * d.x, (size.y * k * y) - r * d.y, (size.z * k * z) - r * d.z)
    # cylinder and cone: a disc, or the apex
    rho = sqrt(d.x * d.x + d.y * d.y)
    ratio = size.x / where(rho > 1e-75, rho, 1.0)
    x, y = d.x * ratio, d.y * ratio
    if rho <= 1e-75:
        x, y = size.x, 0.0
    if kind == CONE:
        if cone_apex(size, rho, d.z):
            return Vec3(0.0, 0.0, size.y)
        return Vec3(x, y, -size.y)
    return Vec3(x, y, where(d.z < 0.0, -size.y, size.y))
