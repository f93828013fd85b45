# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Two boxes: the axis of least overlap among the fifteen that can separate them.

Exact when they overlap. When they do not, it is a lower bound of the distance that costs a tenth of
finding the distance, and enough to leave most pairs alone.
"""

from __future__ import annotations

from worldline._src.jit import inline, outline
from worldline._src.kernels.narrowphase.values import add_scaled, negative
from worldline._src.scalar.ops import absolute, sqrt, where
from worldline._src.spatial.rotation import rotate, rotate_back
from worldline._src.spatial.vec3 import Vec3, add, cross, dot, scale, sub

_PREFER_FACES = 1.0e-9
"""An edge pair must beat the faces by this much of the boxes' size, so that rounding cannot prefer it."""


@inline
def column(R, k):
    """Column `k` of a matrix."""
    if k == 0:
        return Vec3(R.xx, R.yx, R.zx)
    if k == 1:
        return Vec3(R.xy, R.yy, R.zy)
    return Vec3(R.xz, R.yz, R.zz)


@inline
def component(v, k):
    """Component `k` of a vector."""
    return v.x if k == 0 else (v.y if k == 1 else v.z)


@inline
def unit(k):
    """The unit vector along axis `k`."""
    return Vec3(1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)


@outline
def box_axes(a, b, R, p, limit):
    """The best separating axis of boxes with half sizes `a` and `b`, B at pose R, p in A.

    Returns (separation, unit normal from A to B in A's frame, axis): axes 0 to 2 are faces of A, 3 to 5
    faces of B, 6 + 3 i + j the edge pair (i, j). Stops early once the separation exceeds `limit`.
    """
    q = rotate_back(R, p)
    best, axis = -1e300, 0
    for k in range(3):
        c = Vec3(R.xx, R.xy, R.xz)
        if k == 1:
            c = Vec3(R.yx, R.yy, R.yz)
        elif k == 2:
            c = Vec3(R.zx, R.zy, R.zz)
        reach = b.x * absolute(c.x) + b.y * absolute(c.y) + b.z * absolute(c.z)
        gap = absolute(component(p, k)) - component(a, k) - reach
        if gap > best:
            best, axis = gap, k
    for k in range(3):
        c = column(R, k)
        reach = a.x * absolute(c.x) + a.y * absolute(c.y) + a.z * absolute(c.z)
        gap = absolute(component(q, k)) - component(b, k) - reach
        if gap > best:
            best, axis = gap, 3 + k
    if best <= limit:
        bar = best + _PREFER_FACES * (a.x + a.y + a.z + b.x + b.y + b.z)
        for j in range(3):
            u = column(R, j)
            for i in range(3):
                m = cross(unit(i), u)
                n2 = dot(m, m)
                if n2 < 1e-12:
                    # parallel edges: a face axis says the same
                    continue
                m = scale(m, 1.0 / sqrt(n2))
                mb = rotate_back(R, m)
                reach = a.x * absolute(m.x) + a.y * absolute(m.y) + a.z * absolute(m.z)
                reach += b.x * absolute(mb.x) + b.y * absolute(mb.y) + b.z * absolute(mb.z)
                gap = absolute(dot(m, p)) - reach
                if gap > bar:
                    best, bar, axis = gap, gap, 6 + 3 * i + j
    n = _axis_vector(R, axis)
    return best, n if dot(n, p) >= 0.0 else negative(n), axis


@inline
def _axis_vector(R, axis):
    if axis < 3:
        return unit(axis)
    if axis < 6:
        return column(R, axis - 3)
    m = cross(unit((axis - 6) // 3), column(R, (axis - 6) % 3))
    return scale(m, 1.0 / sqrt(dot(m, m)))


@inline
def box_edge_points(a, b, R, p, n, axis):
    """Closest points of the two edges of an edge pair, on A and on B, in A's frame."""
    i, j = (axis - 6) // 3, (axis - 6) % 3
    u, v = unit(i), column(R, j)
    nb = negative(rotate_back(R, n))
    # middles of the edges: the far corners along the normal, without the edge's own coordinate
    ca = Vec3(where(n.x < 0.0, -a.x, a.x), where(n.y < 0.0, -a.y, a.y), where(n.z < 0.0, -a.z, a.z))
    cb = Vec3(where(nb.x < 0.0, -b.x, b.x), where(nb.y < 0.0, -b.y, b.y), where(nb.z < 0.0, -b.z, b.z))
    ca = add_scaled(ca, u, -component(ca, i))
    cb = add_scaled(cb, unit(j), -component(cb, j))
    cb = add(p, rotate(R, cb))
    r = sub(cb, ca)
    uv = dot(u, v)
    determinant = 1.0 - uv * uv
    s = (dot(u, r) - uv * dot(v, r)) / determinant
    t = (uv * dot(u, r) - dot(v, r)) / determinant
    return add_scaled(ca, u, s), add_scaled(cb, v, t)


@inline
def box_corner_points(b, R, p, n, gap):
    """B's farthest corner against a face normal `n`, and its foot on the face of A, in A's frame."""
    d = negative(rotate_back(R, n))
    c = Vec3(where(d.x < 0.0, -b.x, b.x), where(d.y < 0.0, -b.y, b.y), where(d.z < 0.0, -b.z, b.z))
    corner = add(p, rotate(R, c))
    return add_scaled(corner, n, -gap), corner
