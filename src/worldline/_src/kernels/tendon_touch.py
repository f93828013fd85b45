# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Where a tendon touches the shape it wraps, for Python: the same way around as that of the step."""

from __future__ import annotations

from worldline._src.jit import entry
from worldline._src.kernels.wrapping import wrap
from worldline._src.spatial.rotation import load_mat3
from worldline._src.spatial.vec3 import Vec3, load_vec3, store_vec3


@entry(
    signature="float64[:,::1] float64[:,::1] float64 boolean boolean float64[:,::1]",
    label="tendons around shapes",
)
def tendon_touch(points, R_W, radius, cylinder, sided, touch_out):
    """The length on the shape [m], and its ends in touch_out, (2, 3); -1 where the tendon passes freely.

    points: start, end, centre of the shape and side point, world frame [m], (4, 3). R_W: (1, 9), axes of the
    shape in the world by rows of a matrix. The side point counts when `sided`.
    """
    start, end, center, side = (
        load_vec3(points, 0),
        load_vec3(points, 1),
        load_vec3(points, 2),
        load_vec3(points, 3),
    )
    found = wrap(start, end, center, load_mat3(R_W, 0), radius, cylinder, sided, side)
    store_vec3(touch_out, 0, Vec3(found.first.x, found.first.y, found.first.z))
    store_vec3(touch_out, 1, Vec3(found.last.x, found.last.y, found.last.z))
    return found.length
