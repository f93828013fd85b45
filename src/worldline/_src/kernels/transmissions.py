# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""How actuators take hold: their lengths and what these change by, where that depends on the pose.

On a ball or free joint the moment is the gear itself, in the axes of the joint or of its parent. On a site it
is a wrench given in the axes of the site; with a reference site the force is between the two, in the axes of
the reference, and degrees of freedom that move both count for nothing. A slider-crank turns the position of
its crank into the way of a rod along the axis of its slider.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.tendons import add_line_motion, take_moments
from worldline._src.spatial.motion import load_motion
from worldline._src.spatial.rotation import (
    Quat,
    load_position,
    load_rotation,
    matrix_to_rotation_vector,
    normalized,
    quat_to_matrix,
    quat_to_rotation_vector,
    relative_rotation,
    rotate,
    rotate_back,
)
from worldline._src.spatial.vec3 import Vec3, add, cross, dot, scale, sub

LINEAR, BALL, FREE, TENDON, SITE, BETWEEN_SITES, SLIDER_CRANK, ADHESION = range(8)
"""Kinds of transmissions; LINEAR has a constant moment and a length linear in the coordinates."""


@inline
def _turn_motion(dof, pos, link, axis, moment_io):
    """Moments by degree of freedom grow by the angular velocity of a link about an axis."""
    d = dof.link_last[link] if link > 0 else -1
    while d >= 0:
        # m_d += axis . S_ang
        moment_io[d] += dot(axis, load_motion(pos.dof_S, d).ang)
        d = dof.dof_parent[d]


@inline
def _quaternion(q, at):
    return normalized(Quat(q[at], q[at + 1], q[at + 2], q[at + 3]))


@inline
def _turning(act, u, q, push, turn):
    """Gear on a ball joint, or on the rotation of a free one; returns the length."""
    i, at, moment = act.act_span[u, 0], act.act_hold[u, 1], act.act_moment
    E = _quaternion(q, at)
    length = 0.0
    if act.act_hold[u, 0] == FREE:
        moment[i], moment[i + 1], moment[i + 2] = push.x, push.y, push.z
        i += 3
    else:
        # L = log(E) . gear
        w = quat_to_rotation_vector(E)
        length = dot(w, turn)
    axis = turn
    if act.act_hold[u, 3] != 0:
        # given in the axes of the parent
        axis = rotate_back(quat_to_matrix(E), turn)
    moment[i], moment[i + 1], moment[i + 2] = axis.x, axis.y, axis.z
    return length


@inline
def _site_length(dof, tree, pos, anchors, act, u, push, turn):
    """Moments of a wrench on a site, or between a site and a reference; returns the length."""
    X, a, b, moment = anchors.anchor_X, act.act_hold[u, 1], act.act_hold[u, 2], act.dof_moment
    p_a, link_a = load_position(X, a), anchors.anchor_link[a]
    if b < 0:
        R = load_rotation(X, a)
        # wrench in the axes of the site: m = J_p^T R f + J_w^T R t
        add_line_motion(dof, tree, pos, link_a, p_a, rotate(R, push), moment)
        _turn_motion(dof, pos, link_a, rotate(R, turn), moment)
        return 0.0
    R, p_b, link_b = load_rotation(X, b), load_position(X, b), anchors.anchor_link[b]
    f, t = rotate(R, push), rotate(R, turn)
    add_line_motion(dof, tree, pos, link_a, p_a, f, moment)
    _turn_motion(dof, pos, link_a, t, moment)
    add_line_motion(dof, tree, pos, link_b, p_b, scale(f, -1.0), moment)
    _turn_motion(dof, pos, link_b, scale(t, -1.0), moment)
    # what moves both sites changes nothing between them
    i = dof.link_last[link_a] if link_a > 0 else -1
    j = dof.link_last[link_b] if link_b > 0 else -1
    while i >= 0 and j >= 0 and i != j:
        if i > j:
            i = dof.dof_parent[i]
        else:
            j = dof.dof_parent[j]
    while i >= 0 and i == j:
        moment[i] = 0.0
        i = dof.dof_parent[i]
        j = i
    # L = f . R_b^T (p_a - p_b) + t . log(R_b^T R_a)
    away = matrix_to_rotation_vector(relative_rotation(R, load_rotation(X, a)))
    return dot(push, rotate_back(R, sub(p_a, p_b))) + dot(turn, away)


@inline
def _crank_length(dof, tree, pos, anchors, act, u, rod, gear):
    """Length of a slider-crank along the z axis of its slider, and its moments."""
    X, a, b, moment = anchors.anchor_X, act.act_hold[u, 1], act.act_hold[u, 2], act.dof_moment
    p_a, p_b, R = load_position(X, a), load_position(X, b), load_rotation(X, b)
    axis, arm = Vec3(R.xz, R.yz, R.zz), sub(p_a, p_b)
    # L = x.z - sqrt((x.z)^2 + rod^2 - |x|^2), x = p_a - p_b, z the axis of the slider
    along = dot(arm, axis)
    below = along * along + rod * rod - dot(arm, arm)
    length, by_arm, by_axis = along, axis, arm
    if below > 0.0:
        root = below**0.5
        length = along - root
        # dL/dx = (1 - x.z / root) z + x / root,  dL/dz = (1 - x.z / root) x
        share = 1.0 - along / root
        by_arm, by_axis = add(scale(axis, share), scale(arm, 1.0 / root)), scale(arm, share)
    link_a, link_b = anchors.anchor_link[a], anchors.anchor_link[b]
    add_line_motion(dof, tree, pos, link_a, p_a, scale(by_arm, gear), moment)
    add_line_motion(dof, tree, pos, link_b, p_b, scale(by_arm, -gear), moment)
    _turn_motion(dof, pos, link_b, scale(cross(axis, by_axis), gear), moment)
    return gear * length


@kernel
def transmissions(dof, tree, pos, anchors, tendon, q, act_io):
    """Moments and lengths of actuators that do not hold a coordinate. Rates follow from both."""
    act, moment, gear = act_io, act_io.act_moment, act_io.act_gear
    for u in range(act.act_hold.shape[0]):
        kind = act.act_hold[u, 0]
        if kind == LINEAR or kind == ADHESION:
            continue
        push, turn = Vec3(gear[u, 0], gear[u, 1], gear[u, 2]), Vec3(gear[u, 3], gear[u, 4], gear[u, 5])
        length = 0.0
        if kind == BALL:
            length = _turning(act, u, q, push, push)
        elif kind == FREE:
            length = _turning(act, u, q, push, turn)
        elif kind == TENDON:
            k = act.act_hold[u, 1]
            length = gear[u, 0] * tendon.tendon_size[k, 0]
            # the degrees of freedom are those of the tendon
            first = tendon.tendon_span[k, 0] - act.act_span[u, 0]
            for i in range(act.act_span[u, 0], act.act_span[u, 1]):
                moment[i] = gear[u, 0] * tendon.tendon_moment[first + i]
        elif kind == SLIDER_CRANK:
            length = _crank_length(dof, tree, pos, anchors, act, u, gear[u, 6], gear[u, 0])
            take_moments(act.act_span, act.act_dof, u, act.dof_moment, moment)
        else:
            length = _site_length(dof, tree, pos, anchors, act, u, push, turn)
            take_moments(act.act_span, act.act_dof, u, act.dof_moment, moment)
        act.act_size[u, 0] = length
