# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Analytic first derivatives of the motion of links and of momentum [Carpentier & Mansard 2018].

With the columns Psi_i', Psi_i'' and X_i of `rnea_derivatives.column_motions`, a column i that carries link k
changes its spatial velocity V_k and acceleration A_k by

    dV_k / dq_i = S_i x V_k + Psi_i',   dV_k / dv_i = S_i,
    dA_k / dq_i = S_i x A_k + Psi_i' x V_k + Psi_i'',   dA_k / dv_i = S_i x V_k + X_i,   dA_k / da_i = S_i.

The origin of a body at r has u = v + w x r and a_r = a + w' x r + w x u, and moves by dr = s + s_w x r with a
column S_i = (s_w, s). Momentum of what a column carries, H_i, with composite inertia I_i, changes by

    dH / dq_i = S_i x* H_i + I_i Psi_i',   dH / dv_i = I_i S_i.

A displacement u of an orientation ends in Q exp(u): a change of Q in body axes arrives as exp(-u), one of u
as J_r(u), the right Jacobian of the exponential.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel
from worldline._src.kernels.centroidal import about, mass_center, total_mass
from worldline._src.kernels.joints import BALL, FREE
from worldline._src.kernels.links import body_origin, link_inertia
from worldline._src.kernels.rnea_derivatives import carried_force
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.ops import constant
from worldline._src.spatial.exponential import right_jacobian, turn_back
from worldline._src.spatial.inertia import load_inertia, momentum
from worldline._src.spatial.motion import (
    add_force,
    add_motion,
    cross_motion,
    load_force,
    load_motion,
    store_spatial,
    velocity_at,
)
from worldline._src.spatial.vec3 import Vec3, add, cross, load_three, load_vec3, scale, sub


class MotionJacobians(NamedTuple):
    """Of body velocities by q and v, of body accelerations by q, v and a, (6 bodies, nv) each."""

    velocity_dq: Any
    velocity_dv: Any
    acceleration_dq: Any
    acceleration_dv: Any
    acceleration_da: Any


class MomentumJacobians(NamedTuple):
    """Of momentum by q and v, (6, nv) each."""

    dq: Any
    dv: Any


@inline
def _store_column(J_out, row, d, ang, lin):
    """Six rows of column `d`, from `row` on."""
    J_out[row, d], J_out[row + 1, d], J_out[row + 2, d] = ang.x, ang.y, ang.z
    J_out[row + 3, d], J_out[row + 4, d], J_out[row + 5, d] = lin.x, lin.y, lin.z


@kernel
def motion_jacobians(chain, body, pos, vel, work, jacobians_out):
    """Derivatives of velocities and accelerations of body origins. O(n depth).

    work: see `column_motions`. Only the columns that carry a body are written.
    """
    above, last = chain.dof_parent, chain.link_last
    for i in range(1, last.shape[0]):
        V, A, r = load_motion(vel.link_V, i), load_motion(work.A, i), body_origin(body, pos, i)
        u, row = velocity_at(V, r), 6 * body.link_body[i]
        d = last[i]
        while d >= 0:
            S, rate = load_motion(pos.dof_S, d), load_motion(work.rate, d)
            dr = velocity_at(S, r)
            _store_column(jacobians_out.velocity_dv, row, d, S.ang, dr)
            _store_column(jacobians_out.acceleration_da, row, d, S.ang, dr)

            # u = v + w x r
            turned = cross_motion(S, V)
            dV = add_motion(turned, rate)
            du = add(velocity_at(dV, r), cross(V.ang, dr))
            _store_column(jacobians_out.velocity_dq, row, d, dV.ang, du)

            # a_r = a + w' x r + w x u
            dA = add_motion(cross_motion(S, A), cross_motion(rate, V))
            dA = add_motion(dA, load_motion(work.second, d))
            lin = add(velocity_at(dA, r), cross(A.ang, dr))
            lin = add(lin, add(cross(dV.ang, u), cross(V.ang, du)))
            _store_column(jacobians_out.acceleration_dq, row, d, dA.ang, lin)

            dA = add_motion(turned, load_motion(work.both, d))
            lin = add(velocity_at(dA, r), add(cross(S.ang, u), cross(V.ang, dr)))
            _store_column(jacobians_out.acceleration_dv, row, d, dA.ang, lin)
            d = above[d]


@kernel
def carried_momenta(tree, inertia, pos, vel, H_out):
    """Momentum of every link and all that it carries, about the reference point of its tree. O(n)."""
    parent = tree.link_parent
    for i in range(1, parent.shape[0]):
        store_spatial(H_out, i, momentum(link_inertia(inertia, pos, i), load_motion(vel.link_V, i)))
    for i in range(parent.shape[0] - 1, 0, -1):
        if parent[i] > 0:
            store_spatial(H_out, parent[i], add_force(load_force(H_out, parent[i]), load_force(H_out, i)))


@kernel
def momentum_jacobians(tree, dof, inertia, pos, crb, H, rate, jacobians_out):
    """Derivatives of the momentum about the centre of mass, angular, then linear, (6, nv) each. O(n).

    H: `carried_momenta`; rate: Psi'. With c the centre of mass of everything, o the reference point of a
    tree, m the whole mass and P the whole linear momentum, L_c = sum L_o + (o - c) x P_o changes by
    dL_o + (o - c) x dP_o - dc x P, where dc = (I_i S_i)_lin / m.
    """
    center, inverse = mass_center(tree, inertia, pos), 1.0 / total_mass(inertia)
    P = sub(center, center)
    for i in range(1, tree.link_parent.shape[0]):
        if tree.link_parent[i] == 0:
            P = add(P, load_force(H, i).lin)

    for d in range(dof.dof_link.shape[0]):
        i = dof.dof_link[d]
        I, S = load_inertia(crb, i), load_motion(pos.dof_S, d)
        arm = sub(load_vec3(pos.link_origin, tree.link_root[i]), center)
        h = momentum(I, S)
        dc = scale(h.lin, inverse)
        h = about(h, arm)
        _store_column(jacobians_out.dv, 0, d, h.ang, h.lin)
        h = add_force(momentum(I, load_motion(rate, d)), carried_force(S, load_force(H, i)))
        h = about(h, arm)
        _store_column(jacobians_out.dq, 0, d, sub(h.ang, cross(dc, P)), h.lin)


@kernel
def integration_jacobians(tree, displacement, dq_out, dv_out):
    """Tangents of a configuration that was moved, by those before and by the displacement, (nv, nv) each."""
    n = displacement.shape[0]
    for i in range(n):
        for j in range(n):
            dq_out[i, j], dv_out[i, j] = 0.0, 0.0
        # axes and positions add up
        dq_out[i, i], dv_out[i, i] = 1.0, 1.0
    for i in range(1, tree.link_kind.shape[0]):
        if tree.link_kind[i] == BALL or tree.link_kind[i] == FREE:
            d = tree.link_v_end[i] - 3
            u = load_three(displacement, d)
            zero, one = constant(0.0, u.x), constant(1.0, u.x)
            _store_turn(u, Vec3(one, zero, zero), d, d, dq_out, dv_out)
            _store_turn(u, Vec3(zero, one, zero), d, d + 1, dq_out, dv_out)
            _store_turn(u, Vec3(zero, zero, one), d, d + 2, dq_out, dv_out)


@inline
def _store_turn(u, axis, row, column, dq_out, dv_out):
    """exp(-u) and J_r(u) of one axis."""
    back, own = turn_back(u, axis), right_jacobian(u, axis)
    dq_out[row, column], dq_out[row + 1, column], dq_out[row + 2, column] = back.x, back.y, back.z
    dv_out[row, column], dv_out[row + 1, column], dv_out[row + 2, column] = own.x, own.y, own.z
