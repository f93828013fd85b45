# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Velocities and accelerations of all links."""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.joints import bend_rate
from worldline._src.kernels.links import body_origin, center_of_mass, store_six
from worldline._src.scalar.ops import constant
from worldline._src.spatial.motion import (
    Motion,
    add_joint_motion,
    add_motion,
    cross_motion,
    load_motion,
    scale_motion,
    store_spatial,
    velocity_at,
)
from worldline._src.spatial.vec3 import Vec3, add, cross


@kernel
def velocities(tree, pos, v, vel_out):
    """Spatial velocities and velocity-product accelerations, base to tip [Featherstone 2008, ch. 4.4].

    Needs the poses current. The rate of a joint's column is its carrier's velocity crossed with it, plus
    what it bends by; the carrier is the parent, moved by the blocks of the joint before the column. O(n).
    """
    # outputs
    link_V, link_c = vel_out.link_V, vel_out.link_c
    # inputs
    parent, v_start, v_end, block = (
        tree.link_parent,
        tree.link_v_start,
        tree.link_v_end,
        tree.dof_block,
    )
    S = pos.dof_S

    for i in range(1, parent.shape[0]):
        V = load_motion(link_V, parent[i])
        zero = constant(0.0, V.ang.x)
        none = Vec3(zero, zero, zero)
        bias = Motion(none, none)
        carrier = V
        for d in range(v_start[i], v_end[i]):
            if block[d] == 1:
                carrier = V
            # c_i += V_carrier x S_d v_d;  V_i = V_parent + sum S_d v_d
            moved = scale_motion(load_motion(S, d), v[d])
            bias = add_motion(bias, cross_motion(carrier, moved))
            V = add_motion(V, moved)
        b = tree.link_bend[i]
        if b >= 0:
            # columns that change with the coordinates of their joint
            first, count = v_start[i], v_end[i] - v_start[i]
            for d in range(count):
                bend = bend_rate(pos, b, d, count, v, first)
                bias = add_motion(bias, scale_motion(bend, v[first + d]))
        store_spatial(link_V, i, V)
        store_spatial(link_c, i, bias)


@kernel
def accelerations(tree, pos, vel, a, A_out):
    """Spatial accelerations from joint accelerations, base to tip; row 0 is given. O(n)."""
    parent, v_start, v_end = tree.link_parent, tree.link_v_start, tree.link_v_end

    for i in range(1, parent.shape[0]):
        # A_i = A_parent + c_i + sum S_d a_d
        A = add_motion(load_motion(A_out, parent[i]), load_motion(vel.link_c, i))
        for d in range(v_start[i], v_end[i]):
            A = add_joint_motion(A, pos.dof_S, d, a[d])
        store_spatial(A_out, i, A)


@kernel
def accelerate_world(gravity, count, A_out):
    """Accelerate the world by -count gravities: links resting on it then feel their weight."""
    for k in range(3):
        A_out[0, k] = 0.0
        A_out[0, k + 3] = -gravity[k] * count


@inline
def classical_acceleration(V, A, r):
    """Acceleration of the body point at `r`: the spatial one plus what turning adds."""
    # a_P = a + a_w x r + w x (v + w x r)
    return add(velocity_at(A, r), cross(V.ang, velocity_at(V, r)))


@kernel
def body_velocities(tree, body, pos, vel, result_out):
    """Angular velocity and velocity of the origin of every body, world axes: 6 numbers a body."""
    for i in range(1, tree.link_parent.shape[0]):
        V = load_motion(vel.link_V, i)
        # v_P = v + w x r
        r = body_origin(body, pos, i)
        store_six(result_out, 6 * body.link_body[i], V.ang, velocity_at(V, r))


@kernel
def body_accelerations(tree, body, pos, vel, A, result_out):
    """Angular acceleration and acceleration of the origin of every body, world axes."""
    for i in range(1, tree.link_parent.shape[0]):
        V = load_motion(vel.link_V, i)
        Ai = load_motion(A, i)
        # classical acceleration of the origin
        r = body_origin(body, pos, i)
        store_six(result_out, 6 * body.link_body[i], Ai.ang, classical_acceleration(V, Ai, r))


@kernel
def body_twists(tree, body, inertia, pos, vel, result_out):
    """Linear velocity of the centre of mass, then angular velocity, of every body, world axes."""
    for i in range(1, tree.link_parent.shape[0]):
        V = load_motion(vel.link_V, i)
        c = center_of_mass(inertia, pos, i)
        store_six(result_out, 6 * body.link_body[i], velocity_at(V, c), V.ang)
