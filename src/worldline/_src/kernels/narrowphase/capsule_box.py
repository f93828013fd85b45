# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A capsule against a box: the closest point of a segment in closed form.

The squared distance of a point that runs along the segment is convex and made of parabolas; its slope is a
rising broken line whose root Newton's method meets after a few pieces. A segment that cuts the box leaves it
by one of six directions: three faces, and three edges across the segment.
"""

from __future__ import annotations

from worldline._src.jit import inline, outline
from worldline._src.kernels.narrowphase.box_box import component, unit
from worldline._src.kernels.narrowphase.values import Closest, add_scaled, negative
from worldline._src.scalar.ops import absolute, clamp, sqrt, where
from worldline._src.spatial.rotation import rotate, rotate_back
from worldline._src.spatial.vec3 import Vec3, add, cross, dot, scale, sub

_PIECES = 48
"""Bound on the steps; the broken line has seven pieces, and 3 steps are usual."""
_PREFER_FACES = 1.0e-9
"""An edge must beat the faces by this much of the sizes, so that rounding cannot prefer it."""


@inline
def _excess(x, h):
    """How far a coordinate is beyond the faces of a box."""
    return x - clamp(x, -h, h)


@inline
def _slope(h, c, u, t):
    """Half the slope of the squared distance at parameter t, and its own slope."""
    x, y, z = _excess(c.x + t * u.x, h.x), _excess(c.y + t * u.y, h.y), _excess(c.z + t * u.z, h.z)
    bend = where(x != 0.0, u.x * u.x, 0.0) + where(y != 0.0, u.y * u.y, 0.0) + where(z != 0.0, u.z * u.z, 0.0)
    return x * u.x + y * u.y + z * u.z, bend


@inline
def nearest_on_segment(h, c, u):
    """The parameter t in [-1, 1] for which c + t u is closest to a box of half sizes `h`."""
    at_low, _ = _slope(h, c, u, -1.0)
    at_high, _ = _slope(h, c, u, 1.0)
    if at_low >= 0.0:
        return -1.0
    if at_high <= 0.0:
        return 1.0
    low, high = -1.0, 1.0
    t = (at_low + at_high) / (at_low - at_high)
    for _ in range(_PIECES):
        slope, bend = _slope(h, c, u, t)
        if slope == 0.0:
            break
        if slope > 0.0:
            high = t
        else:
            low = t
        new = t - slope / where(bend > 0.0, bend, 1.0)
        if not low < new < high:
            # Newton's step from a far piece overshoots; pieces are few, so halving finds the right one
            new = 0.5 * (low + high)
        if absolute(new - t) <= 1e-16:
            break
        t = new
    return t


@inline
def _clear_stretch(h, c, u, axis):
    """The middle of the parameters whose points lie over the face across `axis`."""
    low, high = -1.0, 1.0
    for k in range(3):
        x, v, s = component(c, k), component(u, k), component(h, k)
        if k == axis or v == 0.0:
            continue
        a, b = (-s - x) / v, (s - x) / v
        a, b = (a, b) if a < b else (b, a)
        low, high = (a if a > low else low), (b if b < high else high)
    return clamp(0.5 * (low + high), -1.0, 1.0)


@outline
def _way_out(h, c, u):
    """Least way of a segment out of a box: (depth, direction, point of the segment, point of the box)."""
    best, axis = -1e300, 0
    for k in range(3):
        gap = absolute(component(c, k)) - component(h, k) - absolute(component(u, k))
        if gap > best:
            best, axis = gap, k
    bar = best + _PREFER_FACES * (h.x + h.y + h.z)
    uu = dot(u, u)
    for k in range(3):
        m = cross(unit(k), u)
        mm = dot(m, m)
        if mm <= 1e-12 * uu or mm <= 0.0:
            # along an axis of the box: the faces say the same
            continue
        m = scale(m, 1.0 / sqrt(mm))
        gap = absolute(dot(m, c)) - (h.x * absolute(m.x) + h.y * absolute(m.y) + h.z * absolute(m.z))
        if gap > bar:
            best, bar, axis = gap, gap, 3 + k
    if axis < 3:
        s = -1.0 if component(c, axis) < 0.0 else 1.0
        out = scale(unit(axis), s)
        lean = s * component(u, axis)
        t = -1.0 if lean > 0.0 else 1.0
        if absolute(lean) <= 1e-9 * (h.x + h.y + h.z):
            t = _clear_stretch(h, c, u, axis)
        x = add_scaled(c, u, t)
        return best, out, t, add_scaled(x, out, -best)
    k = axis - 3
    m = cross(unit(k), u)
    m = scale(m, 1.0 / sqrt(dot(m, m)))
    out = m if dot(m, c) >= 0.0 else negative(m)
    edge = Vec3(where(out.x < 0.0, -h.x, h.x), where(out.y < 0.0, -h.y, h.y), where(out.z < 0.0, -h.z, h.z))
    edge = add_scaled(edge, unit(k), -component(edge, k))
    r = sub(c, edge)
    v, along = component(u, k), component(r, k)
    t = -(dot(u, r) - v * along) / (uu - v * v)
    return best, out, t, add_scaled(edge, unit(k), along + t * v)


@inline
def capsule_box(radius, half, h, R, p):
    """Closest points, or the least way out, of a capsule and a box of half sizes `h` at pose R, p in it."""
    c = negative(rotate_back(R, p))
    u = scale(Vec3(R.zx, R.zy, R.zz), half)
    t = nearest_on_segment(h, c, u)
    x = add_scaled(c, u, t)
    gap = Vec3(_excess(x.x, h.x), _excess(x.y, h.y), _excess(x.z, h.z))
    n2 = dot(gap, gap)
    size = h.x + h.y + h.z + half
    if n2 > (1e-11 * size) ** 2:
        depth = sqrt(n2)
        out = scale(gap, 1.0 / depth)
        b = sub(x, gap)
    else:
        depth, out, t, b = _way_out(h, c, u)
    normal = negative(rotate(R, out))
    core = Vec3(0.0, 0.0, t * half)
    return Closest(depth - radius, normal, add_scaled(core, normal, radius), add(p, rotate(R, b)))
