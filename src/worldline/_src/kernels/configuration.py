# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Coordinates as points of a manifold: integrate, difference, interpolate, springs and dampers.

Axis coordinates add up. Orientations move by the exponential of the body's angular displacement, and
the position of a free joint adds up in the joint's axes, as its velocity is defined.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.joints import BALL, FREE, adds_up
from worldline._src.spatial.rotation import (
    conjugate,
    load_quat,
    normalized,
    quat_mul,
    quat_to_rotation_vector,
    rotation_vector_to_quat,
    store_quat,
)
from worldline._src.spatial.vec3 import Vec3


@kernel
def integrate(tree, q, v, h, q_out):
    """q_out = q moved by the displacement h v."""
    kind, q_start, v_start, v_end = (
        tree.link_kind,
        tree.link_q_start,
        tree.link_v_start,
        tree.link_v_end,
    )

    for i in range(1, kind.shape[0]):
        k = kind[i]
        qi = q_start[i]
        vi = v_start[i]
        if adds_up(k):
            for d in range(v_end[i] - vi):
                # q + h v
                q_out[qi + d] = q[qi + d] + h * v[vi + d]
        if k == FREE:
            for d in range(3):
                q_out[qi + d] = q[qi + d] + h * v[vi + d]
            qi = qi + 3
            vi = vi + 3
        if k == BALL or k == FREE:
            # Q exp(h w), w in body axes
            turn = rotation_vector_to_quat(Vec3(h * v[vi], h * v[vi + 1], h * v[vi + 2]))
            store_quat(q_out, qi, normalized(quat_mul(normalized(load_quat(q, qi)), turn)))


@kernel
def difference(tree, q, q_other, v_out):
    """v_out: the shortest displacement that moves q to q_other."""
    kind, q_start, v_start, v_end = (
        tree.link_kind,
        tree.link_q_start,
        tree.link_v_start,
        tree.link_v_end,
    )

    for i in range(1, kind.shape[0]):
        k = kind[i]
        qi = q_start[i]
        vi = v_start[i]
        if adds_up(k):
            for d in range(v_end[i] - vi):
                v_out[vi + d] = q_other[qi + d] - q[qi + d]
        if k == FREE:
            for d in range(3):
                v_out[vi + d] = q_other[qi + d] - q[qi + d]
            qi = qi + 3
            vi = vi + 3
        if k == BALL or k == FREE:
            # log(Q^-1 Q'), in body axes
            a = normalized(load_quat(q, qi))
            b = normalized(load_quat(q_other, qi))
            r = quat_to_rotation_vector(quat_mul(conjugate(a), b))
            v_out[vi] = r.x
            v_out[vi + 1] = r.y
            v_out[vi + 2] = r.z


@inline
def passive_force(passive, d, displacement, v):
    """Spring and damper on one degree of freedom; displacement leads back to q_rest."""
    return passive.dof_stiffness[d] * displacement[d] - passive.dof_damping[d] * v[d]


@kernel
def spring_energy(passive, displacement, result_out):
    """Energy stored in springs, 1/2 k x^2 summed, added to result_out[0]."""
    energy = result_out[0]
    for d in range(displacement.shape[0]):
        energy = energy + 0.5 * passive.dof_stiffness[d] * displacement[d] * displacement[d]
    result_out[0] = energy
