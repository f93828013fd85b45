# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics by the recursive Newton-Euler algorithm."""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.links import body_origin, center_of_mass
from worldline._src.spatial.inertia import load_sym3, sym_mul
from worldline._src.spatial.motion import (
    Force,
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
from worldline._src.spatial.vec3 import add, cross, scale


@inline
def newton_euler(inertia, pos, i, V, A):
    """The force that gives link `i` the acceleration `A` while it moves with `V`.

    Worked out in the link's own axes about the centre of mass, where the inertia is constant.
    """
    R = load_mat3(pos.link_R, i)
    c = center_of_mass(inertia, pos, i)
    I = load_sym3(inertia.link_inertia, i)
    w = rotate_back(R, V.ang)
    moment = add(sym_mul(I, rotate_back(R, A.ang)), cross(w, sym_mul(I, w)))
    a_c = add(velocity_at(A, c), cross(V.ang, velocity_at(V, c)))
    f = scale(a_c, inertia.link_mass[i])
    return Force(add(rotate(R, moment), cross(c, f)), f)


@inline
def external_force(body, pos, i, wrench):
    """The external wrench on link `i`, moved from the body origin to the reference point."""
    F = load_force(wrench, body.link_body[i])
    r = body_origin(body, pos, i)
    return Force(add(F.ang, cross(r, F.lin)), F.lin)


@inline
def project(tree, inertia, pos, x, link_F_io, tau_out):
    """tau = S . F + armature x of all joints, with F the force or momentum of subtrees, tip to base."""
    parent = tree.link_parent
    for i in range(parent.shape[0] - 1, 0, -1):
        F = load_force(link_F_io, i)
        for d in range(tree.link_v_start[i], tree.link_v_end[i]):
            tau_out[d] = power(F, load_motion(pos.dof_S, d)) + inertia.dof_armature[d] * x[d]
        p = parent[i]
        if p > 0:
            add_to_force(link_F_io, p, F)


@kernel
def rnea(tree, inertia, pos, vel, a, acc_out, tau_out):
    """Generalized forces for given accelerations [Featherstone 2008, ch. 5].

    Needs poses and velocities current and row 0 of link_A set: minus gravity gives links their weight.
    External wrenches are subtracted from link_F beforehand by `external_forces`. O(n).
    """
    # outputs
    link_A, link_F = acc_out.link_A, acc_out.link_F
    # inputs
    parent, v_start, v_end = tree.link_parent, tree.link_v_start, tree.link_v_end
    S = pos.dof_S

    # base to tip: accelerations, and the force each link needs
    for i in range(1, parent.shape[0]):
        A = add_motion(load_motion(link_A, parent[i]), load_motion(vel.link_c, i))
        for d in range(v_start[i], v_end[i]):
            A = add_joint_motion(A, S, d, a[d])
        store_spatial(link_A, i, A)
        F = newton_euler(inertia, pos, i, load_motion(vel.link_V, i), A)
        add_to_force(link_F, i, F)

    # tip to base: project on the joint, hand the rest to the parent
    project(tree, inertia, pos, a, link_F, tau_out)


@kernel
def no_external_forces(link_F_out):
    """Start link forces from zero."""
    for i in range(link_F_out.shape[0]):
        for k in range(6):
            link_F_out[i, k] = 0.0


@kernel
def external_forces(tree, body, pos, wrench, link_F_out):
    """Start link forces from minus the external wrenches."""
    for i in range(1, tree.link_parent.shape[0]):
        F = external_force(body, pos, i, wrench)
        store_spatial(link_F_out, i, Force(scale(F.ang, -1.0), scale(F.lin, -1.0)))
