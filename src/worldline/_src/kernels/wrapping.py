# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The shortest way of a taut string from one point to another around a sphere or a cylinder.

Both reduce to a circle: a sphere in the plane of its centre and the two points, a cylinder seen along its
axis, where the height is then shared out along the way. Around the circle the string leaves on a tangent,
follows an arc and leaves on a tangent again; of the two ways round it takes the shorter, or the other one
when a given side point lies opposite to the string. A side point within the shape makes the string pass
inside: it touches in one point.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, outline
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.trigonometry import atan2, sincos
from worldline._src.spatial.rotation import rotate, rotate_back
from worldline._src.spatial.vec3 import Vec3, add, cross, dot, scale, sub

_SMALL = 1e-15
_TOLERANCE = 1e-6
_ROUNDS = 20
_FULL_TURN = 6.283185307179586


class Wrap(NamedTuple):
    """Where a string touches, world frame, and the length of what lies on the shape; -1 when it is free."""

    first: Any
    last: Any
    length: Any


class _Arc(NamedTuple):
    """Touching points in the plane of the circle and the length between them, -1 for none."""

    x0: Any
    y0: Any
    x1: Any
    y1: Any
    length: Any


@inline
def _unit(a):
    n = dot(a, a) ** 0.5
    return scale(a, 1.0 / n) if n > _SMALL else a


@inline
def _meet(ax, ay, bx, by, cx, cy, dx, dy):
    """Whether the segments ab and cd cross."""
    # a + s (b - a) = c + t (d - c), by Cramer's rule
    det = (dy - cy) * (bx - ax) - (dx - cx) * (by - ay)
    if abs(det) < _SMALL:
        return False
    s = ((dx - cx) * (ay - cy) - (dy - cy) * (ax - cx)) / det
    t = ((bx - ax) * (ay - cy) - (by - ay) * (ax - cx)) / det
    return 0.0 <= s <= 1.0 and 0.0 <= t <= 1.0


@inline
def _arc(x0, y0, x1, y1, radius, way):
    """The arc with the centre to one side (way 1) or to the other (-1) of who walks from start to end."""
    # tangent points of the circle: t = (r^2 p -+ r sqrt(p^2 - r^2) p_perp) / p^2
    n0, n1, rr = x0 * x0 + y0 * y0, x1 * x1 + y1 * y1, radius * radius
    h0, h1 = way * radius * (n0 - rr) ** 0.5, way * radius * (n1 - rr) ** 0.5
    ax, ay = (x0 * rr + y0 * h0) / n0, (y0 * rr - x0 * h0) / n0
    bx, by = (x1 * rr - y1 * h1) / n1, (y1 * rr + x1 * h1) / n1
    # from a to b, against the clock for way -1
    turn = -way * atan2(ax * by - ay * bx, ax * bx + ay * by)
    if turn < 0.0:
        turn += _FULL_TURN
    return _Arc(ax, ay, bx, by, radius * turn)


@inline
def _opposite(x0, y0, x1, y1, sx, sy):
    """Whether a string between two points is in the way from a side point through the centre and on.

    Then -s is a sum of both points with factors that are not negative; else the string passes freely.
    """
    det = x0 * y1 - y0 * x1
    return det != 0.0 and (sy * x1 - sx * y1) * det >= 0.0 and (y0 * sx - x0 * sy) * det >= 0.0


@inline
def _around(x0, y0, x1, y1, radius, sided, sx, sy):
    """The way around a circle at the origin."""
    none = _Arc(x0, y0, x1, y1, -1.0)
    rr, ux, uy = radius * radius, x1 - x0, y1 - y0
    uu = ux * ux + uy * uy
    if x0 * x0 + y0 * y0 < rr or x1 * x1 + y1 * y1 < rr or uu < _SMALL:
        return none
    # nearest point of the segment to the centre: p_0 + s u, s = -p_0 . u / u^2 within 0 to 1
    along = min(max(-(ux * x0 + uy * y0) / uu, 0.0), 1.0)
    nx, ny = x0 + along * ux, y0 + along * uy
    misses = nx * nx + ny * ny > rr
    beyond = sided and _opposite(x0, y0, x1, y1, sx, sy)
    if misses and not beyond:
        return none
    best, merit = none, -1e300
    for k in range(2):
        made = _arc(x0, y0, x1, y1, radius, 1.0 - 2.0 * k)
        # the straight way would meet the circle: the near side is the shorter way, the far side the longer
        good = made.length if beyond and not misses else -made.length
        if not _meet(x0, y0, made.x0, made.y0, x1, y1, made.x1, made.y1) and good > merit:
            best, merit = made, good
    return best


@inline
def _asin(x):
    return atan2(x, max(1.0 - x * x, 0.0) ** 0.5)


@inline
def _through(x0, y0, x1, y1, radius):
    """The point of the inside of a circle where a string is reflected.

    With z the sine of the angle to the radius there, asin(A z) + asin(B z) - 2 asin(z) + G = 0, A and B the
    ratios of the radius to the distances and G the angle between the points [Newton's method from z = 1].
    """
    none = _Arc(x0, y0, x1, y1, -1.0)
    n0, n1 = (x0 * x0 + y0 * y0) ** 0.5, (x1 * x1 + y1 * y1) ** 0.5
    ux, uy = x1 - x0, y1 - y0
    uu = ux * ux + uy * uy
    if n0 <= radius or n1 <= radius:
        return none
    if uu > _SMALL:
        along = -(ux * x0 + uy * y0) / uu
        if 0.0 < along < 1.0:
            nx, ny = x0 + along * ux, y0 + along * uy
            if nx * nx + ny * ny <= radius * radius:
                return none
    # law of cosines: the angle G between the two points seen from the centre
    cosine = (n0 * n0 + n1 * n1 - uu) / (2.0 * n0 * n1)
    if cosine < -1.0 + _SMALL:
        return none
    # where Newton's method does not apply: the point of the circle below the midpoint
    mx, my = 0.5 * (x0 + x1), 0.5 * (y0 + y1)
    m = radius / max((mx * mx + my * my) ** 0.5, _SMALL)
    middle = _Arc(mx * m, my * m, mx * m, my * m, 0.0)
    if cosine > 1.0 - _SMALL:
        return middle
    A, B, G = radius / n0, radius / n1, atan2((1.0 - cosine * cosine) ** 0.5, cosine)
    z = 1.0 - 1e-7
    f = _asin(A * z) + _asin(B * z) - 2.0 * _asin(z) + G
    if f > 0.0:
        return middle
    rounds = 0
    while abs(f) > _TOLERANCE and rounds < _ROUNDS:
        # df/dz = A / sqrt(1 - A^2 z^2) + B / sqrt(1 - B^2 z^2) - 2 / sqrt(1 - z^2)
        slope = A / max(1.0 - A * A * z * z, _SMALL) ** 0.5 + B / max(1.0 - B * B * z * z, _SMALL) ** 0.5
        slope -= 2.0 / max(1.0 - z * z, _SMALL) ** 0.5
        if slope > -_SMALL or f > _TOLERANCE:
            return middle
        z -= f / slope
        f = _asin(A * z) + _asin(B * z) - 2.0 * _asin(z) + G
        rounds += 1
    if rounds >= _ROUNDS:
        return middle
    if x0 * y1 - y0 * x1 > 0.0:
        ex, ey, angle = x0 / n0, y0 / n0, _asin(z) - _asin(A * z)
    else:
        ex, ey, angle = x1 / n1, y1 / n1, _asin(z) - _asin(B * z)
    # turn the direction of the one point by the angle to the reflection point
    s, c = sincos(angle)
    px, py = radius * (c * ex - s * ey), radius * (s * ex + c * ey)
    return _Arc(px, py, px, py, 0.0)


@outline
def wrap(start, end, center, R, radius, cylinder, sided, side):
    """How a string from `start` to `end` lies around a shape; all points in the world frame.

    `side` counts when `sided`: the string passes on its side, or inside when it is within the shape.
    """
    free = Wrap(start, end, -1.0)
    # into the frame of the shape
    p, q = rotate_back(R, sub(start, center)), rotate_back(R, sub(end, center))
    s = rotate_back(R, sub(side, center))
    if radius <= _SMALL or dot(p, p) < _SMALL or dot(q, q) < _SMALL:
        return free
    X, Y = Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0)
    if not cylinder:
        # the plane of the circle: x towards the start, y square to it towards the end
        X = _unit(p)
        normal = cross(p, q)
        if dot(normal, normal) < _SMALL * _SMALL:
            # in line with the centre: any plane will do
            helper = Vec3(0.0, 1.0, 1.0)
            if abs(X.y) > abs(X.x) and abs(X.y) > abs(X.z):
                helper = Vec3(1.0, 0.0, 1.0)
            elif abs(X.z) > abs(X.x):
                helper = Vec3(1.0, 1.0, 0.0)
            normal = cross(X, helper)
        Y = _unit(cross(normal, X))
    x0, y0, x1, y1 = dot(p, X), dot(p, Y), dot(q, X), dot(q, Y)
    if sided and dot(s, s) < radius * radius:
        arc = _through(x0, y0, x1, y1, radius)
    else:
        sx, sy = dot(s, X), dot(s, Y)
        n = max((sx * sx + sy * sy) ** 0.5, _SMALL)
        arc = _around(x0, y0, x1, y1, radius, sided, sx / n, sy / n)
    if arc.length < 0.0:
        return free
    a, b = add(scale(X, arc.x0), scale(Y, arc.y0)), add(scale(X, arc.x1), scale(Y, arc.y1))
    length = arc.length
    if cylinder:
        # helix: height grows in proportion to the way in the plane; length sqrt(arc^2 + rise^2)
        before = ((p.x - a.x) ** 2 + (p.y - a.y) ** 2) ** 0.5
        after = ((q.x - b.x) ** 2 + (q.y - b.y) ** 2) ** 0.5
        rise = (q.z - p.z) / max(before + length + after, _SMALL)
        a, b = Vec3(a.x, a.y, p.z + rise * before), Vec3(b.x, b.y, p.z + rise * (before + length))
        length = (length * length + (b.z - a.z) ** 2) ** 0.5
    return Wrap(add(center, rotate(R, a)), add(center, rotate(R, b)), length)
