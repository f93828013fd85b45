# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Springs and dampers along the line between two anchors, as forces on links."""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.spatial.motion import (
    Force,
    add_to_force,
    load_motion,
    velocity_at,
)
from worldline._src.spatial.rotation import load_position
from worldline._src.spatial.vec3 import Vec3, cross, dot, load_vec3, scale, sub

_SHORT = 1e-12


@inline
def _velocity(tree, pos, link_V, link, point):
    """Velocity of a point of a link, world axes, and its position from the tree's reference point."""
    if link == 0:
        return Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)
    # v_P = v + w x p, about the reference point of the tree
    p = sub(point, load_vec3(pos.link_origin, tree.link_root[link]))
    return velocity_at(load_motion(link_V, link), p), p


@inline
def _add_force(link_F_io, link, p, f):
    """link_F holds minus the external forces."""
    if link > 0:
        # minus the wrench (p x f, f)
        F = Force(scale(cross(p, f), -1.0), scale(f, -1.0))
        add_to_force(link_F_io, link, F)


@kernel
def spring_forces(tree, pos, link_V, anchors, spring_io, link_F_io):
    """Equal and opposite forces at both ends: stiffness times stretch plus damping times its rate."""
    X, ends, number = anchors.anchor_X, spring_io.spring_end, spring_io.spring_number
    for k in range(ends.shape[0]):
        spring_io.spring_force[k] = 0.0
        a, b = ends[k, 0], ends[k, 1]
        p_a, p_b = load_position(X, a), load_position(X, b)
        link_a, link_b = anchors.anchor_link[a], anchors.anchor_link[b]
        # L = |p_b - p_a|, e = (p_b - p_a) / L
        u = sub(p_b, p_a)
        length = dot(u, u) ** 0.5
        if spring_io.spring_on[k] == 0 or length < _SHORT:
            continue
        e = scale(u, 1.0 / length)
        v_a, r_a = _velocity(tree, pos, link_V, link_a, p_a)
        v_b, r_b = _velocity(tree, pos, link_V, link_b, p_b)
        # f = k (L - L_0) + b L', with L' = e . (v_b - v_a)
        force = number[k, 1] * (length - number[k, 0]) + number[k, 2] * dot(e, sub(v_b, v_a))
        spring_io.spring_force[k] = force
        # e f on end a, -e f on end b
        _add_force(link_F_io, link_a, r_a, scale(e, force))
        _add_force(link_F_io, link_b, r_b, scale(e, -force))
