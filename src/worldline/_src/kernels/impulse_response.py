# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The change of velocities by generalized impulses: the articulated-body algorithm of a tree at rest."""

from __future__ import annotations

from worldline._src.jit import kernel
from worldline._src.kernels.links import link_inertia
from worldline._src.scalar.ops import constant
from worldline._src.spatial.motion import (
    Force,
    Motion,
    add_force,
    add_motion,
    load_force,
    load_motion,
    power,
    scale_motion,
    store_spatial,
)
from worldline._src.spatial.sym6 import (
    load_sym6,
    store_sym6,
    sym6_add,
    sym6_minus_outer,
    sym6_mul,
    sym6_of_inertia,
)
from worldline._src.spatial.vec3 import Vec3, add, scale


@kernel
def impulse_response(tree, inertia, pos, extra, impulse, art_out, acc_out, dv_out):
    """Solve (M + diag(extra)) dv = impulse, O(n) [Featherstone 2008, ch. 7].

    Needs poses current. Degrees of freedom that are not mobile keep their velocity, whatever pushes them.
    """
    # outputs
    link_IA, dof_U, dof_D, dof_u = art_out.link_IA, art_out.dof_U, art_out.dof_D, art_out.dof_u
    link_A, link_F = acc_out.link_A, acc_out.link_F
    # inputs
    parent, v_start, v_end = tree.link_parent, tree.link_v_start, tree.link_v_end
    leaf, first = inertia.link_leaf, inertia.link_first
    S, armature, mobile = pos.dof_S, inertia.dof_armature, inertia.dof_mobile

    # tip to base: articulated inertia and what impulses leave for the parent
    for i in range(parent.shape[0] - 1, 0, -1):
        IA = sym6_of_inertia(link_inertia(inertia, pos, i))
        zero = constant(0.0, pos.link_p[i, 0])
        none = Vec3(zero, zero, zero)
        pA = Force(none, none)
        if leaf[i] == 0:
            IA = sym6_add(IA, load_sym6(link_IA, i))
            pA = load_force(link_F, i)

        # eliminate the joint's columns, last first
        for d in range(v_end[i] - 1, v_start[i] - 1, -1):
            s = load_motion(S, d)
            U = sym6_mul(IA, s)
            D = mobile[d] / (power(U, s) + (armature[d] + (1.0 - mobile[d])) + extra[d])
            u = impulse[d] - power(pA, s)
            store_spatial(dof_U, d, U)
            dof_D[d] = D
            dof_u[d] = u
            IA = sym6_minus_outer(IA, U, D)
            k = u * D
            pA = Force(add(pA.ang, scale(U.ang, k)), add(pA.lin, scale(U.lin, k)))

        p = parent[i]
        if p > 0:
            if first[i] == 1:
                store_sym6(link_IA, p, IA)
                store_spatial(link_F, p, pA)
            else:
                store_sym6(link_IA, p, sym6_add(load_sym6(link_IA, p), IA))
                store_spatial(link_F, p, add_force(load_force(link_F, p), pA))

    # base to tip: velocities; the world does not move
    for i in range(1, parent.shape[0]):
        p = parent[i]
        zero = constant(0.0, pos.link_p[i, 0])
        none = Vec3(zero, zero, zero)
        A = load_motion(link_A, p) if p > 0 else Motion(none, none)
        for d in range(v_start[i], v_end[i]):
            dv = (dof_u[d] - power(load_force(dof_U, d), A)) * dof_D[d]
            dv_out[d] = dv
            A = add_motion(A, scale_motion(load_motion(S, d), dv))
        store_spatial(link_A, i, A)
