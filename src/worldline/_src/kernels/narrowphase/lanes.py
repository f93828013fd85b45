# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The families that run for several worlds at once: round shapes, and round shapes and boxes on half spaces.

All worlds look at the same pairs, so there is no list of contacts but a fixed layout of four rows
a pair: position, normal, depth and feature. A row without a contact has the depth -BOTTOMLESS; so has, in
the rows of contacts that a step reads, a row beyond the margin of its pair. Pairs that are apart in all
worlds are left out by the spheres about them; else nothing branches on a number, and a lane has the bits of
the same world alone.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel, stage
from worldline._src.kernels.broadphase.aabb import pose_shape
from worldline._src.kernels.narrowphase.emit import ordered, pair_margin
from worldline._src.kernels.narrowphase.flat import plane_box, plane_capsule
from worldline._src.kernels.narrowphase.operands import collision_stage
from worldline._src.kernels.narrowphase.round import round_contacts
from worldline._src.kernels.narrowphase.tables import (
    BOTTOMLESS,
    BOX,
    CAPSULE,
    PAIRS,
    PLANE,
    shape_pose_view,
    shape_view,
)
from worldline._src.kernels.narrowphase.values import add_scaled
from worldline._src.scalar.ops import any_of, constant, is_single, where
from worldline._src.spatial.rotation import load_axis, load_position, load_rotation
from worldline._src.spatial.vec3 import Vec3, add, dot, scale, sub

PAIR_CONTACTS = 4
"""Rows of the fixed layout that a pair has."""
_ROUNDING, _ROUNDING_SINGLE = 1.0 + 1e-9, 1.0 + 1e-5
"""Squares of distances that differ by less are looked at, in double and single precision."""


def is_fixed_pair(type_a, type_b):
    """Whether a pair of types, the lower first, is of these families."""
    if type_a == PLANE:
        return PLANE < type_b <= BOX
    return type_b <= CAPSULE


has_fixed_contacts = inline(is_fixed_pair)


@inline
def _put(contact_rows, row, origin, p, n, depth, feature):
    contact_rows[row, 0], contact_rows[row, 1], contact_rows[row, 2] = (
        origin.x + p.x,
        origin.y + p.y,
        origin.z + p.z,
    )
    contact_rows[row, 3], contact_rows[row, 4], contact_rows[row, 5] = n.x, n.y, n.z
    contact_rows[row, 6], contact_rows[row, 7] = depth, feature


@inline
def _put_empty(contact_rows, row, like):
    zero = constant(0.0, like)
    none = Vec3(zero, zero, zero)
    _put(contact_rows, row, none, none, none, constant(-BOTTOMLESS, like), zero)


@inline
def _half_vector(shapes, i):
    half = shapes.shape_size[i, 1] if shapes.shape_type[i] == CAPSULE else 0.0
    return scale(load_axis(shapes.shape_X_W, i), half)


@inline
def _fixed_round(shapes, a, b, contact_rows, row):
    X = shapes.shape_X_W
    origin = load_position(X, a)
    p = sub(load_position(X, b), origin)
    ra, rb = shapes.shape_size[a, 0], shapes.shape_size[b, 0]
    first, second = round_contacts(_half_vector(shapes, a), _half_vector(shapes, b), p, ra, rb)
    middle = scale(add(first.point_a, first.point_b), 0.5)
    zero = constant(0.0, p.x)
    _put(contact_rows, row, origin, middle, first.normal, -first.distance, zero)
    middle = scale(add(second.point_a, second.point_b), 0.5)
    _put(contact_rows, row + 1, origin, middle, second.normal, -second.distance, zero + 1.0)
    _put_empty(contact_rows, row + 2, p.x)
    _put_empty(contact_rows, row + 3, p.x)


@inline
def _fixed_flat(shapes, a, b, sign, contact_rows, row):
    X = shapes.shape_X_W
    n, centre = load_axis(X, a), load_position(X, b)
    p = scale(n, dot(n, sub(centre, load_position(X, a))))
    origin, normal = sub(centre, p), scale(n, sign)
    size = Vec3(shapes.shape_size[b, 0], shapes.shape_size[b, 1], shapes.shape_size[b, 2])
    if shapes.shape_type[b] == BOX:
        k = 0
        for height, corner, feature in plane_box(n, p, load_rotation(X, b), size):
            _put(
                contact_rows, row + k, origin, add_scaled(corner, n, -0.5 * height), normal, -height, feature
            )
            k += 1
        return
    h0, low, h1, high = plane_capsule(n, p, _half_vector(shapes, b), size.x + 0.0 * p.x)
    zero = constant(0.0, p.x)
    _put(contact_rows, row, origin, add_scaled(low, n, -0.5 * h0), normal, -h0, zero)
    _put(contact_rows, row + 1, origin, add_scaled(high, n, -0.5 * h1), normal, -h1, zero + 1.0)
    _put_empty(contact_rows, row + 2, p.x)
    _put_empty(contact_rows, row + 3, p.x)


@inline
def _reach(shapes, i):
    """Radius of the sphere about a sphere or capsule."""
    return shapes.shape_size[i, 0] + (shapes.shape_size[i, 1] if shapes.shape_type[i] == CAPSULE else 0.0)


@inline
def _may_touch(shapes, a, b):
    """Whether spheres about two round shapes come closer than their margins in any world."""
    p = sub(load_position(shapes.shape_X_W, b), load_position(shapes.shape_X_W, a))
    reach = _reach(shapes, a) + _reach(shapes, b) + pair_margin(shapes, a, b)
    more = _ROUNDING_SINGLE if is_single(p.x) else _ROUNDING
    return any_of(dot(p, p) <= reach * reach * more)


@inline
def _put_pair(shapes, buckets, q, near, contact_rows, row):
    """Contacts of pair `q` of these families from a row on; empty ones where a round pair is not near."""
    a, b, flip = ordered(shapes, buckets.pair[q, 0], buckets.pair[q, 1])
    if shapes.shape_type[a] == PLANE:
        _fixed_flat(shapes, a, b, -1.0 if flip else 1.0, contact_rows, row)
    elif near or _may_touch(shapes, a, b):
        _fixed_round(shapes, buckets.pair[q, 0], buckets.pair[q, 1], contact_rows, row)
    else:
        for k in range(row, row + PAIR_CONTACTS):
            contact_rows[k, 6] = constant(-BOTTOMLESS, contact_rows[k, 6])


@kernel
def fixed_contacts(shapes, buckets, fixed_out):
    """Fill the rows of every pair of these families; other pairs are left alone."""
    for q in range(buckets.counter[PAIRS]):
        a, b, _ = ordered(shapes, buckets.pair[q, 0], buckets.pair[q, 1])
        if has_fixed_contacts(shapes.shape_type[a], shapes.shape_type[b]):
            _put_pair(shapes, buckets, q, False, fixed_out.fixed_contact, PAIR_CONTACTS * q)


@kernel
def contacts_of_pair(shapes, buckets, q, contact_rows_out):
    """The contacts of one pair of these families in the first rows, near or not."""
    _put_pair(shapes, buckets, q, True, contact_rows_out, 0)


@stage
def fixed_shape_poses(m, c, args, d):
    """Body poses -> shape poses; without a broad phase nobody asks for boxes."""
    shapes, placed = shape_pose_view(m, c, args, d), shape_view(m, c, args, d)
    for i in range(shapes.shape_type.shape[0]):
        pose_shape(shapes, i, placed.shape_X_W)


narrow_fixed = collision_stage.of(fixed_contacts, name="narrow_fixed")


@kernel
def settle_contacts(shapes, buckets, fixed, contacts_out):
    """Slots as rows of contacts; those beyond the margin of their pair are empty."""
    contact_rows, contact = fixed.fixed_contact, contacts_out.contact
    for q in range(buckets.counter[PAIRS]):
        margin = pair_margin(shapes, buckets.pair[q, 0], buckets.pair[q, 1])
        for row in range(PAIR_CONTACTS * q, PAIR_CONTACTS * q + PAIR_CONTACTS):
            depth = contact_rows[row, 6]
            counts = -depth <= margin
            contact[row, 6] = where(counts, depth, constant(-BOTTOMLESS, depth))
            # nobody looks at a row that is empty in all worlds
            if any_of(counts):
                for j in range(6):
                    contact[row, j] = contact_rows[row, j]


settle_fixed_contacts = collision_stage.of(settle_contacts, name="settle_fixed_contacts")
