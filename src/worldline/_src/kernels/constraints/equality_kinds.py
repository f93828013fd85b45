# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Kinds of equalities: numbers, counts of rows, and axes and residuals of those between two places.

Residuals are those of the first place against the second; `equality_rows.py` turns axes into Jacobian rows
and residuals into references. An axis has a direction along which points move, one about which bodies turn,
and J' v less what accelerations without constraints bring.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from worldline._src.jit import inline
from worldline._src.kernels.places import place_position, place_rotation
from worldline._src.scalar.ops import absolute, nearest, sqrt
from worldline._src.scalar.trigonometry import atan2
from worldline._src.spatial.rotation import mat_mul, matrix_to_quat, transpose
from worldline._src.spatial.vec3 import Vec3, add, cross, dot, scale, sub

POINT, POSE, JOINT, TENDON, DISTANCE, AXIS, SLIDE, UNIVERSAL, PLANE, TURN, SCREW = range(11)
"""Kinds of equalities: what two places, coordinates or tendons share.

JOINT and TENDON follow a polynomial of another; AXIS shares a point and the direction of z, SLIDE all but the
way along z, UNIVERSAL a point with z of one square to x of the other, PLANE the plane across z, TURN the
rotation, SCREW the line of z, with a way along it that goes with the angle.
"""
ROW_COUNT = (3, 6, 1, 1, 1, 5, 5, 4, 3, 3, 5)
"""Rows of an equality by its kind."""
_FULL_TURN = 6.283185307179586
_CLOSE = 1e-12
"""Points closer than this have no direction between them [m]."""


class PointMotion(NamedTuple):
    """The motion of a point of a body: velocity, turning, and their rates without constraints; world axes."""

    v: Any
    w: Any
    a: Any
    turn: Any


@inline
def is_carried(kind):
    """Whether directions turn with the second place, which then sees the point of the first."""
    return kind == SLIDE or kind == SCREW or kind == PLANE


@inline
def set_axis(axes_out, r, along, about, bias):
    """Row `r` moves with the velocity along one direction and the angular velocity about another."""
    axes_out[r, 0], axes_out[r, 1], axes_out[r, 2] = along.x, along.y, along.z
    axes_out[r, 3], axes_out[r, 4], axes_out[r, 5] = about.x, about.y, about.z
    axes_out[r, 6] = bias


@inline
def _turn_axes(R_a, R_b, A, B, size, axes_out, first, residual_out, n):
    """Three rows of the rotation from the second place to the first."""
    E = matrix_to_quat(mat_mul(transpose(R_b), R_a))
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
    """A row that keeps an axis z of the first place square to an axis x of the second."""
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
    """A row along a direction that turns with b; the second sight is of b at the point of a."""
    coriolis = cross(B.w, sub(A.v, B.v))
    set_axis(axes_out, r, e, Vec3(0.0, 0.0, 0.0), -2.0 * dot(e, coriolis))
    residual_out[n] = dot(e, gap)


@inline
def _screw_axis(R_a, R_b, gap, A, B, pitch, axes_out, r, residual_out, n):
    """A row that ties the way of the first place along z of the second to its angle about it."""
    z, relative = Vec3(R_b.xz, R_b.yz, R_b.zz), sub(A.w, B.w)
    E = matrix_to_quat(mat_mul(transpose(R_b), R_a))
    coriolis = -2.0 * dot(z, cross(B.w, sub(A.v, B.v)))
    set_axis(axes_out, r, z, scale(z, -pitch), coriolis - pitch * dot(relative, cross(B.w, z)))
    residual = dot(z, gap) - 2.0 * pitch * atan2(E.z, E.w)
    # a whole turn is the same angle: the nearest one counts
    turn = _FULL_TURN * absolute(pitch)
    if turn > _CLOSE:
        residual -= turn * nearest(residual / turn)
    residual_out[n] = residual


@inline
def place_axes(equality, k, X, A, B, axes_out, residual_out, n):
    """Axes and residuals of equality `k` of two places; returns how many rows move points."""
    kind, a, b = equality.equality_kind[k], equality.equality_first[k], equality.equality_second[k]
    size = equality.equality_number[k, 7]
    p_a, p_b = place_position(X, a), place_position(X, b)
    R_a, R_b = place_rotation(X, a), place_rotation(X, b)
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
