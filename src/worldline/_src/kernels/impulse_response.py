# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The change of velocities by generalized impulses: the articulated-body algorithm of a tree at rest."""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.aba import add_children, hand_inertia
from worldline._src.kernels.ground_contact import add_yielding
from worldline._src.kernels.links import link_inertia
from worldline._src.scalar.ops import constant
from worldline._src.spatial.motion import (
    Force,
    Motion,
    add_joint_motion,
    add_to_force,
    load_force,
    load_motion,
    power,
    store_spatial,
)
from worldline._src.spatial.sym6 import (
    sym6_minus_outer,
    sym6_mul,
    sym6_of_inertia,
)
from worldline._src.spatial.vec3 import Vec3, add, scale


@inline
def _eliminate(tree, inertia, pos, extra, i, IA, art_out):
    """Eliminate the columns of the joint of link `i`, last first, and hand the rest to its parent."""
    # outputs
    dof_U, dof_D = art_out.dof_U, art_out.dof_D
    # inputs
    armature, mobile = inertia.dof_armature, inertia.dof_mobile

    for d in range(tree.link_v_end[i] - 1, tree.link_v_start[i] - 1, -1):
        s = load_motion(pos.dof_S, d)
        U = sym6_mul(IA, s)
        # D = 1 / (S . U + armature + extra),  IA -= U U^T D
        D = mobile[d] / (power(U, s) + (armature[d] + (1.0 - mobile[d])) + extra[d])
        store_spatial(dof_U, d, U)
        dof_D[d] = D
        IA = sym6_minus_outer(IA, U, D)

    p = tree.link_parent[i]
    if p > 0:
        hand_inertia(inertia, i, p, IA, art_out)


@kernel
def factor(tree, inertia, pos, extra, art_out):
    """Factor M + diag(extra), O(n), as the articulated-body algorithm does [Featherstone 2008, ch. 7].

    Needs poses current. Writes dof_U and dof_D, which `respond` needs with the columns dof_S of now.
    """
    for i in range(tree.link_parent.shape[0] - 1, 0, -1):
        IA = add_children(inertia, art_out, i, sym6_of_inertia(link_inertia(inertia, pos, i)))
        _eliminate(tree, inertia, pos, extra, i, IA, art_out)


@kernel
def factor_on_ground(tree, inertia, pos, extra, ground, art_out):
    """Factor M + diag(extra) + sum of J^T W J over the points on the ground, O(n).

    A point adds inertia to its link, see `ground_contact.ground_yielding`.
    """
    g = 0
    for i in range(tree.link_parent.shape[0] - 1, 0, -1):
        IA = add_children(inertia, art_out, i, sym6_of_inertia(link_inertia(inertia, pos, i)))
        # points stand in the order of this loop
        while g < ground.ground_link.shape[0] and ground.ground_link[g] == i:
            IA = add_yielding(IA, ground, g)
            g += 1
        _eliminate(tree, inertia, pos, extra, i, IA, art_out)


@kernel
def respond(tree, inertia, dof_S, impulse, art_io, acc_out, dv_out):
    """Velocities that impulses cause: solve with what `factor` left. O(n).

    Degrees of freedom that are not mobile keep their velocity, whatever pushes them.
    """
    # outputs
    link_A, link_F = acc_out.link_A, acc_out.link_F
    # inputs
    parent, v_start, v_end = tree.link_parent, tree.link_v_start, tree.link_v_end
    leaf, first = inertia.link_leaf, inertia.link_first
    dof_U, dof_D, dof_u = art_io.dof_U, art_io.dof_D, art_io.dof_u
    zero = constant(0.0, impulse[0])
    none = Vec3(zero, zero, zero)

    # tip to base: what impulses leave for the parent
    for i in range(parent.shape[0] - 1, 0, -1):
        pA = load_force(link_F, i) if leaf[i] == 0 else Force(none, none)
        for d in range(v_end[i] - 1, v_start[i] - 1, -1):
            u = impulse[d] - power(pA, load_motion(dof_S, d))
            dof_u[d] = u
            U = load_force(dof_U, d)
            k = u * dof_D[d]
            pA = Force(add(pA.ang, scale(U.ang, k)), add(pA.lin, scale(U.lin, k)))
        p = parent[i]
        if p > 0:
            if first[i] == 1:
                store_spatial(link_F, p, pA)
            else:
                add_to_force(link_F, p, pA)

    # base to tip: velocities; the world does not move
    for i in range(1, parent.shape[0]):
        p = parent[i]
        A = load_motion(link_A, p) if p > 0 else Motion(none, none)
        for d in range(v_start[i], v_end[i]):
            dv = (dof_u[d] - power(load_force(dof_U, d), A)) * dof_D[d]
            dv_out[d] = dv
            A = add_joint_motion(A, dof_S, d, dv)
        store_spatial(link_A, i, A)
