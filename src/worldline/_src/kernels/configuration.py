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
from worldline._src.spatial.vec3 import Vec3, load_three, store_three


@inline
def _adding(tree, i):
    """How many coordinates of link `i` add up: all of axes, the position of a free joint."""
    kind = tree.link_kind[i]
    count = 0
    if adds_up(kind):
        count = tree.link_v_end[i] - tree.link_v_start[i]
    if kind == FREE:
        count = 3
    return count


@kernel
def integrate(tree, q, v, h, q_out):
    """q_out = q moved by the displacement h v."""
    kind = tree.link_kind
    for i in range(1, kind.shape[0]):
        qi, vi, count = tree.link_q_start[i], tree.link_v_start[i], _adding(tree, i)
        for d in range(count):
            # q + h v
            q_out[qi + d] = q[qi + d] + h * v[vi + d]
        if kind[i] == BALL or kind[i] == FREE:
            # Q exp(h w), w in body axes
            at, w = qi + count, load_three(v, vi + count)
            turn = rotation_vector_to_quat(Vec3(h * w.x, h * w.y, h * w.z))
            store_quat(q_out, at, normalized(quat_mul(normalized(load_quat(q, at)), turn)))


@kernel
def difference(tree, q, q_other, v_out):
    """v_out: the shortest displacement that moves q to q_other."""
    kind = tree.link_kind
    for i in range(1, kind.shape[0]):
        qi, vi, count = tree.link_q_start[i], tree.link_v_start[i], _adding(tree, i)
        for d in range(count):
            # q' - q
            v_out[vi + d] = q_other[qi + d] - q[qi + d]
        if kind[i] == BALL or kind[i] == FREE:
            # log(Q^-1 Q'), in body axes
            a, b = normalized(load_quat(q, qi + count)), normalized(load_quat(q_other, qi + count))
            store_three(v_out, vi + count, quat_to_rotation_vector(quat_mul(conjugate(a), b)))


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
