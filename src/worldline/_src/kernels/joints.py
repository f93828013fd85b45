# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""How joints move: the kinds that kernels know, their columns, and the motion of each.

`AXES` covers revolute, prismatic, screw, universal, planar, euler, translational, D6 and cable joints: a
sequence of axes, each carried by those before it, slides first. `BALL` and `FREE` store an orientation as a
quaternion; a `DISTANCE` joint moves like `FREE`. `CUSTOM` is a sequence of up to six axes too, turns and
slides in any order, whose amounts theta_k are functions of the joint's coordinates (see `custom_motion`).

Each velocity has one column S of the joint's motion. Columns of an axis sequence are carried by the
axes before them. The three angular columns of `BALL` and `FREE` belong to the body itself and move
together; `dof_block` is 1 at a column whose carrier includes everything before it, so the recursion of
velocities needs no joint types. What a column changes by coordinates of its own joint beyond that is
`joint_bend`: d S_d / dt = carrier x S_d + sum_l bend_dl v_l.
"""

from __future__ import annotations

from typing import Literal

from worldline._src.jit import inline, outline
from worldline._src.scalar.ops import constant, where
from worldline._src.scalar.trigonometry import sincos
from worldline._src.spatial.motion import (
    Motion,
    add_motion,
    cross_motion,
    load_motion,
    scale_motion,
    store_spatial,
)
from worldline._src.spatial.rotation import (
    Mat3,
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
from worldline._src.spatial.vec3 import Vec3, add, cross, load_vec3, scale, sub

FIXED = 0
AXES = 1
BALL = 2
FREE = 3
CUSTOM = 4

NUMBERS = (AXES, CUSTOM)
"""Kinds whose coordinates are plain numbers, one for each velocity."""

TURN = 0
SLIDE = 1
SCREW = 2
ANGULAR = 3
"""A column of the orientation block of BALL and FREE."""
LINEAR = 4
"""A column of the translation block of FREE."""
COUPLED = 5
"""A column of CUSTOM."""

ROOM = 6
"""Most axes and most coordinates of a CUSTOM joint."""
DEGREE = 7
"""Highest power of a polynomial of a CUSTOM joint."""
TURNS = 4
"""Angles whose sine and cosine are computed together; their number is rounded up to a multiple."""

SIZES = ("nbend", "nterm", "npiece", "nturn")
"""Sizes of the arrays below: joints whose columns bend, which are the custom ones, terms, polynomials, and
columns of AXES joints that turn."""
FIELDS: tuple[tuple[str, Literal["index", "constant", "data"], tuple[str | int, ...], str], ...] = (
    ("dof_kind", "index", ("nv",), "turn, slide or screw: kernels/joints.py"),
    ("dof_pitch", "constant", ("nv",), "advance of a screw [m/rad]"),
    ("dof_turn", "index", ("nv",), "row of turn_sin and turn_cos, for columns of AXES joints that turn"),
    ("turn_q", "index", ("nturn",), "coordinate of every angle; the last is repeated up to a full block"),
    ("turn_sin", "data", ("nturn",), "sines of the angles, or of their halves"),
    ("turn_cos", "data", ("nturn",), "cosines of the same"),
    ("link_bend", "index", ("nlink",), "row of joint_bend, -1 for joints without"),
    ("joint_bend", "data", ("nbend", 216), "change of column d by coordinate l of the joint, (6, 6, 6)"),
    ("custom_kind", "index", ("nbend", ROOM), "TURN or SLIDE of every axis, -1 for none"),
    ("custom_axis", "constant", ("nbend", 18), "unit axes in the joint frame before any motion, (6, 3)"),
    ("custom_terms", "index", ("nbend", 12), "first and end of the terms of every axis, (6, 2)"),
    ("term_pieces", "index", ("nterm", 12), "first and end of the pieces of every factor, (6, 2)"),
    ("piece_degree", "index", ("npiece",), "highest power"),
    ("piece", "constant", ("npiece", 9), "where it starts, then its coefficients about there"),
    ("term_factor", "data", ("nterm", 18), "factors with their first and second derivatives, (6, 3)"),
    ("custom_theta", "data", ("nbend", ROOM), "amounts of the axes [rad or m]"),
    ("custom_slope", "data", ("nbend", 36), "d theta_k / d q_l, (6, 6)"),
    ("custom_curve", "data", ("nbend", 216), "d^2 theta_k / d q_l d q_m, (6, 6, 6)"),
    ("custom_S", "data", ("nbend", 36), "motion of one unit of theta_k, (6, 6)"),
)
"""Arrays that kinds of joints need: name, arena, shape, meaning."""
MOTION = (
    *("dof_kind", "dof_pitch", "dof_turn", "turn_q"),
    *("custom_kind", "custom_axis", "custom_terms", "term_pieces", "piece_degree", "piece"),
)
"""Those that say how a joint moves, for `JointView` and `TurnView`."""
POSITION = (
    *("turn_sin", "turn_cos"),
    *("joint_bend", "term_factor", "custom_theta", "custom_slope", "custom_curve", "custom_S"),
)
"""Those that follow from coordinates, for `PositionView`."""


@inline
def adds_up(kind):
    """Whether coordinates of a kind are numbers that add up."""
    return kind == AXES or kind == CUSTOM


@inline
def turn_angles(turn_q, q, share, sin_out, cos_out):
    """Sine and cosine of `share` of every angle of AXES joints, before the recursion from base to tip.

    One after another they would take most of its time: each is a long chain of dependent operations. Together
    they fill the lanes of an instruction, and nothing waits for them.
    """
    # angles first: the compiler cannot tell that reads through turn_q are not of what is written
    for k in range(turn_q.shape[0]):
        sin_out[k] = share * q[turn_q[k]]
    for k in range(turn_q.shape[0]):
        sin_out[k], cos_out[k] = sincos(sin_out[k])


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
def _piece(joint, n, x):
    """Value, first and second derivative of polynomial `n` at `x`, by Horner's scheme."""
    u = x - joint.piece[n, 0]
    degree = joint.piece_degree[n]
    f = constant(joint.piece[n, 1 + degree], x)
    slope, half = constant(0.0, x), constant(0.0, x)
    for e in range(degree, 0, -1):
        half = half * u + slope
        slope = slope * u + f
        f = f * u + joint.piece[n, e]
    return f, slope, half + half


@inline
def _factor(joint, first, end, x):
    """A function of one coordinate: the last of the pieces `first` to `end` that starts before `x`."""
    f, slope, curve = _piece(joint, first, x)
    for n in range(first + 1, end):
        g, d, h = _piece(joint, n, x)
        begun = x >= joint.piece[n, 0]
        f, slope, curve = where(begun, g, f), where(begun, d, slope), where(begun, h, curve)
    return f, slope, curve


@outline
def _custom_amounts(joint, c, count, q, qi, pos_out):
    """theta_k = sum over terms of the product of their factors, with first and second derivatives."""
    value, theta = pos_out.term_factor, pos_out.custom_theta
    slope, curve = pos_out.custom_slope, pos_out.custom_curve
    zero, one = constant(0.0, q[qi]), constant(1.0, q[qi])
    for k in range(ROOM):
        theta[c, k] = zero
        for l in range(count):
            slope[c, 6 * k + l] = zero
            for m in range(count):
                curve[c, 36 * k + 6 * l + m] = zero
        for t in range(joint.custom_terms[c, 2 * k], joint.custom_terms[c, 2 * k + 1]):
            whole = one
            for l in range(count):
                first, end = joint.term_pieces[t, 2 * l], joint.term_pieces[t, 2 * l + 1]
                f, d, h = one, zero, zero
                if end > first:
                    f, d, h = _factor(joint, first, end, q[qi + l])
                value[t, 3 * l], value[t, 3 * l + 1], value[t, 3 * l + 2] = f, d, h
                whole = whole * f
            theta[c, k] = theta[c, k] + whole
            # products with one or two factors replaced by their derivatives
            for l in range(count):
                if joint.term_pieces[t, 2 * l + 1] > joint.term_pieces[t, 2 * l]:
                    for m in range(count):
                        if joint.term_pieces[t, 2 * m + 1] > joint.term_pieces[t, 2 * m]:
                            by_both = one
                            for n in range(count):
                                order = (1 if n == l else 0) + (1 if n == m else 0)
                                by_both = by_both * value[t, 3 * n + order]
                            at = 36 * k + 6 * l + m
                            curve[c, at] = curve[c, at] + by_both
                    by_one = one
                    for n in range(count):
                        by_one = by_one * value[t, 3 * n + (1 if n == l else 0)]
                    slope[c, 6 * k + l] = slope[c, 6 * k + l] + by_one


@inline
def _load_six(array, c, at):
    return Motion(
        Vec3(array[c, at], array[c, at + 1], array[c, at + 2]),
        Vec3(array[c, at + 3], array[c, at + 4], array[c, at + 5]),
    )


@inline
def _store_six(array, c, at, a):
    array[c, at], array[c, at + 1], array[c, at + 2] = a.ang.x, a.ang.y, a.ang.z
    array[c, at + 3], array[c, at + 4], array[c, at + 5] = a.lin.x, a.lin.y, a.lin.z


@inline
def _turned_about(R, a, angle):
    """R followed by a turn about a unit axis of its own frame [Rodrigues]."""
    s, co = sincos(angle)
    t = 1.0 - co
    turn = Mat3(
        co + t * (a.x * a.x),
        t * (a.x * a.y) - s * a.z,
        t * (a.x * a.z) + s * a.y,
        t * (a.x * a.y) + s * a.z,
        co + t * (a.y * a.y),
        t * (a.y * a.z) - s * a.x,
        t * (a.x * a.z) - s * a.y,
        t * (a.y * a.z) + s * a.x,
        co + t * (a.z * a.z),
    )
    return mat_mul(R, turn)


@outline
def custom_motion(tree, joint, q, i, R, x, pos_out):
    """Move a CUSTOM joint from its frame R, x, and store its columns and their bend; returns R and x.

    With s_k the motion of one unit of theta_k, S_l = sum_k (d theta_k / d q_l) s_k. s_k is carried by the
    axes before it, d s_k / d q_l = sum_{m<k} (d theta_m / d q_l) s_m x s_k, so that
    d S_d / d q_l = sum_k s_k d^2 theta_k / (d q_d d q_l) + sum_{m<k} s_m x s_k theta_m,l theta_k,d.
    The bend is that less S_l x S_d for l < d, which velocities take from the columns before.
    """
    c = tree.link_bend[i]
    p, vi = tree.link_parent[i], tree.link_v_start[i]
    count = tree.link_v_end[i] - vi
    S, s, bend = pos_out.dof_S, pos_out.custom_S, pos_out.joint_bend
    slope, curve = pos_out.custom_slope, pos_out.custom_curve
    _custom_amounts(joint, c, count, q, tree.link_q_start[i], pos_out)
    zero = constant(0.0, R.xx)
    none = Vec3(zero, zero, zero)
    at = load_vec3(pos_out.link_p, p)

    # axes one after another: direction, and where the frame is when they act
    for k in range(ROOM):
        kind = joint.custom_kind[c, k]
        if kind >= 0:
            axis = joint.custom_axis
            a = Vec3(axis[c, 3 * k], axis[c, 3 * k + 1], axis[c, 3 * k + 2])
            z = rotate(R, a)
            _store_six(s, c, 6 * k, Motion(z, x))
            amount = pos_out.custom_theta[c, k]
            if kind == SLIDE:
                x = add(x, scale(z, amount))
            else:
                R = _turned_about(R, a, amount)

    # s_k about the reference point of the tree, which is the link's own position for a root
    for k in range(ROOM):
        kind = joint.custom_kind[c, k]
        if kind >= 0:
            found = _load_six(s, c, 6 * k)
            if kind == SLIDE:
                _store_six(s, c, 6 * k, Motion(none, found.ang))
            else:
                r = add(at, found.lin) if p > 0 else sub(found.lin, x)
                _store_six(s, c, 6 * k, Motion(found.ang, cross(r, found.ang)))

    # S_l = sum_k theta_k,l s_k
    for l in range(count):
        column = Motion(none, none)
        for k in range(ROOM):
            if joint.custom_kind[c, k] >= 0:
                column = add_motion(column, scale_motion(_load_six(s, c, 6 * k), slope[c, 6 * k + l]))
        store_spatial(S, vi + l, column)

    # d S_d / d q_l, less what the columns before d carry
    for d in range(count):
        for l in range(count):
            total = Motion(none, none)
            carrier = Motion(none, none)
            for k in range(ROOM):
                if joint.custom_kind[c, k] >= 0:
                    s_k = _load_six(s, c, 6 * k)
                    total = add_motion(total, scale_motion(s_k, curve[c, 36 * k + 6 * d + l]))
                    moved = scale_motion(s_k, slope[c, 6 * k + d])
                    total = add_motion(total, cross_motion(carrier, moved))
                    carrier = add_motion(carrier, scale_motion(s_k, slope[c, 6 * k + l]))
            if l < d:
                before = cross_motion(load_motion(S, vi + l), load_motion(S, vi + d))
                total = add_motion(total, scale_motion(before, -1.0))
            _store_six(bend, c, 36 * d + 6 * l, total)
    return R, x


@outline
def _custom_turn(tree, turn, q, i, Q, x):
    """The same for poses alone."""
    c, qi = tree.link_bend[i], tree.link_q_start[i]
    count = tree.link_v_end[i] - tree.link_v_start[i]
    for k in range(ROOM):
        kind = turn.custom_kind[c, k]
        if kind >= 0:
            amount = constant(0.0, Q.x)
            for t in range(turn.custom_terms[c, 2 * k], turn.custom_terms[c, 2 * k + 1]):
                whole = constant(1.0, Q.x)
                for l in range(count):
                    first, end = turn.term_pieces[t, 2 * l], turn.term_pieces[t, 2 * l + 1]
                    if end > first:
                        f, _, _ = _factor(turn, first, end, q[qi + l])
                        whole = whole * f
                amount = amount + whole
            axis = turn.custom_axis
            a = Vec3(axis[c, 3 * k], axis[c, 3 * k + 1], axis[c, 3 * k + 2])
            if kind == SLIDE:
                x = add(x, scale(turn_vector(Q, a), amount))
            else:
                sine, co = sincos(0.5 * amount)
                Q = quat_mul(Q, Quat(sine * a.x, sine * a.y, sine * a.z, co))
    return Q, x


@inline
def joint_motion(tree, joint, q, i, R, x, pos_out):
    """Move link `i` from its joint frame (R, x from the parent link) and store the columns of its joint.

    Returns the rotation and position after the motion, and the position about the tree's reference point.
    Sines and cosines are those of `turn_angles`.
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
                t = joint.dof_turn[d]
                R = turn_about_z(R, pos_out.turn_sin[t], pos_out.turn_cos[t])
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
    elif k == CUSTOM:
        R, x = custom_motion(tree, joint, q, i, R, x, pos_out)

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
def _turn_about_z(Q, s, c):
    """Q followed by a turn about its local z, given sine and cosine of half of the angle."""
    return Quat(Q.x * c + Q.y * s, Q.y * c - Q.x * s, Q.z * c + Q.w * s, Q.w * c - Q.z * s)


@inline
def _local_z(Q):
    """The z axis of the turned frame."""
    x = Q.x * Q.z + Q.w * Q.y
    y = Q.y * Q.z - Q.w * Q.x
    z = Q.x * Q.x + Q.y * Q.y
    return Vec3(x + x, y + y, 1.0 - (z + z))


@inline
def joint_turn(tree, turn, pose, q, i, Q, x):
    """Orientation and position of link `i` after its joint's motion, from those of its joint frame.

    Sines and cosines of half angles are those of `turn_angles`.
    """
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
                t = turn.dof_turn[d]
                Q = _turn_about_z(Q, pose.turn_sin[t], pose.turn_cos[t])
    elif k == FREE:
        x = add(x, turn_vector(Q, Vec3(q[qi], q[qi + 1], q[qi + 2])))
        qi = qi + 3
    elif k == CUSTOM:
        Q, x = _custom_turn(tree, turn, q, i, Q, x)
    if k == BALL or k == FREE:
        Q = quat_mul(Q, normalized(load_quat(q, qi)))
    return Q, x
