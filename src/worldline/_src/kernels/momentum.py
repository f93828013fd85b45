# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Generalized momenta of a tree, and the forces that change them.

The momentum of a degree of freedom is the momentum H of what it carries, projected on its column S. Its
rate is the force on what it carries, projected on S, plus the pull dS/dt . H of the moving column, which
is the derivative of the kinetic energy by the coordinate. The column's carrier is the parent, moved by
the blocks of the joint before it, as in `velocities.py`; for the columns of an orientation this gives the
derivative along body axes with the body's own rates held.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.joints import bend_rate
from worldline._src.kernels.links import center_of_mass
from worldline._src.kernels.rnea import project
from worldline._src.spatial.inertia import load_sym3, sym_mul
from worldline._src.spatial.motion import (
    Force,
    add_motion,
    add_to_force,
    cross_motion,
    load_force,
    load_motion,
    power,
    scale_motion,
    store_spatial,
    velocity_at,
)
from worldline._src.spatial.rotation import load_mat3, rotate, rotate_back
from worldline._src.spatial.vec3 import Vec3, add, cross, scale, sub


@inline
def link_momentum(inertia, pos, i, V):
    """Momentum of link `i` moving with `V`, about the tree's reference point, world axes."""
    # P = m v(c);  L = R I_B R^T w + c x P
    R = load_mat3(pos.link_R, i)
    c = center_of_mass(inertia, pos, i)
    spin = rotate(R, sym_mul(load_sym3(inertia.link_inertia, i), rotate_back(R, V.ang)))
    P = scale(velocity_at(V, c), inertia.link_mass[i])
    return Force(add(spin, cross(c, P)), P)


@kernel
def momenta(tree, inertia, pos, vel, v, link_H_out, dof_p_out):
    """Generalized momenta M v, tip to base. Needs poses and velocities current. O(n)."""
    for i in range(1, tree.link_parent.shape[0]):
        # H_i = I_i V_i
        store_spatial(link_H_out, i, link_momentum(inertia, pos, i, load_motion(vel.link_V, i)))
    # p_d = H_subtree . S_d + a_d v_d
    project(tree, inertia, pos, v, link_H_out, dof_p_out)


@kernel
def weights(inertia, pos, gravity, link_F_io):
    """Add minus the weight of every link to its force."""
    g = Vec3(gravity[0], gravity[1], gravity[2])
    for i in range(1, link_F_io.shape[0]):
        # F_i -= (c x m g, m g)
        f = scale(g, inertia.link_mass[i])
        F = load_force(link_F_io, i)
        moment = cross(center_of_mass(inertia, pos, i), f)
        store_spatial(link_F_io, i, Force(sub(F.ang, moment), sub(F.lin, f)))


@kernel
def momentum_rates(tree, pos, vel, v, tau, link_H, link_F_io, dof_f_out):
    """Generalized forces that change the momenta: tau, forces on links, the pull of moving columns.

    Needs momenta of subtrees in link_H and minus the forces on links, weights too, in link_F. O(n).
    """
    parent, v_start, v_end = tree.link_parent, tree.link_v_start, tree.link_v_end

    for i in range(parent.shape[0] - 1, 0, -1):
        p = parent[i]
        F = load_force(link_F_io, i)
        H = load_force(link_H, i)
        V = load_motion(vel.link_V, p)
        carrier = V
        for d in range(v_start[i], v_end[i]):
            S = load_motion(pos.dof_S, d)
            if tree.dof_block[d] == 1:
                carrier = V
            # dp_d/dt = tau_d + H . (V_carrier x S_d) - F . S_d
            dof_f_out[d] = tau[d] + (power(H, cross_motion(carrier, S)) - power(F, S))
            b = tree.link_bend[i]
            if b >= 0:
                first = v_start[i]
                # columns that change with the coordinates of their own joint: + H . sum dS_d/dq_e v_e
                bent = bend_rate(pos, b, d - first, v_end[i] - first, v, first)
                dof_f_out[d] = dof_f_out[d] + power(H, bent)
            V = add_motion(V, scale_motion(S, v[d]))
        if p > 0:
            add_to_force(link_F_io, p, F)
