# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""How joints move: the kinds that kernels know, their columns, and the motion of each.

`AXES` covers revolute, prismatic, screw, universal, planar, euler, translational, D6 and cable joints: a
sequence of axes, each carried by those before it, slides first. `BALL` and `FREE` store an orientation as a
quaternion; a `DISTANCE` joint moves like `FREE`.

Each velocity has one column S of the joint's motion. Columns of an axis sequence are carried by the
axes before them. The three angular columns of `BALL` and `FREE` belong to the body itself and move
together; `dof_block` is 1 at a column whose carrier includes everything before it, so the recursion of
velocities needs no joint types. What a column changes by coordinates of its own joint beyond that is
`joint_bend`: d S_d / dt = carrier x S_d + sum_l bend_dl v_l.
"""

from __future__ import annotations

from typing import Literal

from worldline._src.jit import inline
from worldline._src.scalar.ops import constant
from worldline._src.scalar.trigonometry import sincos
from worldline._src.spatial.motion import Motion, add_motion, scale_motion, store_spatial
from worldline._src.spatial.rotation import (
    Quat,
    load_mat3,
    load_quat,
    mat_mul,
    normalized,
    quat_mul,
    quat_to_matrix,
    rotate,
    turn_about_z,
)
from worldline._src.spatial.vec3 import Vec3, add, cross, load_vec3, scale

FIXED = 0
AXES = 1
BALL = 2
FREE = 3

NUMBERS = (AXES,)
"""Kinds whose coordinates are plain numbers, one for each velocity."""

TURN = 0
SLIDE = 1
SCREW = 2
ANGULAR = 3
"""A column of the orientation block of BALL and FREE."""
LINEAR = 4
"""A column of the translation block of FREE."""

SIZES = ("nbend",)
"""Sizes of the arrays below: joints whose columns bend."""
FIELDS: tuple[tuple[str, Literal["index", "constant", "data"], tuple[str | int, ...], str], ...] = (
    ("dof_kind", "index", ("nv",), "turn, slide or screw: kernels/joints.py"),
    ("dof_pitch", "constant", ("nv",), "advance of a screw [m/rad]"),
    ("link_bend", "index", ("nlink",), "row of joint_bend, -1 for joints without"),
    ("joint_bend", "data", ("nbend", 216), "change of column d by coordinate l of the joint, (6, 6, 6)"),
)
"""Arrays that kinds of joints need: name, arena, shape, meaning."""
MOTION = ("dof_kind", "dof_pitch")
"""Those that say how a joint moves, for `JointView` and `TurnView`."""
POSITION = ("joint_bend",)
"""Those that follow from coordinates, for `PositionView`."""


@inline
def adds_up(kind):
    """Whether coordinates of a kind are numbers that add up."""
    return kind == AXES


@inline
def bend_rate(pos, b, d, count, v, first):
    """sum_l bend_dl v_l of column `d` of a joint with `count` columns, the first velocity being `first`."""
    zero = constant(0.0, v[first])
    none = Vec3(zero, zero, zero)
    rate = Motion(none, none)
    bend = pos.joint_bend
    for l in range(count):
        at = 36 * d + 6 * l
        ang = Vec3(bend[b, at], bend[b, at + 1], bend[b, at + 2])
        lin = Vec3(bend[b, at + 3], bend[b, at + 4], bend[b, at + 5])
        rate = add_motion(rate, scale_motion(Motion(ang, lin), v[first + l]))
    return rate


@inline
def joint_motion(tree, joint, q, i, R, x, pos_out):
    """Move link `i` from its joint frame (R, x from the parent link) and store the columns of its joint.

    Returns the rotation and position after the motion, and the position about the tree's reference point.
    """
    S, dof_kind, pitch = pos_out.dof_S, joint.dof_kind, joint.dof_pitch
    p = tree.link_parent[i]
    k = tree.link_kind[i]
    qi = tree.link_q_start[i]
    vi = tree.link_v_start[i]
    zero = constant(0.0, R.xx)
    none = Vec3(zero, zero, zero)
    at = load_vec3(pos_out.link_p, p)

    if k == AXES:
        # a sequence of axes; slides come first, so x is final when the first axis turns
        for d in range(vi, tree.link_v_end[i]):
            if d > vi:
                R = mat_mul(R, load_mat3(joint.dof_R_pre, d))
            z = Vec3(R.xz, R.yz, R.zz)
            angle = q[qi + d - vi]
            if dof_kind[d] == SLIDE:
                x = add(x, scale(z, angle))
                store_spatial(S, d, Motion(none, z))
            else:
                R = turn_about_z(R, angle)
                lin = cross(add(at, x), z) if p > 0 else none
                if dof_kind[d] != TURN:
                    x = add(x, scale(z, angle * pitch[d]))
                    lin = add(lin, scale(z, pitch[d]))
                store_spatial(S, d, Motion(z, lin))
    elif k == FREE:
        # position in the joint frame, then a free orientation
        x = add(x, rotate(R, Vec3(q[qi], q[qi + 1], q[qi + 2])))
        store_spatial(S, vi, Motion(none, Vec3(R.xx, R.yx, R.zx)))
        store_spatial(S, vi + 1, Motion(none, Vec3(R.xy, R.yy, R.zy)))
        store_spatial(S, vi + 2, Motion(none, Vec3(R.xz, R.yz, R.zz)))
        qi = qi + 3
        vi = vi + 3

    r = add(at, x) if p > 0 else none
    if k == BALL or k == FREE:
        # free orientation; its columns are the axes of the turned frame
        R = mat_mul(R, quat_to_matrix(normalized(load_quat(q, qi))))
        X = Vec3(R.xx, R.yx, R.zx)
        Y = Vec3(R.xy, R.yy, R.zy)
        Z = Vec3(R.xz, R.yz, R.zz)
        store_spatial(S, vi, Motion(X, cross(r, X)))
        store_spatial(S, vi + 1, Motion(Y, cross(r, Y)))
        store_spatial(S, vi + 2, Motion(Z, cross(r, Z)))
    return R, x, r


@inline
def load_quat_row(array, i):
    """Row `i` as a quaternion."""
    return Quat(array[i, 0], array[i, 1], array[i, 2], array[i, 3])


@inline
def turn_vector(Q, a):
    """Q a Q^-1 for a unit quaternion."""
    u = Vec3(Q.x, Q.y, Q.z)
    t = cross(u, a)
    t = add(t, t)
    return add(add(a, scale(t, Q.w)), cross(u, t))


@inline
def _turn_about_z(Q, angle):
    """Q followed by a turn about its local z."""
    s, c = sincos(0.5 * angle)
    return Quat(Q.x * c + Q.y * s, Q.y * c - Q.x * s, Q.z * c + Q.w * s, Q.w * c - Q.z * s)


@inline
def _local_z(Q):
    """The z axis of the turned frame."""
    x = Q.x * Q.z + Q.w * Q.y
    y = Q.y * Q.z - Q.w * Q.x
    z = Q.x * Q.x + Q.y * Q.y
    return Vec3(x + x, y + y, 1.0 - (z + z))


@inline
def joint_turn(tree, turn, q, i, Q, x):
    """Orientation and position of link `i` after its joint's motion, from those of its joint frame."""
    k = tree.link_kind[i]
    qi = tree.link_q_start[i]
    vi = tree.link_v_start[i]
    if k == AXES:
        for d in range(vi, tree.link_v_end[i]):
            if d > vi:
                Q = quat_mul(Q, load_quat_row(turn.dof_Q_pre, d))
            amount = q[qi + d - vi]
            if turn.dof_kind[d] == SLIDE:
                x = add(x, scale(_local_z(Q), amount))
            else:
                if turn.dof_kind[d] != TURN:
                    x = add(x, scale(_local_z(Q), amount * turn.dof_pitch[d]))
                Q = _turn_about_z(Q, amount)
    elif k == FREE:
        x = add(x, turn_vector(Q, Vec3(q[qi], q[qi + 1], q[qi + 2])))
        qi = qi + 3
    if k == BALL or k == FREE:
        Q = quat_mul(Q, normalized(load_quat(q, qi)))
    return Q, x
