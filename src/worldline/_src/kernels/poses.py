# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Body poses alone: forward kinematics with quaternions."""

from __future__ import annotations

from worldline._src.jit import kernel
from worldline._src.kernels.joints import joint_turn, load_quat_row, turn_angles, turn_vector
from worldline._src.scalar.ops import constant, where
from worldline._src.spatial.rotation import Quat, quat_mul, store_quat
from worldline._src.spatial.vec3 import add, load_vec3, store_three, store_vec3


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
    parent = tree.link_parent

    # a turn by an angle about z is the quaternion (0, 0, sin, cos) of half of it
    turn_angles(turn.turn_q, q, 0.5, pose_io.turn_sin, pose_io.turn_cos)
    Q_last, x_last = load_quat_row(link_Q, 0), load_vec3(link_x, 0)
    for i in range(1, parent.shape[0]):
        # along a chain the parent is still at hand
        p = parent[i]
        Q_P, x_P = Q_last, x_last
        if p != i - 1:
            Q_P, x_P = load_quat_row(link_Q, p), load_vec3(link_x, p)
        x = add(x_P, turn_vector(Q_P, load_vec3(turn.link_p_pre, i)))
        Q = quat_mul(Q_P, load_quat_row(turn.link_Q_pre, i)) if turn.link_turned[i] == 1 else Q_P
        Q, x = joint_turn(tree, turn, pose_io, q, i, Q, x)
        link_Q[i, 0], link_Q[i, 1], link_Q[i, 2], link_Q[i, 3] = Q.x, Q.y, Q.z, Q.w
        store_vec3(link_x, i, x)
        Q_last, x_last = Q, x

        # from the kernel link to the body frame
        if body.link_offset[i] == 1:
            x = add(x, turn_vector(Q, load_vec3(body.link_p_post, i)))
            Q = quat_mul(Q, load_quat_row(turn.link_Q_post, i))
        sign = where(Q.w < 0.0, constant(-1.0, Q.w), constant(1.0, Q.w))
        k = 7 * body.link_body[i]
        store_three(result_out, k, x)
        store_quat(result_out, k + 3, Quat(Q.x * sign, Q.y * sign, Q.z * sign, Q.w * sign))
