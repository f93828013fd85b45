# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Broad phase of worlds in lanes: of all pairs that may touch, those that are near in any world of a group.

Pairs keep their order, so a world has its contacts in the same order whatever worlds are beside it. Boxes are
grown a little beyond rounding errors: a pair that touches in a world is near in it, and what other worlds add
to the list has no contact there.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel, stage
from worldline._src.kernels.broadphase.aabb import pose_shapes
from worldline._src.kernels.narrowphase.lanes import PAIR_CONTACTS
from worldline._src.kernels.narrowphase.tables import (
    NEAR,
    PAIRS,
    candidate_view,
    contact_view,
    fixed_contact_view,
    pair_view,
    shape_box_view,
    shape_pose_view,
)
from worldline._src.scalar.ops import absolute, any_of, is_single, maximum

_SLACK, _SLACK_SINGLE = 1e-9, 1e-5
"""Share of its distance from the origin, or of a metre, by which a side of a box is moved out, in double and
single precision."""


@inline
def _near(box, a, b):
    """Whether two boxes overlap in any world."""
    # the largest gap along the axes: low_a - high_b or low_b - high_a
    gap = maximum(box[a, 0] - box[b, 3], box[b, 0] - box[a, 3])
    gap = maximum(gap, maximum(box[a, 1] - box[b, 4], box[b, 1] - box[a, 4]))
    gap = maximum(gap, maximum(box[a, 2] - box[b, 5], box[b, 2] - box[a, 5]))
    return any_of(gap <= 0.0)


@kernel
def list_near_pairs(candidates, room, box_io, pairs_out, contacts_out):
    """Pairs whose boxes overlap in any world, and the identities of their contacts.

    All that are found are counted in NEAR, the first `room` of them are listed and counted in PAIRS.
    """
    # sides +- slack (1 + |side|)
    for i in range(box_io.shape[0]):
        for k in range(3):
            low, high = box_io[i, k], box_io[i, k + 3]
            slack = _SLACK_SINGLE if is_single(low) else _SLACK
            box_io[i, k] = low - slack * (1.0 + absolute(low))
            box_io[i, k + 3] = high + slack * (1.0 + absolute(high))
    found, body = 0, candidates.shape_body
    for q in range(candidates.candidate.shape[0]):
        a, b = candidates.candidate[q, 0], candidates.candidate[q, 1]
        if _near(box_io, a, b):
            if found < room:
                pairs_out.pair[found, 0], pairs_out.pair[found, 1] = a, b
                for row in range(PAIR_CONTACTS * found, PAIR_CONTACTS * (found + 1)):
                    identity = contacts_out.contact_id[row]
                    identity[0], identity[1], identity[2], identity[3] = a, b, body[a], body[b]
                    identity[5] = q
            found += 1
    pairs_out.counter[NEAR], pairs_out.counter[PAIRS] = found, min(found, room)


@stage
def near_pairs(m, c, args, d):
    """Body poses -> shape poses, pairs that are near in any world."""
    placed = shape_box_view(m, c, args, d)
    pose_shapes(shape_pose_view(m, c, args, d), placed)
    room = fixed_contact_view(m, c, args, d).fixed_contact.shape[0] // PAIR_CONTACTS
    found, listed = contact_view(m, c, args, d), pair_view(m, c, args, d)
    list_near_pairs(candidate_view(m, c, args, d), room, placed.box, listed, found)
