# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Generalized forces of accelerations alone: the product of the mass matrix with a vector."""

from __future__ import annotations

from worldline._src.jit import kernel
from worldline._src.kernels.links import link_inertia
from worldline._src.kernels.rnea import project
from worldline._src.scalar.ops import constant
from worldline._src.spatial.inertia import momentum
from worldline._src.spatial.motion import (
    Motion,
    add_joint_motion,
    load_motion,
    store_spatial,
)
from worldline._src.spatial.vec3 import Vec3


@kernel
def inertial_forces(tree, inertia, pos, w, acc_out, tau_out):
    """M(q) w by the recursive Newton-Euler algorithm at rest [Featherstone 2008, ch. 5]. O(n)."""
    # outputs
    link_A, link_F = acc_out.link_A, acc_out.link_F
    # inputs
    parent, v_start, v_end = tree.link_parent, tree.link_v_start, tree.link_v_end
    S = pos.dof_S

    # base to tip: accelerations, and the force each link needs
    for i in range(1, parent.shape[0]):
        zero = constant(0.0, S[0, 0])
        none = Vec3(zero, zero, zero)
        A = Motion(none, none)
        if parent[i] > 0:
            A = load_motion(link_A, parent[i])
        for d in range(v_start[i], v_end[i]):
            A = add_joint_motion(A, S, d, w[d])
        store_spatial(link_A, i, A)
        store_spatial(link_F, i, momentum(link_inertia(inertia, pos, i), A))

    # tip to base: project on the joint, hand the rest to the parent
    project(tree, inertia, pos, w, link_F, tau_out)
