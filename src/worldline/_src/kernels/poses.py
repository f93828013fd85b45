# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Body poses alone: forward kinematics with quaternions."""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.joints import AXES, BALL, FREE, SLIDE, TURN
from worldline._src.scalar.ops import constant, where
from worldline._src.scalar.trigonometry import sincos
from worldline._src.spatial.rotation import Quat, load_quat, normalized, quat_mul
from worldline._src.spatial.vec3 import Vec3, add, cross, load_vec3, scale


@inline
def _load_row(array, i):
    return Quat(array[i, 0], array[i, 1], array[i, 2], array[i, 3])


@inline
def _turn(Q, a):
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


@kernel
def poses(tree, turn, body, q, pose_io, result_out):
    """Position and xyzw of every body origin, world frame, base to tip: 7 numbers a body. O(n).

    The dynamics need rotation matrices and joint motions, poses alone do not: with quaternions a link
    takes half the operations and no conversion at the end. pose_io.link_Q and link_x hold the kernel
    links, row 0 the world. The quaternion returned has w >= 0.
    """
    # outputs
    link_Q, link_x = pose_io.link_Q, pose_io.link_x
    # inputs
    parent, kind, q_start = tree.link_parent, tree.link_kind, tree.link_q_start
    v_start, v_end = tree.link_v_start, tree.link_v_end

    for i in range(1, parent.shape[0]):
        p = parent[i]
        k = kind[i]
        qi = q_start[i]
        vi = v_start[i]
        Q_P = _load_row(link_Q, p)
        x = add(load_vec3(link_x, p), _turn(Q_P, load_vec3(turn.link_p_pre, i)))
        Q = quat_mul(Q_P, _load_row(turn.link_Q_pre, i)) if turn.link_turned[i] == 1 else Q_P

        # the joint's motion
        if k == AXES:
            for d in range(vi, v_end[i]):
                if d > vi:
                    Q = quat_mul(Q, _load_row(turn.dof_Q_pre, d))
                amount = q[qi + d - vi]
                if turn.dof_kind[d] == SLIDE:
                    x = add(x, scale(_local_z(Q), amount))
                else:
                    if turn.dof_kind[d] != TURN:
                        x = add(x, scale(_local_z(Q), amount * turn.dof_pitch[d]))
                    Q = _turn_about_z(Q, amount)
        elif k == FREE:
            x = add(x, _turn(Q, Vec3(q[qi], q[qi + 1], q[qi + 2])))
            qi = qi + 3
        if k == BALL or k == FREE:
            Q = quat_mul(Q, normalized(load_quat(q, qi)))
        link_Q[i, 0] = Q.x
        link_Q[i, 1] = Q.y
        link_Q[i, 2] = Q.z
        link_Q[i, 3] = Q.w
        link_x[i, 0] = x.x
        link_x[i, 1] = x.y
        link_x[i, 2] = x.z

        # from the kernel link to the body frame
        if body.link_offset[i] == 1:
            x = add(x, _turn(Q, load_vec3(body.link_p_post, i)))
            Q = quat_mul(Q, _load_row(turn.link_Q_post, i))
        sign = where(Q.w < 0.0, constant(-1.0, Q.w), constant(1.0, Q.w))
        k = 7 * body.link_body[i]
        result_out[k] = x.x
        result_out[k + 1] = x.y
        result_out[k + 2] = x.z
        result_out[k + 3] = Q.x * sign
        result_out[k + 4] = Q.y * sign
        result_out[k + 5] = Q.z * sign
        result_out[k + 6] = Q.w * sign
