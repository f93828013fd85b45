# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Readings of subtrees and of energy: sums over links."""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.links import center_of_mass
from worldline._src.kernels.sensors.tables import CENTER, CENTER_VELOCITY
from worldline._src.scalar.ops import constant, maximum, sqrt
from worldline._src.spatial.inertia import load_sym3, sym_mul, turned
from worldline._src.spatial.motion import load_motion, velocity_at
from worldline._src.spatial.rotation import load_mat3
from worldline._src.spatial.vec3 import Vec3, add, cross, load_vec3, scale, store_three, sub


@inline
def world_center(tree, inertia, pos, i):
    """Centre of mass of link `i`, world frame."""
    return add(center_of_mass(inertia, pos, i), load_vec3(pos.link_origin, tree.link_root[i]))


@inline
def spin_momentum(inertia, pos, i, a):
    """R J R^T a of link `i`: its inertia about the centre of mass, world axes, times a vector."""
    return sym_mul(turned(load_sym3(inertia.link_inertia, i), load_mat3(pos.link_R, i)), a)


@inline
def _means(tree, inertia, pos, vel, rows, n):
    """Centre of mass of the links of row `n`, and its velocity."""
    zero, mass = constant(0.0, pos.link_R[0, 0]), 0.0
    c, v = Vec3(zero, zero, zero), Vec3(zero, zero, zero)
    for j in range(rows.subtree_row[n, 2], rows.subtree_row[n, 3]):
        i = rows.member[j]
        m = inertia.link_mass[i]
        # sums of m, m c_i and m v_i
        mass = mass + m
        c = add(c, scale(world_center(tree, inertia, pos, i), m))
        v = add(v, scale(velocity_at(load_motion(vel.link_V, i), center_of_mass(inertia, pos, i)), m))
    inverse = 1.0 / mass
    return scale(c, inverse), scale(v, inverse)


@kernel
def read_subtrees(tree, inertia, pos, vel, rows, reading_out):
    """Centre of mass c = sum m c_i / sum m, its velocity, and the angular momentum about it.

    h = sum (J_i w_i + (c_i - c) x m_i (v_i - c')).
    """
    for n in range(rows.subtree_row.shape[0]):
        at, quantity = rows.subtree_row[n, 0], rows.subtree_row[n, 1]
        c, v = _means(tree, inertia, pos, vel, rows, n)
        if quantity == CENTER:
            store_three(reading_out, at, c)
        elif quantity == CENTER_VELOCITY:
            store_three(reading_out, at, v)
        else:
            zero = constant(0.0, c.x)
            h = Vec3(zero, zero, zero)
            for j in range(rows.subtree_row[n, 2], rows.subtree_row[n, 3]):
                i = rows.member[j]
                V = load_motion(vel.link_V, i)
                # h += J_i w_i + (c_i - c) x m_i (v_i - v)
                arm = sub(world_center(tree, inertia, pos, i), c)
                speed = sub(velocity_at(V, center_of_mass(inertia, pos, i)), v)
                h = add(h, spin_momentum(inertia, pos, i, V.ang))
                h = add(h, cross(arm, scale(speed, inertia.link_mass[i])))
            store_three(reading_out, at, h)


@kernel
def add_spring_energy(tendon, springs, anchor_X, at, reading_io):
    """Energy of tendons, 1/2 k stretch^2 beyond the lengths at rest, and of springs between bodies."""
    total = reading_io[at]
    for i in range(tendon.tendon_spring.shape[0]):
        # E += 1/2 k max(L - L_high, 0)^2 + 1/2 k max(L_low - L, 0)^2
        length, law = tendon.tendon_size[i, 0], tendon.tendon_spring
        stretch = maximum(length - law[i, 3], 0.0) + maximum(law[i, 2] - length, 0.0)
        total = total + 0.5 * law[i, 0] * stretch * stretch
    for i in range(springs.spring_end.shape[0]):
        if springs.spring_on[i] != 0:
            a, b = springs.spring_end[i, 0], springs.spring_end[i, 1]
            # E += 1/2 k (|p_b - p_a| - L_0)^2
            x, y = anchor_X[b, 0] - anchor_X[a, 0], anchor_X[b, 1] - anchor_X[a, 1]
            z = anchor_X[b, 2] - anchor_X[a, 2]
            stretch = sqrt(x * x + y * y + z * z) - springs.spring_number[i, 0]
            total = total + 0.5 * springs.spring_number[i, 1] * stretch * stretch
    reading_io[at] = total
