# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Adhesion: an actuator that pulls a body toward what it touches, shared by all of its contacts."""

from __future__ import annotations

from worldline._src.jit import kernel
from worldline._src.kernels.tendons import add_line_motion, take_moments
from worldline._src.kernels.transmissions import ADHESION
from worldline._src.spatial.vec3 import Vec3, scale


@kernel
def adhesion_moments(dof, tree, pos, found, shapes, body_link, act_io):
    """Moments of adhesive bodies: minus the mean of what their contacts do along their normals."""
    act, moment, margin = act_io, act_io.dof_moment, shapes.shape_contact
    for u in range(act.act_hold.shape[0]):
        if act.act_hold[u, 0] != ADHESION:
            continue
        body, count = act.act_hold[u, 1], 0
        for k in range(min(found.counter[0], found.contact.shape[0])):
            a, b = found.contact_id[k, 2], found.contact_id[k, 3]
            reach = margin[found.contact_id[k, 0], 0] + margin[found.contact_id[k, 1], 0]
            if (a == body or b == body) and -found.contact[k, 6] < reach:
                # dg/dt = n . (v_b - v_a): how fast contact k opens
                count += 1
                point = Vec3(found.contact[k, 0], found.contact[k, 1], found.contact[k, 2])
                normal = Vec3(found.contact[k, 3], found.contact[k, 4], found.contact[k, 5])
                add_line_motion(dof, tree, pos, body_link[b], point, normal, moment)
                add_line_motion(dof, tree, pos, body_link[a], point, scale(normal, -1.0), moment)
        take_moments(act.act_span, act.act_dof, u, moment, act.act_moment)
        for i in range(act.act_span[u, 0], act.act_span[u, 1]):
            # moment = -gear mean_k dg_k/dq, so that a positive force pulls the surfaces together
            act.act_moment[i] *= -act.act_gear[u, 0] / max(count, 1)
        act.act_size[u, 0] = 0.0
