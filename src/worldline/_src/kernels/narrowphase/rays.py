# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rays against every shape, in the shape's frame.

`ray_shape` returns where the ray from `o` along `d` (any length) first meets the surface, as a multiple of
`d`, the outward normal there, and the triangle of a surface. A ray that starts inside a solid meets it at
once: parameter 0, normal against the ray. No meeting within `limit` is a parameter above 1e299.
"""

from __future__ import annotations

from worldline._src.jit import inline, outline
from worldline._src.kernels.broadphase.bvh import ray_surface
from worldline._src.kernels.narrowphase.tables import (
    BOX,
    CAPSULE,
    CONE,
    CYLINDER,
    ELLIPSOID,
    FACE_COUNT,
    FACE_FIRST,
    HULL,
    MESH,
    NODE_FIRST,
    PLANE,
    SPHERE,
    TRI_FIRST,
)
from worldline._src.kernels.narrowphase.values import TINY, add_scaled
from worldline._src.scalar.ops import absolute, sqrt
from worldline._src.spatial.vec3 import Vec3, cross, dot, scale

MISS = 1.0e300


@inline
def _against(d):
    """The unit vector against a ray."""
    n2 = dot(d, d)
    return scale(d, -1.0 / sqrt(n2)) if n2 > TINY else Vec3(0.0, 0.0, 1.0)


@inline
def _sphere(o, d, radius):
    """Where a ray enters a sphere about the origin, MISS otherwise; negative when it starts inside."""
    # from the point of the ray closest to the centre, so that far spheres keep their digits
    dd = dot(d, d)
    middle = -dot(o, d) / dd
    q = add_scaled(o, d, middle)
    rest = radius * radius - dot(q, q)
    if rest < 0.0:
        return MISS
    return middle - sqrt(rest / dd)


@inline
def _ray_sphere(o, d, radius):
    if dot(o, o) < radius * radius:
        return 0.0, _against(d)
    t = _sphere(o, d, radius)
    if t < 0.0 or t > 1e299:
        return MISS, d
    return t, scale(add_scaled(o, d, t), 1.0 / radius)


@inline
def _ray_box(o, d, size):
    if absolute(o.x) < size.x and absolute(o.y) < size.y and absolute(o.z) < size.z:
        return 0.0, _against(d)
    near, far = -MISS, MISS
    n = Vec3(0.0, 0.0, 0.0)
    for k in range(3):
        x, v, h = o.x, d.x, size.x
        if k == 1:
            x, v, h = o.y, d.y, size.y
        elif k == 2:
            x, v, h = o.z, d.z, size.z
        if v == 0.0:
            if absolute(x) > h:
                return MISS, d
            continue
        s = -1.0 if v > 0.0 else 1.0
        enter, leave = (s * h - x) / v, (-s * h - x) / v
        if enter > near:
            near = enter
            n = Vec3(s if k == 0 else 0.0, s if k == 1 else 0.0, s if k == 2 else 0.0)
        if leave < far:
            far = leave
    if near > far or near < 0.0:
        return MISS, d
    return near, n


@inline
def _tube(o, d, radius):
    """Where a ray enters an infinite cylinder about z, or MISS."""
    dd = d.x * d.x + d.y * d.y
    if dd < TINY:
        return MISS
    middle = -(o.x * d.x + o.y * d.y) / dd
    x, y = o.x + middle * d.x, o.y + middle * d.y
    rest = radius * radius - (x * x + y * y)
    return middle - sqrt(rest / dd) if rest >= 0.0 else MISS


@inline
def _wall(o, d, radius, half):
    """Where a ray enters the wall of a cylinder about z, or MISS, and the normal there."""
    best, n = MISS, d
    t = _tube(o, d, radius)
    if 0.0 <= t < 1e299 and absolute(o.z + t * d.z) <= half:
        best, n = t, Vec3((o.x + t * d.x) / radius, (o.y + t * d.y) / radius, 0.0)
    return best, n


@inline
def _ray_capsule(o, d, radius, half):
    z = o.z - half if o.z > half else (o.z + half if o.z < -half else 0.0)
    if o.x * o.x + o.y * o.y + z * z < radius * radius:
        return 0.0, _against(d)
    best, n = _wall(o, d, radius, half)
    for k in range(2):
        h = half if k == 0 else -half
        e = Vec3(o.x, o.y, o.z - h)
        t = _sphere(e, d, radius)
        # only the outer half of a cap is surface
        if 0.0 <= t < best and (e.z + t * d.z) * h >= 0.0:
            best, n = t, scale(add_scaled(e, d, t), 1.0 / radius)
    return best, n


@inline
def _cap(o, d, z, s, radius):
    """Where a ray meets a disc at height z with outward normal s along z, or MISS."""
    if d.z * s >= 0.0:
        return MISS
    t = (z - o.z) / d.z
    x, y = o.x + t * d.x, o.y + t * d.y
    return t if t >= 0.0 and x * x + y * y <= radius * radius else MISS


@inline
def _ray_cylinder(o, d, radius, half):
    if absolute(o.z) < half and o.x * o.x + o.y * o.y < radius * radius:
        return 0.0, _against(d)
    best, n = _wall(o, d, radius, half)
    for k in range(2):
        s = 1.0 if k == 0 else -1.0
        t = _cap(o, d, s * half, s, radius)
        if t < best:
            best, n = t, Vec3(0.0, 0.0, s)
    return best, n


@inline
def _ray_cone(o, d, radius, half):
    # the slant: x^2 + y^2 = k^2 (half - z)^2, below the apex
    k = 0.5 * radius / half
    drop = half - o.z
    if -half < o.z < half and o.x * o.x + o.y * o.y < k * k * drop * drop:
        return 0.0, _against(d)
    best, n = MISS, d
    a = d.x * d.x + d.y * d.y - k * k * d.z * d.z
    b = o.x * d.x + o.y * d.y + k * k * drop * d.z
    c = o.x * o.x + o.y * o.y - k * k * drop * drop
    rest = b * b - a * c
    if rest >= 0.0:
        # both roots without cancellation
        q = -(b + sqrt(rest)) if b >= 0.0 else -(b - sqrt(rest))
        for r in range(2):
            t = MISS
            if r == 0 and a != 0.0:
                t = q / a
            elif r == 1 and q != 0.0:
                t = c / q
            z = o.z + t * d.z
            if 0.0 <= t < best and -half <= z <= half:
                x, y = o.x + t * d.x, o.y + t * d.y
                rho = sqrt(x * x + y * y)
                slant = sqrt(1.0 + k * k)
                w = 1.0 / (rho * slant) if rho > 0.0 else 0.0
                m = Vec3(x * w, y * w, k / slant)
                if dot(m, d) < 0.0:
                    best, n = t, m
    t = _cap(o, d, -half, -1.0, radius)
    if t < best:
        best, n = t, Vec3(0.0, 0.0, -1.0)
    return best, n


@inline
def _ray_ellipsoid(o, d, size):
    u = Vec3(o.x / size.x, o.y / size.y, o.z / size.z)
    v = Vec3(d.x / size.x, d.y / size.y, d.z / size.z)
    if dot(u, u) < 1.0:
        return 0.0, _against(d)
    t = _sphere(u, v, 1.0)
    if t < 0.0 or t > 1e299:
        return MISS, d
    w = add_scaled(u, v, t)
    n = Vec3(w.x / size.x, w.y / size.y, w.z / size.z)
    return t, scale(n, 1.0 / sqrt(dot(n, n)))


@inline
def _ray_hull(geoms, g, o, d):
    """Clip the ray by the face planes of a hull."""
    plane, first = geoms.face_plane, geoms.geom[g, FACE_FIRST]
    near, far, face = -MISS, MISS, -1
    inside = True
    for f in range(first, first + geoms.geom[g, FACE_COUNT]):
        n = Vec3(plane[f, 0], plane[f, 1], plane[f, 2])
        h, speed = dot(n, o) - plane[f, 3], dot(n, d)
        if h >= 0.0:
            inside = False
        if speed == 0.0:
            if h > 0.0:
                return MISS, d
            continue
        t = -h / speed
        if speed < 0.0:
            if t > near:
                near, face = t, f
        elif t < far:
            far = t
    if inside:
        return 0.0, _against(d)
    if near > far or near < 0.0 or face < 0:
        return MISS, d
    return near, Vec3(plane[face, 0], plane[face, 1], plane[face, 2])


@outline
def ray_shape(kind, size, g, geoms, surfaces, o, d, limit, stack):
    """Where a ray meets a shape: (parameter, outward unit normal, triangle or -1)."""
    t, n, tri = MISS, d, -1
    if kind == SPHERE:
        t, n = _ray_sphere(o, d, size.x)
    elif kind == BOX:
        t, n = _ray_box(o, d, size)
    elif kind == CAPSULE:
        t, n = _ray_capsule(o, d, size.x, size.y)
    elif kind == CYLINDER:
        t, n = _ray_cylinder(o, d, size.x, size.y)
    elif kind == CONE:
        t, n = _ray_cone(o, d, size.x, size.y)
    elif kind == ELLIPSOID:
        t, n = _ray_ellipsoid(o, d, size)
    elif kind == PLANE:
        n = Vec3(0.0, 0.0, 1.0)
        if o.z < 0.0:
            t, n = 0.0, _against(d)
        elif d.z < 0.0:
            t = -o.z / d.z
    elif kind == HULL:
        t, n = _ray_hull(geoms, g, o, d)
    elif kind >= MESH:
        t, tri = ray_surface(
            surfaces, surfaces.geom[g, NODE_FIRST], surfaces.geom[g, TRI_FIRST], o, d, limit, stack
        )
        if tri < 0:
            return MISS, d, -1
        edge = surfaces.tri_edge
        n = cross(
            Vec3(edge[tri, 3], edge[tri, 4], edge[tri, 5]), Vec3(edge[tri, 6], edge[tri, 7], edge[tri, 8])
        )
        n = scale(n, 1.0 / sqrt(dot(n, n)))
        # a surface has two sides; the normal is that of the side which was hit
        if dot(n, d) > 0.0:
            n = scale(n, -1.0)
        tri = surfaces.tri[tri, 3]
    if t > limit:
        return MISS, d, -1
    return t, n, tri
