# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What parameters of kernels mean in stages over the arenas of sensors: operands by name."""

from __future__ import annotations

from worldline._src.derived_stages import Cut, Operand, Part, StageMaker
from worldline._src.jit import inline
from worldline._src.kernels.constraints import tables as r
from worldline._src.kernels.sensors import tables as s
from worldline._src.kernels.sensors.contacts import Touching
from worldline._src.kinds import float64, int64
from worldline._src.model import views as t
from worldline._src.scalar.memory import address_as
from worldline._src.step.constraint_operands import CONSTRAINTS
from worldline._src.step.reaching import address_like, contacts_of, trees_of
from worldline._src.step.tree_operands import TREES


@inline
def sensor_rows(args, d):
    """The arenas of constraint rows: m, c, args, d."""
    m, own = address_as(args[s.ROW_M], int64), address_as(args[s.ROW_ARGS], int64)
    return m, address_as(args[s.ROW_C], float64), own, address_like(args[s.ROW_D], d)


@inline
def touching(args, d):
    """Contacts of the present state and their forces."""
    rm, rc, ra, rd = sensor_rows(args, d)
    found, frame = contacts_of(ra, rd), r.contact_frame_view(rm, rc, ra, rd)
    return Touching(
        found.contact,
        found.contact_id,
        frame.contact_row,
        frame.frame,
        r.record_view(rm, rc, ra, rd).contact_force,
        frame.counter,
    )


SENSORS: dict[str, Operand] = {
    "frames": Cut(s.frame_view),
    "touching": Cut(touching),
    "reading": Cut(s.reading_view, "reading"),
    "readings": Cut(s.reading_view),
    "pose_rows": Cut(s.pose_row_view),
    "rate_rows": Cut(s.rate_row_view),
    "state_rows": Cut(s.state_row_view),
    "subtree_rows": Cut(s.subtree_row_view),
    "effort_rows": Cut(s.effort_row_view),
    "force_rows": Cut(s.force_row_view),
    "touch_rows": Cut(s.touch_row_view),
    "found_rows": Cut(s.found_row_view),
    "ray_rows": Cut(s.ray_row_view),
    "distance_rows": Cut(s.distance_row_view),
}

sensor_stage = StageMaker(
    Part(SENSORS, s), Part(TREES, t, "t", trees_of), Part(CONSTRAINTS, r, "r", sensor_rows)
)
"""Stages over the arenas of sensors, which reach those of the trees and of constraint rows."""
