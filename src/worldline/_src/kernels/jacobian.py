# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Geometric Jacobians of points on links, and their rates."""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.joints import bend_rate
from worldline._src.kernels.links import body_point, into_body, store_six
from worldline._src.kernels.velocities import classical_acceleration
from worldline._src.spatial.motion import (
    add_joint_motion,
    add_motion,
    cross_motion,
    load_motion,
    velocity_at,
)
from worldline._src.spatial.vec3 import Vec3, add, cross, sub


@inline
def _store_column(J_out, d, ang, lin):
    J_out[0, d], J_out[1, d], J_out[2, d] = ang.x, ang.y, ang.z
    J_out[3, d], J_out[4, d], J_out[5, d] = lin.x, lin.y, lin.z


@kernel
def jacobian(dof, body, pos, args, point, J_out):
    """Rows: angular velocity, then velocity of a body point, per unit of each velocity. O(depth).

    args: the body, 1 for the axes of the body instead of the world's, and the last degree of freedom
    that moves the body. J_out is (6, nv).
    """
    above = dof.dof_parent
    i = body.body_link[args[0]]
    r = body_point(body, pos, i, Vec3(point[0], point[1], point[2]))

    for row in range(6):
        for d in range(above.shape[0]):
            J_out[row, d] = 0.0

    # walk from the last degree of freedom that moves the link to the world
    d = args[2]
    while d >= 0:
        # J_d = (S_ang, S_lin + S_ang x r)
        S = load_motion(pos.dof_S, d)
        ang = S.ang
        lin = velocity_at(S, r)
        if args[1] == 1:
            ang = into_body(body, pos, i, ang)
            lin = into_body(body, pos, i, lin)
        _store_column(J_out, d, ang, lin)
        d = above[d]


@kernel
def jacobian_derivative(tree, body, pos, vel, v, args, point, J_out):
    """Rate of `jacobian` while the point moves with its body; args as there. J_out is (6, nv). O(depth).

    A column turns with whatever carries it: its own block of the joint, and all before. Within a block the
    motion along a column itself changes nothing, so the velocity behind the whole block serves all of them.
    """
    parent, v_start, v_end, block = tree.link_parent, tree.link_v_start, tree.link_v_end, tree.dof_block
    S = pos.dof_S
    i = body.body_link[args[0]]
    r = body_point(body, pos, i, Vec3(point[0], point[1], point[2]))
    V_i = load_motion(vel.link_V, i)
    speed = velocity_at(V_i, r)

    for row in range(6):
        for d in range(block.shape[0]):
            J_out[row, d] = 0.0

    link = i
    while link > 0:
        V = load_motion(vel.link_V, parent[link])
        first = v_start[link]
        while first < v_end[link]:
            end = first
            while end < v_end[link] and (end == first or block[end] == 0):
                V = add_joint_motion(V, S, end, v[end])
                end += 1
            for d in range(first, end):
                column = load_motion(S, d)
                # dS_d/dt = V x S_d, V the velocity of what carries the column
                rate = cross_motion(V, column)
                b = tree.link_bend[link]
                if b >= 0:
                    start = v_start[link]
                    rate = add_motion(rate, bend_rate(pos, b, d - start, v_end[link] - start, v, start))
                ang = rate.ang
                # d/dt (S_lin + S_ang x r) = dS_lin/dt + dS_ang/dt x r + S_ang x dr/dt
                lin = add(velocity_at(rate, r), cross(column.ang, speed))
                if args[1] == 1:
                    # what the axes of the body turn away
                    ang = into_body(body, pos, i, sub(ang, cross(V_i.ang, column.ang)))
                    lin = into_body(body, pos, i, sub(lin, cross(V_i.ang, velocity_at(column, r))))
                _store_column(J_out, d, ang, lin)
            first = end
        link = parent[link]


@kernel
def jacobian_rate(body, pos, vel, A, args, point, result_out):
    """dJ/dt v: acceleration of a body point at zero joint acceleration; args as for `jacobian`.

    In body axes this is the acceleration itself in those axes, not the rate of the turned Jacobian.
    """
    i = body.body_link[args[0]]
    r = body_point(body, pos, i, Vec3(point[0], point[1], point[2]))
    V = load_motion(vel.link_V, i)
    Ai = load_motion(A, i)
    ang = Ai.ang
    lin = classical_acceleration(V, Ai, r)
    if args[1] == 1:
        ang = into_body(body, pos, i, ang)
        lin = into_body(body, pos, i, lin)
    store_six(result_out, 0, ang, lin)
