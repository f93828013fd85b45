# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Kinds of equalities: numbers, counts of rows, and axes and residuals of those between two anchors.

Residuals are those of the first anchor against the second; `equality/rows.py` turns axes into Jacobian rows
and residuals into references. An axis has a direction along which points move, one about which bodies turn,
and J' v less what accelerations without constraints bring.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, outline
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.ops import absolute, nearest, sqrt
from worldline._src.scalar.trigonometry import atan2
from worldline._src.spatial.rotation import (
    load_position,
    load_rotation,
    matrix_to_quat,
    relative_rotation,
    rotate,
)
from worldline._src.spatial.vec3 import Vec3, add, cross, dot, scale, sub

POINT, POSE, JOINT, TENDON, DISTANCE, AXIS, SLIDE, UNIVERSAL, PLANE, TURN, SCREW = range(11)
"""Kinds of equalities: what two anchors, coordinates or tendons share.

JOINT and TENDON follow a polynomial of another; AXIS shares a point and the direction of z, SLIDE all but the
way along z, UNIVERSAL a point with z of one square to x of the other, PLANE the plane across z, TURN the
rotation, SCREW the line of z, with a way along it that goes with the angle. The last three keep the point of
the first anchor in the plane of x and y of the second, on a circle about its z, or on a spline in its frame.
"""
ON_PLANE, ON_CIRCLE, ON_SPLINE = range(11, 14)
ROW_COUNT = (3, 6, 1, 1, 1, 5, 5, 4, 3, 3, 5, 1, 2, 2)
"""Rows of an equality by its kind."""
_FULL_TURN = 6.283185307179586
_CLOSE = 1e-12
"""Points closer than this have no direction between them [m]."""
_SAMPLES = 8
"""Points of a piece of a spline among which the nearest is looked for."""
_ROUNDS = 12
"""Rounds of Newton's method from there."""


class PointMotion(NamedTuple):
    """The motion of a point of a body: velocity, turning, and their rates without constraints; world axes."""

    v: Any
    w: Any
    a: Any
    turn: Any


@inline
def is_carried(kind):
    """Whether directions turn with the second anchor, which then sees the point of the first."""
    return kind == SLIDE or kind == SCREW or kind == PLANE or kind >= ON_PLANE


@inline
def set_axis(axes_out, r, along, about, bias):
    """Row `r` moves with the velocity along one direction and the angular velocity about another."""
    axes_out[r, 0], axes_out[r, 1], axes_out[r, 2] = along.x, along.y, along.z
    axes_out[r, 3], axes_out[r, 4], axes_out[r, 5] = about.x, about.y, about.z
    axes_out[r, 6] = bias


@inline
def _turn_axes(R_a, R_b, A, B, size, axes_out, first, residual_out, n):
    """Three rows of the rotation from the second anchor to the first."""
    E = matrix_to_quat(relative_rotation(R_b, R_a))
    none, relative = Vec3(0.0, 0.0, 0.0), sub(A.w, B.w)
    x, y, z = Vec3(R_b.xx, R_b.yx, R_b.zx), Vec3(R_b.xy, R_b.yy, R_b.zy), Vec3(R_b.xz, R_b.yz, R_b.zz)
    s = 0.5 * size
    # rows of (w I - [vec]x) R_b^T / 2
    row_x = scale(add(scale(x, E.w), sub(scale(y, E.z), scale(z, E.y))), s)
    row_y = scale(add(scale(y, E.w), sub(scale(z, E.x), scale(x, E.z))), s)
    row_z = scale(add(scale(z, E.w), sub(scale(x, E.y), scale(y, E.x))), s)
    # axes turn with b, and the quaternion shortens by the square of the speed
    carried, square = cross(relative, B.w), 0.5 * s * dot(relative, relative)
    set_axis(axes_out, first, none, row_x, dot(row_x, carried) - square * E.x)
    set_axis(axes_out, first + 1, none, row_y, dot(row_y, carried) - square * E.y)
    set_axis(axes_out, first + 2, none, row_z, dot(row_z, carried) - square * E.z)
    residual_out[n], residual_out[n + 1], residual_out[n + 2] = size * E.x, size * E.y, size * E.z


@inline
def _square_axis(z, x, A, B, axes_out, r, residual_out, n):
    """A row that keeps an axis z of the first anchor square to an axis x of the second."""
    dz, dx = cross(A.w, z), cross(B.w, x)
    bias = dot(cross(A.w, dz), x) + 2.0 * dot(dz, dx) + dot(z, cross(B.w, dx))
    set_axis(axes_out, r, Vec3(0.0, 0.0, 0.0), cross(z, x), bias)
    residual_out[n] = dot(x, z)


@inline
def _obtuse_axes(axes_io, r, residual_io, n):
    """Rows of two axes at more than a right angle: the residual grows up to 2 for antiparallel ones.

    With s = (z . x, z . y) and n = s / |s| the residual is 2 n - s, whose rate is that of -s.
    """
    s, t = residual_io[n], residual_io[n + 1]
    length = sqrt(s * s + t * t)
    u, w = 1.0, 0.0
    if length > _CLOSE:
        u, w = s / length, t / length
    residual_io[n], residual_io[n + 1] = 2.0 * u - s, 2.0 * w - t
    for row in range(r, r + 2):
        for k in range(3, 7):
            axes_io[row, k] = -axes_io[row, k]


@inline
def _carried_axis(e, gap, A, B, axes_out, r, residual_out, n):
    """A row along a direction that turns with b; the second motion is that of b at the point of a."""
    coriolis = cross(B.w, sub(A.v, B.v))
    set_axis(axes_out, r, e, Vec3(0.0, 0.0, 0.0), -2.0 * dot(e, coriolis))
    residual_out[n] = dot(e, gap)


@inline
def _screw_axis(R_a, R_b, gap, A, B, pitch, axes_out, r, residual_out, n):
    """A row that ties the way of the first anchor along z of the second to its angle about it."""
    z, relative = Vec3(R_b.xz, R_b.yz, R_b.zz), sub(A.w, B.w)
    E = matrix_to_quat(relative_rotation(R_b, R_a))
    coriolis = -2.0 * dot(z, cross(B.w, sub(A.v, B.v)))
    set_axis(axes_out, r, z, scale(z, -pitch), coriolis - pitch * dot(relative, cross(B.w, z)))
    residual = dot(z, gap) - 2.0 * pitch * atan2(E.z, E.w)
    # a whole turn is the same angle: the nearest one counts
    turn = _FULL_TURN * absolute(pitch)
    if turn > _CLOSE:
        residual -= turn * nearest(residual / turn)
    residual_out[n] = residual


class PathPoint(NamedTuple):
    """The nearest point of a curve: where, unit tangent, curvature vector; and a unit vector across it."""

    c: Any
    t: Any
    bow: Any
    across: Any


@inline
def _on_circle(p, radius):
    """The nearest point of a circle about z."""
    reach = sqrt(p.x * p.x + p.y * p.y)
    e = Vec3(1.0, 0.0, 0.0)
    if reach > _CLOSE:
        e = Vec3(p.x / reach, p.y / reach, 0.0)
    # the curvature of the circle through the point itself: that is exact for its distance from z
    bow = scale(e, -1.0 / max(reach, _CLOSE))
    return PathPoint(scale(e, radius), Vec3(-e.y, e.x, 0.0), bow, e)


@inline
def _on_piece(data, at, u):
    """A point of a cubic with its first and second derivative."""
    x0, x1, x2, x3 = data[at], data[at + 1], data[at + 2], data[at + 3]
    y0, y1, y2, y3 = data[at + 4], data[at + 5], data[at + 6], data[at + 7]
    z0, z1, z2, z3 = data[at + 8], data[at + 9], data[at + 10], data[at + 11]
    c = Vec3(
        ((x3 * u + x2) * u + x1) * u + x0,
        ((y3 * u + y2) * u + y1) * u + y0,
        ((z3 * u + z2) * u + z1) * u + z0,
    )
    d = Vec3(
        (3.0 * x3 * u + 2.0 * x2) * u + x1,
        (3.0 * y3 * u + 2.0 * y2) * u + y1,
        (3.0 * z3 * u + 2.0 * z2) * u + z1,
    )
    return c, d, Vec3(6.0 * x3 * u + 2.0 * x2, 6.0 * y3 * u + 2.0 * y2, 6.0 * z3 * u + 2.0 * z2)


@outline
def _on_spline(equality, k, p):
    """The nearest point of a spline: samples of all pieces, then Newton's method about the best."""
    data, first, end = equality.equality_data, equality.equality_span[k, 0], equality.equality_span[k, 1]
    closed, pieces = data[first] != 0.0, (end - first - 1) // 12
    best, place = 1e300, 0
    for j in range(_SAMPLES * pieces + 1):
        piece = min(j // _SAMPLES, pieces - 1)
        c, _, _ = _on_piece(data, first + 1 + 12 * piece, j / _SAMPLES - piece)
        far = dot(sub(c, p), sub(c, p))
        if far < best:
            best, place = far, j
    # s counts pieces; the distance is least where (c - p) . c' = 0
    s = place / _SAMPLES
    for _ in range(_ROUNDS):
        piece = min(int(s), pieces - 1)
        c, d, dd = _on_piece(data, first + 1 + 12 * piece, s - piece)
        slope = dot(d, d) + dot(sub(c, p), dd)
        # without curvature where the distance has no minimum
        step = dot(sub(c, p), d) / (slope if slope > 0.0 else dot(d, d))
        s = s - min(max(step, -1.0 / _SAMPLES), 1.0 / _SAMPLES)
        if closed:
            s = s + pieces if s < 0.0 else s
            s = s - pieces if s >= pieces else s
        else:
            s = min(max(s, 0.0), float(pieces))
    piece = min(int(s), pieces - 1)
    c, d, dd = _on_piece(data, first + 1 + 12 * piece, s - piece)
    length = sqrt(dot(d, d))
    t = scale(d, 1.0 / max(length, _CLOSE))
    bow = scale(sub(dd, scale(t, dot(t, dd))), 1.0 / max(length * length, _CLOSE))
    beyond = dot(t, sub(p, c))
    if not closed and ((s <= 0.0 and beyond < 0.0) or (s >= pieces and beyond > 0.0)):
        c, bow = add(c, scale(t, beyond)), Vec3(0.0, 0.0, 0.0)
    side = Vec3(1.0, 0.0, 0.0)
    if t.x * t.x > 0.5:
        side = Vec3(0.0, 1.0, 0.0)
    across = sub(side, scale(t, dot(t, side)))
    return PathPoint(c, t, bow, scale(across, 1.0 / sqrt(dot(across, across))))


@inline
def _path_axes(near, local, R, gap, A, B, axes_out, residual_out, n):
    """Two rows across a curve that turns with b.

    The residual is n . (p - c) with the unit vectors n across the tangent t. Its second derivative has
    n' . p' = -(n . bow) (t . p')^2 beside what turning with b brings.
    """
    off, along = sub(local, near.c), rotate(R, near.t)
    speed = dot(along, sub(A.v, B.v))
    for row in range(2):
        across = near.across if row == 0 else cross(near.t, near.across)
        _carried_axis(rotate(R, across), gap, A, B, axes_out, row, residual_out, n + row)
        axes_out[row, 6] -= dot(across, near.bow) * speed * speed
        residual_out[n + row] = dot(across, off)


@inline
def anchor_axes(equality, k, X, A, B, axes_out, residual_out, n):
    """Axes and residuals of equality `k` of two anchors; returns how many rows move points."""
    kind, a, b = equality.equality_kind[k], equality.equality_first[k], equality.equality_second[k]
    size = equality.equality_number[k, 7]
    p_a, p_b = load_position(X, a), load_position(X, b)
    R_a, R_b = load_rotation(X, a), load_rotation(X, b)
    none, gap = Vec3(0.0, 0.0, 0.0), sub(p_a, p_b)
    x, y, z = Vec3(R_b.xx, R_b.yx, R_b.zx), Vec3(R_b.xy, R_b.yy, R_b.zy), Vec3(R_b.xz, R_b.yz, R_b.zz)
    z_a = Vec3(R_a.xz, R_a.yz, R_a.zz)
    moved = 0
    if kind == POINT or kind == POSE or kind == AXIS or kind == UNIVERSAL:
        moved = 3
        set_axis(axes_out, 0, Vec3(1.0, 0.0, 0.0), none, 0.0)
        set_axis(axes_out, 1, Vec3(0.0, 1.0, 0.0), none, 0.0)
        set_axis(axes_out, 2, Vec3(0.0, 0.0, 1.0), none, 0.0)
        residual_out[n], residual_out[n + 1], residual_out[n + 2] = gap.x, gap.y, gap.z
    elif kind == SLIDE or kind == SCREW:
        moved = 2
        _carried_axis(x, gap, A, B, axes_out, 0, residual_out, n)
        _carried_axis(y, gap, A, B, axes_out, 1, residual_out, n + 1)
    elif kind == PLANE:
        moved = 1
        _carried_axis(z, gap, A, B, axes_out, 0, residual_out, n)
    elif kind == ON_PLANE:
        moved = 1
        _carried_axis(z, gap, A, B, axes_out, 0, residual_out, n)
    elif kind == ON_CIRCLE or kind == ON_SPLINE:
        moved = 2
        local = Vec3(dot(x, gap), dot(y, gap), dot(z, gap))
        near = _on_circle(local, size) if kind == ON_CIRCLE else _on_spline(equality, k, local)
        _path_axes(near, local, R_b, gap, A, B, axes_out, residual_out, n)
    elif kind == DISTANCE:
        moved = 1
        length, u = sqrt(dot(gap, gap)), sub(A.v, B.v)
        e, bias = Vec3(0.0, 0.0, 1.0), 0.0
        if length > _CLOSE:
            e = scale(gap, 1.0 / length)
            bias = (dot(u, u) - dot(e, u) * dot(e, u)) / length
        set_axis(axes_out, 0, e, none, bias)
        residual_out[n] = length - size
    if kind == POSE or kind == SLIDE or kind == TURN:
        _turn_axes(R_a, R_b, A, B, size, axes_out, moved, residual_out, n + moved)
    elif kind == AXIS or kind == PLANE or kind == SCREW:
        # the z axes become one
        _square_axis(z_a, x, A, B, axes_out, moved, residual_out, n + moved)
        _square_axis(z_a, y, A, B, axes_out, moved + 1, residual_out, n + moved + 1)
        if dot(z_a, z) < 0.0:
            _obtuse_axes(axes_out, moved, residual_out, n + moved)
    elif kind == UNIVERSAL:
        _square_axis(z_a, x, A, B, axes_out, moved, residual_out, n + moved)
    if kind == SCREW:
        _screw_axis(R_a, R_b, gap, A, B, size, axes_out, 4, residual_out, n + 4)
    return moved
