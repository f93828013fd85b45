# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Gravity compensation: a passive force at the centre of mass that takes a share of a body's weight."""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.links import center_of_mass
from worldline._src.scalar.ops import constant
from worldline._src.spatial.motion import (
    Force,
    add_to_force,
    load_force,
    load_motion,
    power,
)
from worldline._src.spatial.vec3 import Vec3, cross


@inline
def _compensated_weight(inertia, pos, compensation, i):
    """The part of the weight of a link that is compensated; the compensating force is against it."""
    g, c = compensation.gravity, center_of_mass(inertia, pos, i)
    # f = share m g at the centre of mass c, as a wrench (c x f, f)
    weight = compensation.link_gravcomp[i] * inertia.link_mass[i]
    f = Vec3(constant(g[0] * weight, c.x), constant(g[1] * weight, c.x), constant(g[2] * weight, c.x))
    return Force(cross(c, f), f)


@kernel
def compensate(inertia, pos, compensation, link_F_out):
    """Take the compensating forces off link_F, which holds minus the external wrenches. O(n)."""
    for i in range(1, compensation.link_gravcomp.shape[0]):
        add_to_force(link_F_out, i, _compensated_weight(inertia, pos, compensation, i))


@kernel
def add_joint_forces(tree, pos, link_F_out, tau_out):
    """Add what minus link_F does to the joints, tip to base; link_F is summed up on the way. O(n)."""
    parent, v_start, v_end = tree.link_parent, tree.link_v_start, tree.link_v_end
    for i in range(parent.shape[0] - 1, 0, -1):
        F = load_force(link_F_out, i)
        for d in range(v_start[i], v_end[i]):
            # tau_d -= S_d . F_i, with F_i the sum over the subtree
            tau_out[d] = tau_out[d] - power(F, load_motion(pos.dof_S, d))
        p = parent[i]
        if p > 0:
            add_to_force(link_F_out, p, F)


@kernel
def joint_compensation(tree, inertia, pos, compensation, chosen, compensation_out):
    """What the compensating forces do to the chosen degrees of freedom. O(n depth)."""
    parent, v_start, v_end = tree.link_parent, tree.link_v_start, tree.link_v_end
    for d in range(chosen.shape[0]):
        compensation_out[d] = 0.0
    for i in range(1, compensation.link_gravcomp.shape[0]):
        if compensation.link_gravcomp[i] != 0.0:
            F = _compensated_weight(inertia, pos, compensation, i)
            j = i
            while j > 0:
                for d in range(v_start[j], v_end[j]):
                    # tau_d = -S_d . F_i for every column d that carries the link
                    if chosen[d] != 0:
                        compensation_out[d] = compensation_out[d] - power(F, load_motion(pos.dof_S, d))
                j = parent[j]
