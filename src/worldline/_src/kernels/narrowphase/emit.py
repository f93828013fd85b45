# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Write what the narrow phase found: contacts and distances, in world coordinates."""

from __future__ import annotations

from worldline._src.jit import inline
from worldline._src.kernels.narrowphase.tables import CONTACTS
from worldline._src.spatial.vec3 import Vec3


@inline
def ordered(shapes, i, j):
    """The pair with the lower type first, and whether that swapped it."""
    if shapes.shape_type[i] <= shapes.shape_type[j]:
        return i, j, False
    return j, i, True


@inline
def pair_margin(shapes, i, j):
    return shapes.shape_margin[i] + shapes.shape_margin[j]


@inline
def emit_contact(shapes, out, q, a, b, flip, origin, p, n, depth, feature):
    """One contact of shapes a and b: `p` and `n` (from a to b) in world axes, `p` relative to `origin`."""
    row = out.counter[CONTACTS]
    out.counter[CONTACTS] = row + 1
    if row >= out.contact.shape[0]:
        return
    s = -1.0 if flip else 1.0
    out.contact[row, 0] = origin.x + p.x
    out.contact[row, 1] = origin.y + p.y
    out.contact[row, 2] = origin.z + p.z
    out.contact[row, 3] = s * n.x
    out.contact[row, 4] = s * n.y
    out.contact[row, 5] = s * n.z
    out.contact[row, 6] = depth
    first, second = (b, a) if flip else (a, b)
    out.contact_id[row, 0] = first
    out.contact_id[row, 1] = second
    out.contact_id[row, 2] = shapes.shape_body[first]
    out.contact_id[row, 3] = shapes.shape_body[second]
    out.contact_id[row, 4] = feature
    out.contact_id[row, 5] = q


@inline
def emit_closest(out, q, flip, origin, distance, n, point_a, point_b):
    """The distance of pair `q`; points relative to `origin`, everything in world axes."""
    s = -1.0 if flip else 1.0
    first, second = (point_b, point_a) if flip else (point_a, point_b)
    row = out.closest
    row[q, 0] = distance
    row[q, 1] = s * n.x
    row[q, 2] = s * n.y
    row[q, 3] = s * n.z
    row[q, 4] = origin.x + first.x
    row[q, 5] = origin.y + first.y
    row[q, 6] = origin.z + first.z
    row[q, 7] = origin.x + second.x
    row[q, 8] = origin.y + second.y
    row[q, 9] = origin.z + second.z


@inline
def load_size(shapes, i):
    return Vec3(shapes.shape_size[i, 0], shapes.shape_size[i, 1], shapes.shape_size[i, 2])
