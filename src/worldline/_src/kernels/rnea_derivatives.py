# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Analytic first derivatives of inverse dynamics [Carpentier & Mansard 2018; Singh, Russell & Wensing 2022].

All in world axes about the reference point of a tree. With v_c and a_c the motion of what carries column i,

    Psi_i' = v_c x S_i,   Psi_i'' = a_c x S_i + v_c x Psi_i',   X_i = Psi_i' + v_b x S_i,

where v_b is the velocity behind the block of columns that move together (the orientation of a ball or free
joint; else the column alone, and v_b x S_i = Psi_i'). A displacement of q_i changes the motion of a link k
that it carries by

    dv_k = S_i x v_k + Psi_i',   da_k = S_i x a_k + Psi_i' x v_k + Psi_i''.

With I the inertia of a subtree, F its force, and B its Coriolis matrix (B v = v x* I v, dI/dt = B + B^T), for
a column j and the columns i that carry it:

    dtau_j / dq_i = S_j^T (I_j Psi_i'' + 2 B_j Psi_i')
    dtau_i / dq_j = S_i^T (I_j Psi_j'' + 2 B_j Psi_j' + S_j x* F_j)
    dtau_j / dv_i = S_j^T (I_j X_i + 2 B_j S_i),   dtau_i / dv_j = S_i^T (I_j X_j + 2 B_j S_j).

Within a block the columns turn with each other, and the term with F_j drops out. A particle of mass m at r
with velocity u adds B = m [-[r] [u], 0; -[u], 0], so that for a body with first moment h and second moment
matrix P = tr(J) / 2 - J

    B = [Theta, 0; -[p], 0],   Theta = (h . v) 1 - v h^T - [w] P,   p = m v + w x h.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel
from worldline._src.kernels.joints import ANGULAR
from worldline._src.kernels.links import link_inertia
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.inertia import load_inertia, momentum
from worldline._src.spatial.motion import (
    Force,
    add_force,
    add_motion,
    cross_motion,
    load_force,
    load_motion,
    power,
    scale_motion,
    store_spatial,
)
from worldline._src.spatial.vec3 import Vec3, add, cross, dot, scale

CORIOLIS = 12
"""Numbers of a Coriolis matrix: Theta by rows, then p."""


class ColumnWork(NamedTuple):
    """Psi', Psi'' and X of columns, (nv, 6) each; of links accelerations, and of their subtrees Coriolis
    matrices, inertias and forces."""

    rate: Any
    second: Any
    both: Any
    A: Any
    B: Any
    crb: Any
    F: Any


class DynamicsJacobians(NamedTuple):
    """By displacements, by velocities, by accelerations, (nv, nv) each."""

    dq: Any
    dv: Any
    M: Any


@inline
def _store_coriolis(inertia, pos, i, V, B_out):
    """Theta and p of link `i` alone."""
    I = link_inertia(inertia, pos, i)
    h, J, w, v = I.h, I.J, V.ang, V.lin
    half = 0.5 * (J.xx + J.yy + J.zz)
    along = dot(h, v)
    # columns of P, and of [w] P
    X = cross(w, Vec3(half - J.xx, -J.xy, -J.xz))
    Y = cross(w, Vec3(-J.xy, half - J.yy, -J.yz))
    Z = cross(w, Vec3(-J.xz, -J.yz, half - J.zz))
    B_out[i, 0], B_out[i, 1], B_out[i, 2] = along - v.x * h.x - X.x, -(v.x * h.y) - Y.x, -(v.x * h.z) - Z.x
    B_out[i, 3], B_out[i, 4], B_out[i, 5] = -(v.y * h.x) - X.y, along - v.y * h.y - Y.y, -(v.y * h.z) - Z.y
    B_out[i, 6], B_out[i, 7], B_out[i, 8] = -(v.z * h.x) - X.z, -(v.z * h.y) - Y.z, along - v.z * h.z - Z.z
    p = add(scale(v, I.mass), cross(w, h))
    B_out[i, 9], B_out[i, 10], B_out[i, 11] = p.x, p.y, p.z


@inline
def _twice_coriolis(B, i, w):
    """2 B of a motion with angular part `w`."""
    u = add(w, w)
    turn = Vec3(
        B[i, 0] * u.x + B[i, 1] * u.y + B[i, 2] * u.z,
        B[i, 3] * u.x + B[i, 4] * u.y + B[i, 5] * u.z,
        B[i, 6] * u.x + B[i, 7] * u.y + B[i, 8] * u.z,
    )
    return Force(turn, cross(u, Vec3(B[i, 9], B[i, 10], B[i, 11])))


@inline
def _twice_transposed(B, i, S):
    """The angular part of 2 B^T S; its linear part is zero."""
    w = add(S.ang, S.ang)
    turn = Vec3(
        B[i, 0] * w.x + B[i, 3] * w.y + B[i, 6] * w.z,
        B[i, 1] * w.x + B[i, 4] * w.y + B[i, 7] * w.z,
        B[i, 2] * w.x + B[i, 5] * w.y + B[i, 8] * w.z,
    )
    return add(turn, cross(Vec3(B[i, 9], B[i, 10], B[i, 11]), add(S.lin, S.lin)))


@kernel
def column_motions(tree, dof_kind, inertia, pos, vel, operands, work_out):
    """Psi', Psi'' and X of every column, base to tip; Coriolis matrices of subtrees, tip to base. O(n).

    work_out.A: accelerations of links, where the world is accelerated by minus gravity.
    """
    v, a, A = operands.v, operands.a, work_out.A
    parent, v_start, v_end, block = tree.link_parent, tree.link_v_start, tree.link_v_end, tree.dof_block
    B = work_out.B

    for i in range(1, parent.shape[0]):
        V, acceleration = load_motion(vel.link_V, parent[i]), load_motion(A, parent[i])
        carrier, carrier_a = V, acceleration
        whole = load_motion(vel.link_V, i)
        for d in range(v_start[i], v_end[i]):
            if block[d] == 1:
                carrier, carrier_a = V, acceleration
            S = load_motion(pos.dof_S, d)
            rate = cross_motion(carrier, S)
            store_spatial(work_out.rate, d, rate)
            store_spatial(
                work_out.second, d, add_motion(cross_motion(carrier_a, S), cross_motion(carrier, rate))
            )
            if dof_kind[d] == ANGULAR:
                store_spatial(work_out.both, d, add_motion(rate, cross_motion(whole, S)))
            else:
                store_spatial(work_out.both, d, add_motion(rate, rate))
            V = add_motion(V, scale_motion(S, v[d]))
            acceleration = add_motion(
                acceleration, add_motion(scale_motion(S, a[d]), scale_motion(rate, v[d]))
            )
        _store_coriolis(inertia, pos, i, whole, B)

    for i in range(parent.shape[0] - 1, 0, -1):
        p = parent[i]
        if p > 0:
            for k in range(CORIOLIS):
                B[p, k] = B[p, k] + B[i, k]


@kernel
def inverse_dynamics_jacobians(dof, dof_kind, inertia, pos, work, jacobians_out):
    """Derivatives of generalized forces by displacements and velocities, and the mass matrix. O(n depth).

    Only the entries of the tree's pattern are written.
    """
    dq_out, dv_out, M_out = jacobians_out.dq, jacobians_out.dv, jacobians_out.M
    link, above, S, B, crb, F = dof.dof_link, dof.dof_parent, pos.dof_S, work.B, work.crb, work.F

    for d in range(link.shape[0]):
        i = link[d]
        I, s, rate = load_inertia(crb, i), load_motion(S, d), load_motion(work.rate, d)
        # forces of the subtree by an acceleration along the column, a displacement and a velocity
        push = momentum(I, s)
        moved = add_force(momentum(I, load_motion(work.second, d)), _twice_coriolis(B, i, rate.ang))
        sped = add_force(momentum(I, load_motion(work.both, d)), _twice_coriolis(B, i, s.ang))
        turn = _twice_transposed(B, i, s)
        f = load_force(F, i)
        carried = add_force(moved, carried_force(s, f))
        M_out[d, d] = power(push, s) + inertia.dof_armature[d]
        dq_out[d, d], dv_out[d, d] = power(moved, s), power(sped, s)
        e = above[d]
        while e >= 0:
            s_e = load_motion(S, e)
            x = power(push, s_e)
            M_out[d, e], M_out[e, d] = x, x
            dv_out[e, d] = power(sped, s_e)
            dv_out[d, e] = power(push, load_motion(work.both, e)) + dot(turn, s_e.ang)
            if dof_kind[d] == ANGULAR and dof_kind[e] == ANGULAR and link[e] == i:
                dq_out[e, d] = power(moved, s_e)
            else:
                dq_out[e, d] = power(carried, s_e)
            rate_e = load_motion(work.rate, e)
            dq_out[d, e] = power(push, load_motion(work.second, e)) + dot(turn, rate_e.ang)
            e = above[e]


@kernel
def carried_motions(tree, pos, x, link_out, rate_out):
    """V = sum of S x over the columns that carry a link, and V_c x S of every column, base to tip. O(n).

    link_out: (links, 6), row 0 zero. rate_out: (nv, 6). With velocities, accelerations or any other x.
    """
    parent, v_start, v_end, block = tree.link_parent, tree.link_v_start, tree.link_v_end, tree.dof_block
    for i in range(1, parent.shape[0]):
        V = load_motion(link_out, parent[i])
        carrier = V
        for d in range(v_start[i], v_end[i]):
            if block[d] == 1:
                carrier = V
            S = load_motion(pos.dof_S, d)
            store_spatial(rate_out, d, cross_motion(carrier, S))
            V = add_motion(V, scale_motion(S, x[d]))
        store_spatial(link_out, i, V)


@inline
def carried_force(s, f):
    """s x* f."""
    return Force(add(cross(s.ang, f.ang), cross(s.lin, f.lin)), cross(s.ang, f.lin))


@kernel
def inertial_force_jacobian(dof, dof_kind, pos, second, crb, F, dq_out):
    """Derivatives of M(q) w by displacements with w held. O(n depth).

    second: V_c x S of `carried_motions` of w; F: M w as forces of subtrees. Only the entries of the tree's
    pattern are written.
    """
    link, above, S = dof.dof_link, dof.dof_parent, pos.dof_S
    for d in range(link.shape[0]):
        i = link[d]
        I, s = load_inertia(crb, i), load_motion(S, d)
        push, moved = momentum(I, s), momentum(I, load_motion(second, d))
        carried = add_force(moved, carried_force(s, load_force(F, i)))
        dq_out[d, d] = power(moved, s)
        e = above[d]
        while e >= 0:
            s_e = load_motion(S, e)
            if dof_kind[d] == ANGULAR and dof_kind[e] == ANGULAR and link[e] == i:
                dq_out[e, d] = power(moved, s_e)
            else:
                dq_out[e, d] = power(carried, s_e)
            dq_out[d, e] = power(push, load_motion(second, e))
            e = above[e]


@kernel
def subtract_held_forces(dof, dof_kind, pos, F, dq_io):
    """Derivatives of -S^T F by displacements, for forces on links that are held in world axes. O(n depth).

    F: forces of subtrees. A displacement of q_e turns the columns d that it carries by S_e x S_d; within an
    orientation the columns turn with each other.
    """
    link, above, S = dof.dof_link, dof.dof_parent, pos.dof_S
    for d in range(link.shape[0]):
        i = link[d]
        s, f = load_motion(S, d), load_force(F, i)
        e = above[d]
        while e >= 0:
            x = power(f, cross_motion(load_motion(S, e), s))
            dq_io[d, e] = dq_io[d, e] - x
            if dof_kind[d] == ANGULAR and dof_kind[e] == ANGULAR and link[e] == i:
                dq_io[e, d] = dq_io[e, d] + x
            e = above[e]
