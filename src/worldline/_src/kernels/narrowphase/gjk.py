# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Distance of two convex cores by the Gilbert-Johnson-Keerthi algorithm.

Works in the frame of the first shape on A - B, whose point closest to the origin is sought. The simplex of at
most four points lies in the work space, each with the points of A and B it came from. It ends when the
support plane proves the distance, when nothing gets better, or after a fixed number of steps.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel, outline, stage
from worldline._src.kernels.narrowphase.links import (
    load_distance_tolerance,
    load_limit,
    load_problem,
    put_status,
    take_axis,
)
from worldline._src.kernels.narrowphase.support import support
from worldline._src.kernels.narrowphase.tables import hull_view, work_view
from worldline._src.kernels.narrowphase.values import TINY, add_scaled, negative
from worldline._src.scalar.ops import maximum, sqrt
from worldline._src.spatial.rotation import rotate, rotate_back
from worldline._src.spatial.vec3 import Vec3, add, cross, dot, load_three, scale, store_three, sub

APART, BEYOND, OVERLAP = 0, 1, 2
_STEPS = 96
_IDLE = 6
"""Steps without a better bound after which rounding has the last word."""
_CLEAR = 1.0e-9
"""How much farther than the limit, over the extent, an axis from before must prove the shapes: no rounding
lets the search end otherwise."""
_TOUCHING = 1.0e-22
"""Squared distance over squared extent of A - B below which the cores count as touching."""

# in the work space: the simplex as points of A - B, of A, of B, and weights; then what was best: the point of
# A - B closest to the origin, the distance a support plane across it proves, the points of A and of B
SIMPLEX, FROM_A, FROM_B, WEIGHT, NEAREST, PROVEN, POINT_A, POINT_B = 0, 12, 24, 36, 40, 43, 44, 47


@inline
def difference_support(A, B, R, p, hulls, work, d):
    """Support points of A and of B, both in A's frame, for A - B along `d`."""
    a = support(A, hulls, work, d)
    b = add(p, rotate(R, support(B, hulls, work, negative(rotate_back(R, d)))))
    return a, b


@inline
def _segment_weights(a, b):
    """Weights of the point of a segment closest to the origin."""
    u = sub(b, a)
    n2 = dot(u, u)
    t = -dot(a, u)
    if t <= 0.0 or n2 < TINY:
        return 1.0, 0.0
    if t >= n2:
        return 0.0, 1.0
    t /= n2
    return 1.0 - t, t


@outline
def triangle_weights(a, b, c):
    """Weights of the point of a triangle closest to the origin, by Voronoi regions [Ericson 2005, 5.1.5]."""
    ab, ac = sub(b, a), sub(c, a)
    d1, d2 = -dot(ab, a), -dot(ac, a)
    if d1 <= 0.0 and d2 <= 0.0:
        return 1.0, 0.0, 0.0
    d3, d4 = -dot(ab, b), -dot(ac, b)
    if d3 >= 0.0 and d4 <= d3:
        return 0.0, 1.0, 0.0
    d5, d6 = -dot(ab, c), -dot(ac, c)
    if d6 >= 0.0 and d5 <= d6:
        return 0.0, 0.0, 1.0
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0 and d1 > d3:
        t = d1 / (d1 - d3)
        return 1.0 - t, t, 0.0
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0 and d2 > d6:
        t = d2 / (d2 - d6)
        return 1.0 - t, 0.0, t
    va = d3 * d6 - d5 * d4
    e1, e2 = d4 - d3, d5 - d6
    if va <= 0.0 and e1 >= 0.0 and e2 >= 0.0 and e1 + e2 > 0.0:
        t = e1 / (e1 + e2)
        return 0.0, 1.0 - t, t
    total = va + vb + vc
    if total <= 0.0:
        # no area: the closest end is good enough to go on from
        return 1.0, 0.0, 0.0
    return va / total, vb / total, vc / total


@inline
def _outside(a, b, c, d):
    """Whether the origin is not on the same side of triangle abc as `d`."""
    n = cross(sub(b, a), sub(c, a))
    here, there = -dot(a, n), dot(sub(d, a), n)
    # a flat tetrahedron has no inside
    return here * there <= 0.0 or there * there <= 1e-26 * dot(n, n) * dot(d, d)


@inline
def _tetrahedron_weights(work, apart):
    """Set the weights of a full simplex; True when the origin is inside.

    When the cores are proven `apart` it is not, whatever rounding says of a tetrahedron that is nearly flat.
    """
    a, b = load_three(work, SIMPLEX), load_three(work, SIMPLEX + 3)
    c, d = load_three(work, SIMPLEX + 6), load_three(work, SIMPLEX + 9)
    best = 1e300
    inside = True
    for face in range(4):
        x, y, z, other = a, b, c, d
        if face == 1:
            x, y, z, other = a, b, d, c
        elif face == 2:
            x, y, z, other = a, c, d, b
        elif face == 3:
            x, y, z, other = b, c, d, a
        if not (apart or _outside(x, y, z, other)):
            continue
        inside = False
        u, v, w = triangle_weights(x, y, z)
        q = Vec3(
            u * x.x + v * y.x + w * z.x,
            u * x.y + v * y.y + w * z.y,
            u * x.z + v * y.z + w * z.z,
        )
        n2 = dot(q, q)
        if n2 < best:
            best = n2
            work[WEIGHT] = u if face < 3 else 0.0
            work[WEIGHT + 1] = v if face < 2 else (0.0 if face == 2 else u)
            work[WEIGHT + 2] = w if face == 0 else (0.0 if face == 1 else v)
            work[WEIGHT + 3] = 0.0 if face == 0 else w
    return inside


@inline
def _set_weights(work, n, apart):
    """Weights of the simplex point closest to the origin; True when a tetrahedron holds it."""
    if n == 1:
        work[WEIGHT] = 1.0
        return False
    a, b = load_three(work, SIMPLEX), load_three(work, SIMPLEX + 3)
    if n == 2:
        u, v = _segment_weights(a, b)
        work[WEIGHT], work[WEIGHT + 1] = u, v
        return False
    if n == 3:
        u, v, w = triangle_weights(a, b, load_three(work, SIMPLEX + 6))
        work[WEIGHT], work[WEIGHT + 1], work[WEIGHT + 2] = u, v, w
        return False
    return _tetrahedron_weights(work, apart)


@inline
def _drop_unused(work, n):
    """Keep the points with weight; returns how many."""
    kept = 0
    for k in range(n):
        if work[WEIGHT + k] > 0.0:
            if kept != k:
                work[WEIGHT + kept] = work[WEIGHT + k]
                for e in range(3):
                    work[SIMPLEX + 3 * kept + e] = work[SIMPLEX + 3 * k + e]
                    work[FROM_A + 3 * kept + e] = work[FROM_A + 3 * k + e]
                    work[FROM_B + 3 * kept + e] = work[FROM_B + 3 * k + e]
            kept += 1
    return kept


@inline
def _weighted(work, at, u, v, w):
    """The weighted sum of three points from offset `at` on."""
    return Vec3(
        u * work[at] + v * work[at + 3] + w * work[at + 6],
        u * work[at + 1] + v * work[at + 4] + w * work[at + 7],
        u * work[at + 2] + v * work[at + 5] + w * work[at + 8],
    )


@inline
def _keep_points(work, n, v):
    """Keep the points of A and B whose difference is `v`, a point of the simplex.

    On round shapes simplices become needles, whose weights by areas have no digits left. Here the place along
    the longest edge is taken first, and then how far the third point leads aside.
    """
    x, y, z = 1.0, 0.0, 0.0
    if n > 1:
        p, q, r = load_three(work, SIMPLEX), load_three(work, SIMPLEX + 3), load_three(work, SIMPLEX + 3)
        i, j = 0, 1
        if n == 3:
            r = load_three(work, SIMPLEX + 6)
            pq, qr, rp = sub(q, p), sub(r, q), sub(p, r)
            if dot(qr, qr) >= dot(pq, pq) and dot(qr, qr) >= dot(rp, rp):
                p, q, r, i, j = q, r, p, 1, 2
            elif dot(rp, rp) >= dot(pq, pq):
                p, q, r, i, j = r, p, q, 2, 0
        along = sub(q, p)
        ll = dot(along, along)
        lean = dot(sub(r, p), along) / ll
        aside = add_scaled(sub(r, p), along, -lean)
        aa = dot(aside, aside)
        third = dot(sub(v, p), aside) / aa if n == 3 and aa > 1e-28 * ll else 0.0
        second = dot(sub(v, p), along) / ll - third * lean
        first = 1.0 - second - third
        x = first if i == 0 else (second if j == 0 else third)
        y = first if i == 1 else (second if j == 1 else third)
        z = first if i == 2 else (second if j == 2 else third)
    if n < 3:
        # what lies in the third place of a smaller simplex is old
        z = 0.0
    if n < 2:
        y = 0.0
    store_three(work, POINT_A, _weighted(work, FROM_A, x, y, z))
    store_three(work, POINT_B, _weighted(work, FROM_B, x, y, z))


@inline
def _nearest(work, n):
    """The point of the simplex closest to the origin, by projection.

    The weighted sum loses the direction when the points are nearly on a line, as they become on round
    shapes; the normal of the triangle does not.
    """
    a = load_three(work, SIMPLEX)
    if n == 1:
        return a
    u = sub(load_three(work, SIMPLEX + 3), a)
    if n == 2:
        return add_scaled(a, u, -dot(a, u) / dot(u, u))
    # from the corner with the shortest edges, whose cross product is the most exact
    b, c = load_three(work, SIMPLEX + 3), load_three(work, SIMPLEX + 6)
    v, w = sub(c, b), sub(a, c)
    uu, vv, ww = dot(u, u), dot(v, v), dot(w, w)
    if uu >= vv and uu >= ww:
        m = cross(v, w)
    elif vv >= ww:
        m = cross(w, u)
    else:
        m = cross(u, v)
    return scale(m, dot(m, a) / dot(m, m))


@inline
def _known(work, n, w):
    """Whether `w` is a point of the simplex already."""
    found = False
    for k in range(n):
        at = SIMPLEX + 3 * k
        if work[at] == w.x and work[at + 1] == w.y and work[at + 2] == w.z:
            found = True
    return found


@kernel
def gjk(hulls, work_io):
    """Closest points of the cores of A and B of the problem.

    Leaves how it ended, the points in the simplex and the extent of A - B. APART: see `closest_points`.
    BEYOND: farther than the limit. OVERLAP: the simplex holds the origin, or nearly.
    """
    work = work_io
    A, B, R, p = load_problem(work)
    limit, tolerance = load_limit(work), load_distance_tolerance(work)
    # most pairs that were apart in the last step still are, along the same axis:
    # n . (s_B(-n) - s_A(n)) > limit
    axis = take_axis(work)
    if dot(axis, axis) > 0.5:
        a, b = difference_support(A, B, R, p, hulls, work, axis)
        w = sub(b, a)
        if dot(axis, w) > limit + _CLEAR * sqrt(dot(w, w)):
            store_three(work, NEAREST, negative(axis))
            put_status(work, BEYOND, 0, 0.0)
            return
    v = negative(p)
    if dot(v, v) < TINY:
        v = Vec3(1.0, 0.0, 0.0)
    # the distance lies between the best support plane seen, and the closest point seen
    vv, least, proven, toward = 1e300, 1e300, -1e300, v
    n, extent, idle = 0, 0.0, 0
    status = APART
    for _ in range(_STEPS):
        a, b = difference_support(A, B, R, p, hulls, work, negative(v))
        w = sub(a, b)
        extent = maximum(extent, dot(w, w))
        if n > 0:
            length = sqrt(vv)
            plane = dot(v, w) / length
            idle += 1
            if plane > proven:
                idle = idle if plane - proven < 1e-12 * length else 0
                proven, toward = plane, scale(v, 1.0 / length)
            if proven > limit:
                status = BEYOND
                break
            slack = tolerance * least + 1e-16 * sqrt(extent)
            if least - proven <= slack or idle > _IDLE or _known(work, n, w):
                break
        store_three(work, SIMPLEX + 3 * n, w)
        store_three(work, FROM_A + 3 * n, a)
        store_three(work, FROM_B + 3 * n, b)
        if _set_weights(work, n + 1, proven > 1e-12 * sqrt(extent)):
            status = OVERLAP
            n += 1
            break
        n = _drop_unused(work, n + 1)
        v = _nearest(work, n)
        vv = dot(v, v)
        if vv <= _TOUCHING * extent:
            status = OVERLAP
            break
        # a triangle that is a needle may give a point closer than any can be
        if vv < least * least and sqrt(vv) > proven - 1e-12 * sqrt(extent):
            idle = idle if vv > least * least * (1.0 - 1e-12) else 0
            least = sqrt(vv)
            _keep_points(work, n, v)
    store_three(work, NEAREST, scale(toward, least))
    work[PROVEN] = proven
    put_status(work, status, n, sqrt(extent))


@inline
def closest_points(work):
    """The closest points of A and B, and the vector between them, that GJK left.

    Points and vector were best at different steps; what they differ by is shared by both points.
    """
    v, a, b = load_three(work, NEAREST), load_three(work, POINT_A), load_three(work, POINT_B)
    miss = sub(sub(a, b), v)
    return add_scaled(a, miss, -0.5), add_scaled(b, miss, 0.5), v


@stage
def solve_gjk(m, c, args, d):
    """Problem -> status, simplex and weights."""
    gjk(hull_view(m, c, args, d), work_view(m, c, args, d).work)
