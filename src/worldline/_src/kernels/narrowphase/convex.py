# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Any two convex shapes: distance by GJK, penetration by EPA, boxes by their axes, then the manifold.

Contacts are left as candidates in the work space, in the frame of the first shape. In distance mode there is
exactly one answer: the closest points or the deepest.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline
from worldline._src.kernels.narrowphase.box_box import box_axes, box_corner_points, box_edge_points
from worldline._src.kernels.narrowphase.capsule_box import capsule_box
from worldline._src.kernels.narrowphase.curved import FAILED, REFINED, is_curved
from worldline._src.kernels.narrowphase.epa import no_polytope
from worldline._src.kernels.narrowphase.gjk import APART, BEYOND, NEAREST, PROVEN, closest_points
from worldline._src.kernels.narrowphase.links import (
    CURVED_LINK,
    EPA_LINK,
    GJK_LINK,
    MANIFOLD_LINK,
    call_link,
    load_found,
    load_status,
    put_found,
    put_limit,
    put_normal,
    put_position,
    put_problem,
    put_tolerances,
)
from worldline._src.kernels.narrowphase.manifold import CANDIDATE, CANDIDATE_ROW, put_candidate
from worldline._src.kernels.narrowphase.support import core_box
from worldline._src.kernels.narrowphase.tables import DISTANCE_MODE, ELLIPSOID
from worldline._src.kernels.narrowphase.values import Closest, add_scaled, unit_or
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.ops import absolute, sqrt
from worldline._src.spatial.vec3 import Vec3, add, dot, load_three, scale, sub

FAR = 1.0e300
"""Distance of shapes of which only an axis that separates them is known."""
WITNESS = 16383.0
"""Feature of a contact that comes from the closest points and not from faces."""


_PROVEN, _PROVEN_DEEP = 1.0e-13, 1.0e-8
"""Where GJK ends, over the distance, and EPA, over the extent of A - B."""
_NEARLY, _NEARLY_DEEP = 1.0e-6, 1.0e-6
"""The same for curved shapes, where Newton's method finds the rest."""
_COARSE_DEEP, _COARSE_SMOOTH = 1.0e-4, 1.0e-3
"""Where EPA ends first for curved shapes, and for two ellipsoids, which have no edges: a polytope coarse as
this nearly always proves where the least penetration is, which Newton's method then finds."""
_POLISH = 32
"""Steps of polishing, at most."""
_CLEAR = 1.0e-3
"""How far apart shapes are moved for it, over their extent."""
_EQUAL = 1.0e-12
"""Difference over extent between depths that are equal but for rounding."""


class Arena(NamedTuple):
    """The four arenas, to call links with."""

    m: Any
    c: Any
    args: Any
    d: Any


@inline
def arena(m, c, args, d):
    """The four arenas as one."""
    return Arena(m, c, args, d)


@inline
def nothing(distance, normal):
    """A pair too far apart to have closest points."""
    zero = Vec3(0.0, 0.0, 0.0)
    return Closest(distance, normal, zero, zero)


@inline
def _miss(found):
    """How far the points of a Closest are beside a common line along its normal."""
    gap = sub(found.point_b, found.point_a)
    return add_scaled(gap, found.normal, -dot(gap, found.normal))


@inline
def _polished(arena, work, p, found, extent):
    """Penetration with points that belong to each other, from EPA's answer.

    EPA proves the depth, but the foot of the origin may lie beside the face it ended at, and on round shapes
    the normal is only as good as the square root of its tolerance. B is moved out along the normal until it
    is clear; the closest points then give points that belong to each other, and a normal that is closer to
    the best one, by a factor of depth over radius of curvature each time. Of answers that are as deep as the
    best but for rounding, the one whose points fit best is kept.
    """
    best, least = found, -found.distance
    error = dot(_miss(best), _miss(best))
    aim, plain = best.normal, True
    last, turn = best.normal, Vec3(0.0, 0.0, 0.0)
    for _ in range(_POLISH):
        t = scale(aim, _CLEAR * extent + least)
        put_position(work, add(p, t))
        put_limit(work, 1e150)
        call_link(GJK_LINK, arena.m, arena.c, arena.args, arena.d)
        status, _, _ = load_status(work)
        if status != APART:
            break
        a, b, v = closest_points(work)
        normal = scale(v, -1.0 / sqrt(dot(v, v)))
        depth = dot(normal, t) - work[PROVEN]
        if depth > least + _EQUAL * extent:
            if plain:
                break
            # too far: go on from the last good normal in steps of their own length
            aim, plain, turn = last, True, Vec3(0.0, 0.0, 0.0)
            continue
        new = Closest(-depth, normal, a, sub(b, t))
        offset = dot(_miss(new), _miss(new))
        if offset < error or depth < least - _EQUAL * extent:
            best, error = new, offset
        least = depth if depth < least else least
        before, turn = turn, sub(normal, aim)
        if dot(turn, turn) < 1e-20 or error < (1e-11 * extent) ** 2:
            break
        # where the surface curves like a sphere steps shrink slowly; the secant sees where they lead
        change = sub(turn, before)
        plain = dot(before, before) <= 0.0 or dot(change, change) <= 0.0
        ahead = 0.0 if plain else -dot(turn, change) / dot(change, change)
        aim, last = unit_or(add_scaled(normal, sub(normal, last), ahead), normal), normal
    put_position(work, p)
    # what rounding left is shared by both points: beside their normal, where surfaces are level
    half = _miss(best)
    a, b = add_scaled(best.point_a, half, 0.5), add_scaled(best.point_b, half, -0.5)
    middle, n = scale(add(a, b), 0.5), best.normal
    return Closest(
        best.distance,
        n,
        add_scaled(middle, n, -0.5 * best.distance),
        add_scaled(middle, n, 0.5 * best.distance),
    )


@inline
def convex_closest(arena, work, A, B, p, limit):
    """Closest points of the two shapes of the problem, in A's frame; farther than `limit` they are FAR,
    and the normal is an axis that separates them.
    """
    radius, curved = A.radius + B.radius, is_curved(A) or is_curved(B)
    put_limit(work, limit + radius)
    no_polytope(work)
    put_tolerances(work, _NEARLY if curved else _PROVEN, _NEARLY_DEEP if curved else _PROVEN_DEEP)
    call_link(GJK_LINK, arena.m, arena.c, arena.args, arena.d)
    status, _, extent = load_status(work)
    refined = FAILED
    if status == APART and curved:
        a, b, v = closest_points(work)
        length = sqrt(dot(v, v))
        put_found(work, Closest(length, scale(v, -1.0 / length), a, b))
        call_link(CURVED_LINK, arena.m, arena.c, arena.args, arena.d)
        refined, _, _ = load_status(work)
        if refined == FAILED:
            put_tolerances(work, _PROVEN, _PROVEN_DEEP)
            call_link(GJK_LINK, arena.m, arena.c, arena.args, arena.d)
            status, _, extent = load_status(work)
    if status == BEYOND:
        return nothing(FAR, unit_or(scale(load_three(work, NEAREST), -1.0), Vec3(0.0, 0.0, 1.0)))
    if refined == REFINED:
        found = load_found(work)
        normal, a, b = found.normal, found.point_a, found.point_b
        distance = found.distance - radius
    elif status == APART:
        a, b, v = closest_points(work)
        length = sqrt(dot(v, v))
        normal = scale(v, -1.0 / length)
        distance = length - radius
    else:
        found, exact = nothing(0.0, Vec3(0.0, 0.0, 1.0)), False
        first = _COARSE_SMOOTH if A.kind == ELLIPSOID and B.kind == ELLIPSOID else _COARSE_DEEP
        for coarse in range(1 if curved else 0, -1, -1):
            if curved:
                put_tolerances(work, _NEARLY, first if coarse == 1 else _NEARLY_DEEP)
            call_link(EPA_LINK, arena.m, arena.c, arena.args, arena.d)
            found = load_found(work)
            miss = add_scaled(sub(found.point_a, found.point_b), found.normal, found.distance)
            exact = dot(miss, miss) <= (1e-10 * extent) ** 2
            if curved and not exact:
                call_link(CURVED_LINK, arena.m, arena.c, arena.args, arena.d)
                refined, _, _ = load_status(work)
            if exact or refined == REFINED:
                break
        if refined == REFINED:
            found = load_found(work)
        elif not exact:
            put_tolerances(work, _PROVEN, _PROVEN_DEEP)
            found = _polished(arena, work, p, found, extent)
        normal, a, b = found.normal, found.point_a, found.point_b
        distance = found.distance - radius
    return Closest(distance, normal, add_scaled(a, normal, A.radius), add_scaled(b, normal, -B.radius))


@inline
def face_contacts(arena, work, normal, margin):
    """Candidates of the manifold for a normal; returns how many."""
    put_normal(work, normal)
    put_limit(work, margin)
    call_link(MANIFOLD_LINK, arena.m, arena.c, arena.args, arena.d)
    count, _, _ = load_status(work)
    return count


@inline
def deepest(work, count):
    """The offset of the deepest candidate."""
    best = CANDIDATE
    for k in range(1, count):
        at = CANDIDATE + CANDIDATE_ROW * k
        if work[at + 3] > work[best + 3]:
            best = at
    return best


@inline
def with_witness(work, count, found, size):
    """Add the closest points where no candidate is as deep: a rim may reach below its polygon's corners."""
    depth = -found.distance
    if count > 0 and work[deepest(work, count) + 3] >= depth - 1e-3 * absolute(depth) - 1e-7 * size:
        return count
    kept = 3 if count == 4 else count
    middle = scale(add(found.point_a, found.point_b), 0.5)
    put_candidate(work, kept, middle, depth, WITNESS)
    return kept + 1


@inline
def convex_pair(arena, work, A, B, row_a, row_b, R, p, margin, mode):
    """Contacts of two convex shapes, none beyond `margin`: (count of candidates, Closest).

    The normal of the Closest is that of all candidates.
    """
    if mode != DISTANCE_MODE:
        # an axis between the boxes around the shapes spares most pairs that do not touch the search
        gap, normal, _ = box_axes(core_box(A), core_box(B), R, p, margin)
        if gap > margin:
            return 0, nothing(gap, normal)
    put_problem(work, A, B, R, p, row_a, row_b)
    found = convex_closest(arena, work, A, B, p, margin)
    if found.distance > margin:
        return 0, found
    if mode == DISTANCE_MODE:
        return 1, found
    count = face_contacts(arena, work, found.normal, margin)
    return with_witness(work, count, found, sqrt(dot(p, p))), found


@inline
def capsule_box_pair(arena, work, A, B, R, p, margin, mode):
    """The same for a capsule and a box."""
    found = capsule_box(A.radius, A.size.y, B.size, R, p)
    if found.distance > margin:
        return 0, found
    if mode == DISTANCE_MODE:
        return 1, found
    put_problem(work, A, B, R, p, -1, -1)
    count = face_contacts(arena, work, found.normal, margin)
    return with_witness(work, count, found, sqrt(dot(p, p))), found


@inline
def box_pair(arena, work, A, B, R, p, margin, mode):
    """The same for two boxes: overlapping ones by their axes, others as any convex pair."""
    size = A.size.x + A.size.y + A.size.z + B.size.x + B.size.y + B.size.z
    gap, normal, axis = box_axes(A.size, B.size, R, p, margin)
    if gap > margin:
        return 0, nothing(gap, normal)
    if gap > 1e-9 * size:
        return convex_pair(arena, work, A, B, -1, -1, R, p, margin, mode)
    if axis >= 6:
        a, b = box_edge_points(A.size, B.size, R, p, normal, axis)
        put_candidate(work, 0, scale(add(a, b), 0.5), -gap, 16384.0 + axis)
        return 1, Closest(gap, normal, a, b)
    put_problem(work, A, B, R, p, -1, -1)
    count = face_contacts(arena, work, normal, margin)
    if count == 0:
        a, b = box_corner_points(B.size, R, p, normal, gap)
        put_candidate(work, 0, scale(add(a, b), 0.5), -gap, WITNESS)
        return 1, Closest(gap, normal, a, b)
    # the deepest contact stands for the pair
    at = deepest(work, count)
    middle, half = load_three(work, at), 0.5 * work[at + 3]
    return count, Closest(gap, normal, add_scaled(middle, normal, half), add_scaled(middle, normal, -half))
