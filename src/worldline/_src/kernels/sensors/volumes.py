# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Volumes of sites: whether they contain a point, and whether a ray meets them; 1 or 0.

Points and directions are in the frame of the site. Kinds are those of the collision tables.
"""

from __future__ import annotations

from worldline._src.jit import inline
from worldline._src.kernels.narrowphase.tables import BOX, CAPSULE, CYLINDER, ELLIPSOID, SPHERE
from worldline._src.scalar.ops import absolute, constant, maximum, minimum, sqrt, where
from worldline._src.spatial.vec3 import Vec3, dot

_FAR = 1e300


@inline
def _is_at_most(a, b):
    one = constant(1.0, a)
    return where(a <= b, one, 0.0 * one)


@inline
def contains(kind, size, p):
    """1 where a volume contains a point."""
    if kind == SPHERE:
        # |p| <= r
        return _is_at_most(dot(p, p), size.x * size.x)
    if kind == ELLIPSOID:
        # (x/a)^2 + (y/b)^2 + (z/c)^2 <= 1
        x, y, z = p.x * (1.0 / size.x), p.y * (1.0 / size.y), p.z * (1.0 / size.z)
        return _is_at_most(x * x + y * y + z * z, 1.0)
    if kind == BOX:
        # |x| <= a, |y| <= b, |z| <= c
        inside = _is_at_most(absolute(p.x), size.x) * _is_at_most(absolute(p.y), size.y)
        return inside * _is_at_most(absolute(p.z), size.z)
    if kind == CYLINDER:
        # x^2 + y^2 <= r^2, |z| <= l
        return _is_at_most(p.x * p.x + p.y * p.y, size.x * size.x) * _is_at_most(absolute(p.z), size.y)
    # capsule: x^2 + y^2 + max(|z| - l, 0)^2 <= r^2
    beyond = maximum(absolute(p.z) - size.y, 0.0)
    return _is_at_most(p.x * p.x + p.y * p.y + beyond * beyond, size.x * size.x)


@inline
def _slab(x, d, half):
    """Where a ray x + t d is between the planes at +-half: (first, last), empty when first > last."""
    far = constant(_FAR, x)
    runs = absolute(d) > 0.0
    inverse = 1.0 / where(runs, d, constant(1.0, d))
    # t = (+-half - x) / d; a ray along the planes is between them always or never
    a, b = (-half - x) * inverse, (half - x) * inverse
    inside = absolute(x) <= half
    return (
        where(runs, minimum(a, b), where(inside, -far, far)),
        where(runs, maximum(a, b), where(inside, far, -far)),
    )


@inline
def _ball(a, b, c):
    """Where a t^2 + 2 b t + c <= 0: (first, last), empty when first > last."""
    # t = (-b -+ sqrt(b^2 - a c)) / a; without a direction the sign of c decides
    far, square = constant(_FAR, a), b * b - a * c
    runs, meets = a > 0.0, square >= 0.0
    root = sqrt(maximum(square, 0.0))
    inverse = 1.0 / where(runs, a, constant(1.0, a))
    first, last = (-b - root) * inverse, (-b + root) * inverse
    inside = c <= 0.0
    first = where(runs, where(meets, first, far), where(inside, -far, far))
    return first, where(runs, where(meets, last, -far), where(inside, far, -far))


@inline
def _ahead(first, last):
    """1 where a span is not empty and not behind."""
    return _is_at_most(first, last) * _is_at_most(0.0 * last, last)


@inline
def _unit_ball(p, d):
    return _ball(dot(d, d), dot(p, d), dot(p, p) - 1.0)


@inline
def meets(kind, size, p, d):
    """1 where a ray meets a volume or starts in it."""
    if kind == SPHERE or kind == ELLIPSOID:
        x = 1.0 / size.x
        y, z = (x, x) if kind == SPHERE else (1.0 / size.y, 1.0 / size.z)
        # scaled to the unit ball: |S^-1 (p + t d)| <= 1
        first, last = _unit_ball(Vec3(p.x * x, p.y * y, p.z * z), Vec3(d.x * x, d.y * y, d.z * z))
        return _ahead(first, last)
    if kind == BOX:
        # intersection of three slabs
        a, b = _slab(p.x, d.x, size.x)
        first, last = _slab(p.y, d.y, size.y)
        a, b = maximum(a, first), minimum(b, last)
        first, last = _slab(p.z, d.z, size.z)
        return _ahead(maximum(a, first), minimum(b, last))
    # the tube between two planes, and for capsules a ball at either end
    inverse = 1.0 / size.x
    x, y, u, v = p.x * inverse, p.y * inverse, d.x * inverse, d.y * inverse
    a, b = _ball(u * u + v * v, x * u + y * v, x * x + y * y - 1.0)
    first, last = _slab(p.z, d.z, size.y)
    found = _ahead(maximum(a, first), minimum(b, last))
    if kind == CAPSULE:
        w = d.z * inverse
        for side in range(2):
            z = (p.z + size.y if side == 0 else p.z - size.y) * inverse
            first, last = _unit_ball(Vec3(x, y, z), Vec3(u, v, w))
            found = maximum(found, _ahead(first, last))
    return found
