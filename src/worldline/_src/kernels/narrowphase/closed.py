# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Families with closed forms, pair by pair: round shapes, half spaces, spheres against solids."""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.narrowphase.ball import ball_other
from worldline._src.kernels.narrowphase.emit import (
    emit_closest,
    emit_contact,
    load_size,
    ordered,
    pair_margin,
)
from worldline._src.kernels.narrowphase.flat import plane_box, plane_capsule, plane_ellipsoid, plane_rims
from worldline._src.kernels.narrowphase.manifold import (
    CANDIDATE,
    CANDIDATE_ROW,
    MAX_CANDIDATES,
    keep_four,
    put_candidate,
)
from worldline._src.kernels.narrowphase.round import round_contacts, round_round
from worldline._src.kernels.narrowphase.support import CLIMB, hull_support
from worldline._src.kernels.narrowphase.tables import (
    BALL,
    BOX,
    CAPSULE,
    CONE,
    CYLINDER,
    DISTANCE_MODE,
    ELLIPSOID,
    FLAT,
    HULL,
    MODE,
    ROUND,
    SPHERE,
    VERTEX_COUNT,
    VERTEX_FIRST,
)
from worldline._src.kernels.narrowphase.values import across, add_scaled, negative, unit_or
from worldline._src.scalar.ops import where
from worldline._src.spatial.rotation import load_axis, load_position, load_rotation, rotate, rotate_back
from worldline._src.spatial.vec3 import Vec3, add, cross, dot, load_three, load_vec3, scale, sub

_TILT = 0.1
_SLANT = _TILT * 0.7071067811865476
_SIDES = (
    *((0.0, 0.0), (_TILT, 0.0), (_SLANT, _SLANT), (0.0, _TILT), (-_SLANT, _SLANT)),
    *((-_TILT, 0.0), (-_SLANT, -_SLANT), (0.0, -_TILT), (_SLANT, -_SLANT)),
)
"""Directions a large hull is tilted to, as slopes along two axes of the plane, to find what it rests on."""


@inline
def half_vector(shapes, i):
    """Half the axis of a sphere or capsule in the world."""
    half = shapes.shape_size[i, 1] if shapes.shape_type[i] == CAPSULE else 0.0
    return scale(load_axis(shapes.shape_X_W, i), half)


@inline
def _middle(found):
    return scale(add(found.point_a, found.point_b), 0.5)


@kernel
def round_pairs(shapes, buckets, contacts_out):
    """Spheres and capsules against each other."""
    X, out = shapes.shape_X_W, contacts_out
    for k in range(buckets.bucket_start[ROUND], buckets.bucket_start[ROUND + 1]):
        q = buckets.bucket[k]
        a, b = buckets.pair[q, 0], buckets.pair[q, 1]
        origin = load_position(X, a)
        p = sub(load_position(X, b), origin)
        ra, rb = shapes.shape_size[a, 0], shapes.shape_size[b, 0]
        u, v = half_vector(shapes, a), half_vector(shapes, b)
        if buckets.counter[MODE] == DISTANCE_MODE:
            found = round_round(u, v, p, ra, rb)
            emit_closest(out, q, False, origin, found.distance, found.normal, found.point_a, found.point_b)
            continue
        margin = pair_margin(shapes, a, b)
        first, second = round_contacts(u, v, p, ra, rb)
        if first.distance <= margin:
            emit_contact(
                shapes, out, q, a, b, False, origin, _middle(first), first.normal, -first.distance, 0
            )
        if second.distance <= margin:
            emit_contact(
                shapes, out, q, a, b, False, origin, _middle(second), second.normal, -second.distance, 1
            )


@kernel
def ball_pairs(shapes, buckets, contacts_out):
    """Spheres against boxes, cylinders, cones and ellipsoids."""
    X, out = shapes.shape_X_W, contacts_out
    for k in range(buckets.bucket_start[BALL], buckets.bucket_start[BALL + 1]):
        q = buckets.bucket[k]
        a, b, flip = ordered(shapes, buckets.pair[q, 0], buckets.pair[q, 1])
        origin = load_position(X, a)
        p = sub(load_position(X, b), origin)
        found = ball_other(
            shapes.shape_size[a, 0], shapes.shape_type[b], load_size(shapes, b), load_rotation(X, b), p
        )
        if buckets.counter[MODE] == DISTANCE_MODE:
            emit_closest(out, q, flip, origin, found.distance, found.normal, found.point_a, found.point_b)
        elif found.distance <= pair_margin(shapes, a, b):
            emit_contact(shapes, out, q, a, b, flip, origin, _middle(found), found.normal, -found.distance, 0)


@inline
def _put_height(work, k, n, candidate, margin):
    """Keep a point below the margin as a candidate: halfway to the plane."""
    height, point, feature = candidate
    if height <= margin:
        put_candidate(work, k, add_scaled(point, n, -0.5 * height), -height, feature)
        return k + 1
    return k


@inline
def _put_vertex(work, found, first, k, p, R, n, v, h):
    """Keep vertex `k` at height `h` as a candidate, unless it is one; returns how many there are."""
    feature = float(k - first)
    for c in range(found):
        if work[CANDIDATE + CANDIDATE_ROW * c + 4] == feature:
            return found
    put_candidate(work, found, add_scaled(add(p, rotate(R, v)), n, -0.5 * h), -h, feature)
    return found + 1


@inline
def _low_hull_vertices(geoms, g, n, p, R, margin, work):
    """The lowest vertex of a large hull and, where they are below the margin, the lowest when it is tilted.

    Tilted a little to eight sides, so that the points span what rests on the plane; returns how many of them
    are kept, and the lowest with its height.
    """
    first, count = geoms.geom[g, VERTEX_FIRST], geoms.geom[g, VERTEX_COUNT]
    d, height = rotate_back(R, n), dot(n, p)
    lowest = load_vec3(geoms.vertex, hull_support(geoms, first, count, g, negative(d)))
    low = height + dot(d, lowest)
    found = 0
    if low <= margin:
        x = unit_or(across(d), Vec3(1.0, 0.0, 0.0))
        y = cross(d, x)
        for side in range(9):
            # straight down first
            i, j = _SIDES[side]
            k = hull_support(geoms, first, count, g, add_scaled(add_scaled(negative(d), x, i), y, j))
            v = load_vec3(geoms.vertex, k)
            h = height + dot(d, v)
            if h <= margin:
                found = _put_vertex(work, found, first, k, p, R, n, v, h)
    return keep_four(work, 0, found), add(p, rotate(R, lowest)), low


@inline
def _vertices_below(shapes, geoms, b, n, p, R, margin, work):
    """Vertices of a hull or a mesh below the margin, four at most once there are many; and the lowest."""
    g = shapes.shape_geom[b]
    first, count = geoms.geom[g, VERTEX_FIRST], geoms.geom[g, VERTEX_COUNT]
    if shapes.shape_type[b] == HULL and count > CLIMB:
        return _low_hull_vertices(geoms, g, n, p, R, margin, work)
    d, height = rotate_back(R, n), dot(n, p)
    found, lowest, low = 0, first, 1e300
    for k in range(first, first + count):
        v = load_vec3(geoms.vertex, k)
        h = height + dot(d, v)
        if h < low:
            lowest, low = k, h
        if h <= margin:
            if found == MAX_CANDIDATES:
                found = keep_four(work, 0, found)
            middle = add_scaled(add(p, rotate(R, v)), n, -0.5 * h)
            put_candidate(work, found, middle, -h, float(k - first))
            found += 1
    return keep_four(work, 0, found), add(p, rotate(R, load_vec3(geoms.vertex, lowest))), low


@kernel
def flat_pairs(shapes, geoms, buckets, space_io, contacts_out):
    """Half spaces against everything that is not one."""
    X, work, out = shapes.shape_X_W, space_io.work, contacts_out
    for k in range(buckets.bucket_start[FLAT], buckets.bucket_start[FLAT + 1]):
        q = buckets.bucket[k]
        a, b, flip = ordered(shapes, buckets.pair[q, 0], buckets.pair[q, 1])
        n, origin = load_axis(X, a), load_position(X, b)
        # the shape's centre from the foot of its perpendicular keeps digits far away from the plane's origin
        p = scale(n, dot(n, sub(origin, load_position(X, a))))
        R, size, kind = load_rotation(X, b), load_size(shapes, b), shapes.shape_type[b]
        margin = 1e300 if buckets.counter[MODE] == DISTANCE_MODE else pair_margin(shapes, a, b)
        found = 0
        if kind == BOX:
            for corner in plane_box(n, p, R, size):
                found = _put_height(work, found, n, corner, margin)
        elif kind == SPHERE or kind == CAPSULE:
            h0, low, h1, high = plane_capsule(n, p, half_vector(shapes, b), size.x)
            found = _put_height(work, found, n, (h0, low, 0.0), margin)
            found = _put_height(work, found, n, (h1, high, 1.0), where(margin > 1e299, 1e29, margin))
        elif kind == CYLINDER or kind == CONE:
            top = size.x if kind == CYLINDER else 0.0
            for corner in plane_rims(n, p, R, size.x, top, size.y):
                found = _put_height(work, found, n, corner, where(margin > 1e299, 1e29, margin))
        elif kind == ELLIPSOID:
            h, low = plane_ellipsoid(n, p, R, size)
            found = _put_height(work, found, n, (h, low, 0.0), margin)
        elif kind >= HULL:
            found, low, h = _vertices_below(
                shapes, geoms, b, n, p, R, -1e300 if margin > 1e299 else margin, work
            )
            if margin > 1e299:
                put_candidate(work, 0, add_scaled(low, n, -0.5 * h), -h, 0.0)
                found = 1
        _emit_below(shapes, buckets, out, work, q, a, b, flip, sub(origin, p), n, found)


@inline
def _emit_below(shapes, buckets, out, work, q, a, b, flip, origin, n, found):
    """Write the candidates, or in distance mode the lowest of them."""
    if buckets.counter[MODE] != DISTANCE_MODE:
        for c in range(found):
            at = CANDIDATE + CANDIDATE_ROW * c
            feature = int(work[at + 4])
            emit_contact(shapes, out, q, a, b, flip, origin, load_three(work, at), n, work[at + 3], feature)
        return
    best = 0
    for c in range(1, found):
        if work[CANDIDATE + CANDIDATE_ROW * c + 3] > work[CANDIDATE + CANDIDATE_ROW * best + 3]:
            best = c
    at = CANDIDATE + CANDIDATE_ROW * best
    middle, half = load_three(work, at), 0.5 * work[at + 3]
    emit_closest(
        out, q, flip, origin, -2.0 * half, n, add_scaled(middle, n, half), add_scaled(middle, n, -half)
    )
