# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Lengths of tendons, how they change with the degrees of freedom, and their springs and dampers.

A fixed tendon is a sum over coordinates. One that runs through space is a chain of straight stretches
between anchors and around shapes; what lies on a shape moves with it, so only straight stretches between
different links change the length, by the velocity difference of their ends along them.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.wrapping import wrap
from worldline._src.scalar.ops import constant, sqrt, where
from worldline._src.spatial.motion import load_motion
from worldline._src.spatial.rotation import load_position, load_rotation
from worldline._src.spatial.vec3 import Vec3, add, cross, dot, scale, sub

ANCHOR, SPHERE, CYLINDER, PULLEY = range(4)
_SHORT = 1e-15


@inline
def add_line_motion(dof, tree, pos, link, point, direction, moment_io):
    """Moments by degree of freedom grow by the velocity of a point of a link along a direction."""
    if link > 0:
        origin, root = pos.link_origin, tree.link_root[link]
        # dL/dq_d = e . (S_lin + S_ang x p), over all degrees of freedom d that carry the link
        p = sub(point, Vec3(origin[root, 0], origin[root, 1], origin[root, 2]))
        d = dof.link_last[link]
        while d >= 0:
            S = load_motion(pos.dof_S, d)
            moment_io[d] = moment_io[d] + dot(direction, add(S.lin, cross(S.ang, p)))
            d = dof.dof_parent[d]


@inline
def take_moments(span, dofs, k, scratch_io, moment_out):
    """Moments of tendon or actuator `k` out of those by degree of freedom, which are zero afterwards."""
    for i in range(span[k, 0], span[k, 1]):
        moment_out[i] = scratch_io[dofs[i]]
        scratch_io[dofs[i]] = 0.0


@inline
def _stretch(dof, tree, pos, link_a, a, link_b, b, share, moment_io):
    """A straight stretch of a tendon: returns its length, and counts its ends."""
    # L = |b - a| / pulley;  dL/dt = e . (v_b - v_a),  e = (b - a) / |b - a|
    u = sub(b, a)
    length = dot(u, u) ** 0.5
    if link_a != link_b and length > _SHORT:
        e = scale(u, share / length)
        add_line_motion(dof, tree, pos, link_b, b, e, moment_io)
        add_line_motion(dof, tree, pos, link_a, a, scale(e, -1.0), moment_io)
    return length * share


@inline
def _path_length(dof, tree, pos, tendon, anchors, k, moment_io):
    """Length of tendon `k` along its path; moments by degree of freedom grow."""
    X, kind = anchors.anchor_X, tendon.node_kind
    j, end = tendon.tendon_path[k, 0], tendon.tendon_path[k, 1]
    total, share = 0.0, 1.0
    while j < end - 1:
        if kind[j] == PULLEY:
            # behind a pulley lengths count divided by its divisor
            share = 1.0 / tendon.node_number[j]
            j += 1
            continue
        if kind[j + 1] == PULLEY:
            j += 1
            continue
        a = tendon.node_anchor[j]
        p_a, link_a = load_position(X, a), anchors.anchor_link[a]
        wraps = kind[j + 1] != ANCHOR
        b = tendon.node_anchor[j + 2 if wraps else j + 1]
        p_b, link_b = load_position(X, b), anchors.anchor_link[b]
        length = -1.0
        if wraps:
            c, side = tendon.node_anchor[j + 1], tendon.node_side[j + 1]
            link_c = anchors.anchor_link[c]
            at = load_position(X, side if side >= 0 else c)
            # around a shape: straight to a tangent point, along the surface, straight on from another
            lies = wrap(
                p_a,
                p_b,
                load_position(X, c),
                load_rotation(X, c),
                tendon.node_number[j + 1],
                kind[j + 1] == CYLINDER,
                side >= 0,
                at,
            )
            length = lies.length
            if length >= 0.0:
                total += length * share
                total += _stretch(dof, tree, pos, link_a, p_a, link_c, lies.first, share, moment_io)
                total += _stretch(dof, tree, pos, link_c, lies.last, link_b, p_b, share, moment_io)
        if length < 0.0:
            total += _stretch(dof, tree, pos, link_a, p_a, link_b, p_b, share, moment_io)
        j += 2 if wraps else 1
    return total


@inline
def _has_path(tendon, k):
    """Whether tendon `k` runs along a path; a fixed one does not."""
    return tendon.tendon_path[k, 0] != tendon.tendon_path[k, 1]


@inline
def _fixed_lengths(tendon_io, q):
    """Lengths of fixed tendons, L = sum c_i q_i, and their moments c_i."""
    tendon, moment, size = tendon_io, tendon_io.tendon_moment, tendon_io.tendon_size
    for k in range(size.shape[0]):
        if not _has_path(tendon, k):
            length = constant(0.0, size[k, 0])
            for i in range(tendon.tendon_span[k, 0], tendon.tendon_span[k, 1]):
                moment[i] = constant(tendon.tendon_coefficient[i], length)
                length = length + moment[i] * q[tendon.dof_q[tendon.tendon_dof[i]]]
            size[k, 0] = length


@inline
def _rates(tendon_io, v):
    """Rates of all lengths, dL/dt = sum m_i v_i."""
    tendon, size = tendon_io, tendon_io.tendon_size
    for k in range(size.shape[0]):
        rate = constant(0.0, size[k, 0])
        for i in range(tendon.tendon_span[k, 0], tendon.tendon_span[k, 1]):
            rate = rate + tendon.tendon_moment[i] * v[tendon.tendon_dof[i]]
        size[k, 1] = rate


@inline
def _keep_path(length, k, tendon_io):
    """The length of tendon `k`, and its moments out of those by degree of freedom."""
    tendon = tendon_io
    tendon.tendon_size[k, 0] = length
    take_moments(tendon.tendon_span, tendon.tendon_dof, k, tendon.dof_moment, tendon.tendon_moment)


@kernel
def tendon_lengths(dof, tree, pos, anchors, q, v, tendon_io):
    """Lengths, their rates and moments of all tendons."""
    tendon = tendon_io
    _fixed_lengths(tendon, q)
    for k in range(tendon.tendon_size.shape[0]):
        if _has_path(tendon, k):
            _keep_path(_path_length(dof, tree, pos, tendon, anchors, k, tendon.dof_moment), k, tendon)
    _rates(tendon, v)


@inline
def _straight_length(dof, tree, pos, tendon, anchors, k, moment_io):
    """Length of tendon `k` along a path of straight stretches; moments by degree of freedom grow."""
    X, kind = anchors.anchor_X, tendon.node_kind
    total, share = constant(0.0, moment_io[0]), 1.0
    for j in range(tendon.tendon_path[k, 0], tendon.tendon_path[k, 1] - 1):
        if kind[j] == PULLEY:
            share = 1.0 / tendon.node_number[j]
        elif kind[j + 1] != PULLEY:
            a, b = tendon.node_anchor[j], tendon.node_anchor[j + 1]
            link_a, link_b = anchors.anchor_link[a], anchors.anchor_link[b]
            p_a, p_b = load_position(X, a), load_position(X, b)
            u = sub(p_b, p_a)
            length = sqrt(dot(u, u))
            if link_a != link_b:
                # a stretch without length has no direction
                known = length > _SHORT
                scaled = share * (1.0 / where(known, length, constant(1.0, length)))
                e = scale(u, where(known, scaled, constant(0.0, length)))
                add_line_motion(dof, tree, pos, link_b, p_b, e, moment_io)
                add_line_motion(dof, tree, pos, link_a, p_a, scale(e, -1.0), moment_io)
            total = total + length * share
    return total


@kernel
def straight_tendon_lengths(dof, tree, pos, anchors, q, v, tendon_io):
    """`tendon_lengths` for tendons that wrap around nothing, free of branches on numbers."""
    tendon = tendon_io
    _fixed_lengths(tendon, q)
    for k in range(tendon.tendon_size.shape[0]):
        if _has_path(tendon, k):
            _keep_path(_straight_length(dof, tree, pos, tendon, anchors, k, tendon.dof_moment), k, tendon)
    _rates(tendon, v)


@kernel
def tendon_forces(tendon_io, tau_io):
    """Springs beyond the lengths where they are at rest, and dampers."""
    tendon, spring = tendon_io, tendon_io.tendon_spring
    for k in range(spring.shape[0]):
        length, rate = tendon.tendon_size[k, 0], tendon.tendon_size[k, 1]
        # f = k (bound - L) outside of the rest interval, minus b dL/dt;  tau_d += m_d f
        beyond = where(length > spring[k, 3], spring[k, 3] - length, constant(0.0, length))
        stretch = where(length < spring[k, 2], spring[k, 2] - length, beyond)
        force = -spring[k, 1] * rate + spring[k, 0] * stretch
        tendon.tendon_size[k, 2] = force
        for i in range(tendon.tendon_span[k, 0], tendon.tendon_span[k, 1]):
            d = tendon.tendon_dof[i]
            tau_io[d] = tau_io[d] + tendon.tendon_moment[i] * force
