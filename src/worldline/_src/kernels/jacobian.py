# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Geometric Jacobians of points on links, and their rates."""

from __future__ import annotations

from worldline._src.jit import kernel
from worldline._src.kernels.links import body_point, into_body, store_six
from worldline._src.kernels.velocities import classical_acceleration
from worldline._src.spatial.motion import load_motion, velocity_at
from worldline._src.spatial.vec3 import Vec3


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
        S = load_motion(pos.dof_S, d)
        ang = S.ang
        lin = velocity_at(S, r)
        if args[1] == 1:
            ang = into_body(body, pos, i, ang)
            lin = into_body(body, pos, i, lin)
        J_out[0, d] = ang.x
        J_out[1, d] = ang.y
        J_out[2, d] = ang.z
        J_out[3, d] = lin.x
        J_out[4, d] = lin.y
        J_out[5, d] = lin.z
        d = above[d]


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
