# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics by the articulated-body algorithm."""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.links import center_of_mass, link_inertia
from worldline._src.spatial.inertia import load_sym3, sym_mul
from worldline._src.spatial.motion import (
    Force,
    add_force,
    add_joint_motion,
    add_motion,
    add_to_force,
    load_force,
    load_motion,
    power,
    store_spatial,
    velocity_at,
)
from worldline._src.spatial.rotation import load_mat3, rotate, rotate_back
from worldline._src.spatial.sym6 import (
    load_sym6,
    store_sym6,
    sym6_add,
    sym6_minus_outer,
    sym6_mul,
    sym6_of_inertia,
)
from worldline._src.spatial.vec3 import add, cross, scale


@inline
def velocity_force(inertia, pos, i, V):
    """The force link `i` needs to go on with spatial velocity `V` and no spatial acceleration."""
    R = load_mat3(pos.link_R, i)
    c = center_of_mass(inertia, pos, i)
    w = rotate_back(R, V.ang)
    moment = rotate(R, cross(w, sym_mul(load_sym3(inertia.link_inertia, i), w)))
    f = scale(cross(V.ang, velocity_at(V, c)), inertia.link_mass[i])
    return Force(add(moment, cross(c, f)), f)


@inline
def add_children(inertia, art, i, IA):
    """The inertia of link `i` and what its children left: articulated, before its joint is eliminated."""
    if inertia.link_leaf[i] == 0:
        IA = sym6_add(IA, load_sym6(art.link_IA, i))
    return IA


@inline
def hand_inertia(inertia, i, p, IA, art_out):
    """Hand what is left of the articulated inertia of link `i` to its parent `p`; the first child sets it."""
    if inertia.link_first[i] == 1:
        store_sym6(art_out.link_IA, p, IA)
    else:
        store_sym6(art_out.link_IA, p, sym6_add(load_sym6(art_out.link_IA, p), IA))


@kernel
def aba(tree, inertia, pos, vel, tau, art_out, acc_out, a_out):
    """Accelerations for given generalized forces, O(n) [Featherstone 2008, ch. 7].

    Needs poses and velocities current, row 0 of link_A set, and link_F holding minus the external
    wrenches. The columns of a joint are eliminated one by one, which for a joint of several degrees of
    freedom is the LDL^T factorisation of its block. Degrees of freedom of kinematic bodies keep zero
    acceleration: their inverse inertia is zero.
    """
    # outputs
    dof_U, dof_D, dof_u = art_out.dof_U, art_out.dof_D, art_out.dof_u
    link_A, link_F = acc_out.link_A, acc_out.link_F
    # inputs
    parent, v_start, v_end = tree.link_parent, tree.link_v_start, tree.link_v_end
    S, armature, mobile = pos.dof_S, inertia.dof_armature, inertia.dof_mobile

    # tip to base: articulated inertia and bias force
    for i in range(parent.shape[0] - 1, 0, -1):
        IA = sym6_of_inertia(link_inertia(inertia, pos, i))
        pA = add_force(load_force(link_F, i), velocity_force(inertia, pos, i, load_motion(vel.link_V, i)))
        IA = add_children(inertia, art_out, i, IA)

        # eliminate the joint's columns, last first
        for d in range(v_end[i] - 1, v_start[i] - 1, -1):
            s = load_motion(S, d)
            U = sym6_mul(IA, s)
            # 1 - mobile keeps a kinematic body without mass from dividing zero by zero
            D = mobile[d] / (power(U, s) + (armature[d] + (1.0 - mobile[d])))
            u = tau[d] - power(pA, s)
            store_spatial(dof_U, d, U)
            dof_D[d] = D
            dof_u[d] = u
            IA = sym6_minus_outer(IA, U, D)
            k = u * D
            pA = Force(add(pA.ang, scale(U.ang, k)), add(pA.lin, scale(U.lin, k)))

        # hand what is left to the parent
        p = parent[i]
        if p > 0:
            F = add_force(pA, sym6_mul(IA, load_motion(vel.link_c, i)))
            add_to_force(link_F, p, F)
            hand_inertia(inertia, i, p, IA, art_out)

    # base to tip: accelerations
    for i in range(1, parent.shape[0]):
        A = add_motion(load_motion(link_A, parent[i]), load_motion(vel.link_c, i))
        for d in range(v_start[i], v_end[i]):
            a = (dof_u[d] - power(load_force(dof_U, d), A)) * dof_D[d]
            a_out[d] = a
            A = add_joint_motion(A, S, d, a)
        store_spatial(link_A, i, A)
