# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The face of a shape that looks in a direction, as a polygon.

Flat faces are polygons, the side of a cylinder, a cone or a capsule is a segment, round shapes have none.
Round rims are octagons with one corner at the lowest point.
A polygon is rows of five numbers in the work space: corner (3), its feature, the edge that starts there.
"""

from __future__ import annotations

from worldline._src.jit import inline, outline
from worldline._src.kernels.narrowphase.support import LOOSE
from worldline._src.kernels.narrowphase.tables import BOX, CAPSULE, CONE, CYLINDER, HULL
from worldline._src.kernels.narrowphase.values import TINY
from worldline._src.scalar.ops import absolute, sqrt, where
from worldline._src.spatial.vec3 import Vec3, cross, dot, scale, sub

MAX_CORNERS = 64
"""Corners of a face beyond this number are thinned out."""
ROW = 5


@inline
def _put(work, at, k, x, y, z):
    row = at + ROW * k
    work[row] = x
    work[row + 1] = y
    work[row + 2] = z
    work[row + 3] = k
    work[row + 4] = k


@inline
def _box_face(size, n, work, at):
    x, y, z = absolute(n.x), absolute(n.y), absolute(n.z)
    if x >= y and x >= z:
        s = where(n.x < 0.0, -1.0, 1.0)
        for k in range(4):
            u = where(k == 1 or k == 2, size.y, -size.y) * s
            v = where(k >= 2, size.z, -size.z)
            _put(work, at, k, s * size.x, u, v)
        return 4, Vec3(s, 0.0, 0.0), 0 if s < 0.0 else 1
    if y >= z:
        s = where(n.y < 0.0, -1.0, 1.0)
        for k in range(4):
            u = where(k == 1 or k == 2, size.z, -size.z) * s
            v = where(k >= 2, size.x, -size.x)
            _put(work, at, k, v, s * size.y, u)
        return 4, Vec3(0.0, s, 0.0), 2 if s < 0.0 else 3
    s = where(n.z < 0.0, -1.0, 1.0)
    for k in range(4):
        u = where(k == 1 or k == 2, size.x, -size.x) * s
        v = where(k >= 2, size.y, -size.y)
        _put(work, at, k, u, v, s * size.z)
    return 4, Vec3(0.0, 0.0, s), 4 if s < 0.0 else 5


@inline
def _disc(radius, z, s, n, work, at):
    """An octagon in a disc whose outward normal is s along z; the first corner lies toward `n`."""
    rho = sqrt(n.x * n.x + n.y * n.y)
    cx, cy = 1.0, 0.0
    if rho > 1e-6:
        cx, cy = n.x / rho, n.y / rho
    h = 0.7071067811865476
    for k in range(8):
        quarter = k // 2
        a, b = (1.0, 0.0) if k % 2 == 0 else (h, h)
        if quarter == 1:
            a, b = -b, a
        elif quarter == 2:
            a, b = -a, -b
        elif quarter == 3:
            a, b = b, -a
        b *= s
        _put(work, at, k, radius * (cx * a - cy * b), radius * (cy * a + cx * b), z)


@inline
def _cylinder_face(size, n, work, at):
    rho = sqrt(n.x * n.x + n.y * n.y)
    if absolute(n.z) >= rho:
        s = where(n.z < 0.0, -1.0, 1.0)
        _disc(size.x, s * size.y, s, n, work, at)
        return 8, Vec3(0.0, 0.0, s), 0 if s < 0.0 else 1
    x, y = n.x / rho, n.y / rho
    _put(work, at, 0, size.x * x, size.x * y, -size.y)
    _put(work, at, 1, size.x * x, size.x * y, size.y)
    return 2, Vec3(x, y, 0.0), 2


@inline
def _cone_face(size, n, work, at):
    rho = sqrt(n.x * n.x + n.y * n.y)
    slant = sqrt(size.x * size.x + 4.0 * size.y * size.y)
    nr, nz = 2.0 * size.y / slant, size.x / slant
    if -n.z >= rho * nr + n.z * nz:
        _disc(size.x, -size.y, -1.0, n, work, at)
        return 8, Vec3(0.0, 0.0, -1.0), 0
    x, y = 1.0, 0.0
    if rho > 1e-9:
        x, y = n.x / rho, n.y / rho
    _put(work, at, 0, size.x * x, size.x * y, -size.y)
    _put(work, at, 1, 0.0, 0.0, size.y)
    return 2, Vec3(x * nr, y * nr, nz), 1


@inline
def _hull_face(shape, geom_row, faces, n, work, at):
    first, count = faces.geom[geom_row, 2], faces.geom[geom_row, 3]
    best, value = first, -2.0
    for f in range(first, first + count):
        plane = faces.face_plane
        along = plane[f, 0] * n.x + plane[f, 1] * n.y + plane[f, 2] * n.z
        if along > value:
            best, value = f, along
    start, end = faces.face_start[best], faces.face_start[best + 1]
    stride = 1 + (end - start - 1) // MAX_CORNERS
    corners = 0
    for e in range(start, end, stride):
        v = faces.face_corner[e]
        _put(work, at, corners, faces.vertex[v, 0], faces.vertex[v, 1], faces.vertex[v, 2])
        corners += 1
    plane = faces.face_plane
    return corners, Vec3(plane[best, 0], plane[best, 1], plane[best, 2]), best - first


@inline
def _loose_face(shape, n, work, at):
    """The triangle of the first three loose vertices, either side."""
    o = shape.first
    a = Vec3(work[o], work[o + 1], work[o + 2])
    b = Vec3(work[o + 3], work[o + 4], work[o + 5])
    c = Vec3(work[o + 6], work[o + 7], work[o + 8])
    m = cross(sub(b, a), sub(c, a))
    n2 = dot(m, m)
    if n2 < TINY:
        return 0, n, 0
    m = scale(m, 1.0 / sqrt(n2))
    _put(work, at, 0, a.x, a.y, a.z)
    if dot(m, n) >= 0.0:
        _put(work, at, 1, b.x, b.y, b.z)
        _put(work, at, 2, c.x, c.y, c.z)
        return 3, m, 0
    if shape.count > 3:
        # the sides and the bottom of a prism are inside the ground
        return 0, n, 0
    _put(work, at, 1, c.x, c.y, c.z)
    _put(work, at, 2, b.x, b.y, b.z)
    return 3, scale(m, -1.0), 1


@outline
def face_polygon(shape, geom_row, faces, n, work, at):
    """Corners of the face of `shape` toward the unit vector `n`, its outward normal and its number.

    Everything in the shape's frame. Corners run counter-clockwise seen from outside; 2 are a segment, fewer
    mean that the shape is round there.
    """
    kind, size = shape.kind, shape.size
    if kind == BOX:
        return _box_face(size, n, work, at)
    if kind == HULL:
        return _hull_face(shape, geom_row, faces, n, work, at)
    if kind == LOOSE:
        return _loose_face(shape, n, work, at)
    if kind == CYLINDER:
        return _cylinder_face(size, n, work, at)
    if kind == CONE:
        return _cone_face(size, n, work, at)
    if kind == CAPSULE:
        rho = sqrt(n.x * n.x + n.y * n.y)
        if rho > 1e-3:
            _put(work, at, 0, 0.0, 0.0, -size.y)
            _put(work, at, 1, 0.0, 0.0, size.y)
            return 2, Vec3(n.x / rho, n.y / rho, 0.0), 0
    return 0, n, 0
