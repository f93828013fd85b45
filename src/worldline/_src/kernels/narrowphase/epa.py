# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Least penetration of two overlapping convex cores by the expanding-polytope algorithm.

Grows a polytope inside A - B from the simplex that GJK ended with, always at the face closest to the origin,
until the support plane shows that this face is on the boundary. Faces are searched one by one: there are at
most 252. Rows of the work space are arrays of their own, whose indices the compiler knows. A flat difference
(a point in a triangle) has depth zero along its normal.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel, outline, stage
from worldline._src.kernels.narrowphase.gjk import (
    FROM_A,
    FROM_B,
    OVERLAP,
    SIMPLEX,
    difference_support,
    triangle_weights,
)
from worldline._src.kernels.narrowphase.links import (
    load_depth_tolerance,
    load_found,
    load_problem,
    load_status,
    put_found,
    put_status,
)
from worldline._src.kernels.narrowphase.tables import hull_view, work_view
from worldline._src.kernels.narrowphase.values import TINY, Closest, across, add_scaled, negative
from worldline._src.scalar.memory import pointer, vector
from worldline._src.scalar.ops import sqrt
from worldline._src.spatial.vec3 import Vec3, add, cross, dot, load_three, scale, store_three, sub

MAX_POINTS = 128
_MAX_FACES = 254
FACE_COUNT, _POINT_COUNT, _BEST_FACE, _CORNERS, _FOOT = 50, 51, 52, 53, 56
"""Where the polytope is left in the work space: the number of its faces, zero for none and -1 where rounding
opened it; that of its points; the face closest to the origin; corners and height of the one found."""
_POINT = 64
_FACE = _POINT + 9 * MAX_POINTS
_EDGE = 3 * 256
_GONE = _EDGE + 2 * 256
_FLAT = 1.0e-11
"""Thickness over extent of A - B below which it counts as flat."""


@outline
def _support(A, B, R, p, hulls, work, d):
    # called from several places, and not merged into each
    return difference_support(A, B, R, p, hulls, work, d)


@inline
def _load_point(work, k):
    return load_three(vector(pointer(work), _POINT + 9 * k, 9), 0)


@inline
def _add_point(work, k, a, b):
    row = vector(pointer(work), _POINT + 9 * k, 9)
    store_three(row, 0, sub(a, b))
    store_three(row, 3, a)
    store_three(row, 6, b)


@inline
def _add_face(work, iwork, f, i, j, k):
    """Face `f` over three points, counter-clockwise from outside.

    Points on one line, as on the straight sides of cylinders, leave a face without area. It is kept, for the
    polytope to stay closed, but is never the closest and never in the way.
    """
    a = _load_point(work, i)
    u, v = sub(_load_point(work, j), a), sub(_load_point(work, k), a)
    n = cross(u, v)
    n2 = dot(n, n)
    corners, row = vector(pointer(iwork), 3 * f, 3), vector(pointer(work), _FACE + 4 * f, 4)
    corners[0], corners[1], corners[2] = i, j, k
    if n2 <= 1e-26 * dot(u, u) * dot(v, v) or n2 < TINY:
        store_three(row, 0, Vec3(0.0, 0.0, 0.0))
        row[3] = 1e300
        return
    n = scale(n, 1.0 / sqrt(n2))
    store_three(row, 0, n)
    row[3] = dot(n, a)


@outline
def _first_tetrahedron(A, B, R, p, hulls, work, n, extent):
    """Four points of A - B with volume, begun with the simplex of GJK.

    Returns (points found, normal): with fewer than four, A - B is flat and the normal is across it.
    """
    for k in range(n):
        store_three(work, _POINT + 9 * k, load_three(work, SIMPLEX + 3 * k))
        store_three(work, _POINT + 9 * k + 3, load_three(work, FROM_A + 3 * k))
        store_three(work, _POINT + 9 * k + 6, load_three(work, FROM_B + 3 * k))
    # a simplex that is already flat begins again from its first point
    if n == 4:
        o = _load_point(work, 0)
        m = cross(sub(_load_point(work, 1), o), sub(_load_point(work, 2), o))
        volume = dot(m, sub(_load_point(work, 3), o))
        if volume * volume > (_FLAT * extent) ** 2 * dot(m, m) and dot(m, m) > TINY:
            return 4, m
        n = 3
    if n == 3:
        o = _load_point(work, 0)
        m = cross(sub(_load_point(work, 1), o), sub(_load_point(work, 2), o))
        if dot(m, m) <= (_FLAT * extent * extent) ** 2:
            n = 2
    if n == 2:
        u = sub(_load_point(work, 1), _load_point(work, 0))
        if dot(u, u) <= (_FLAT * extent) ** 2:
            n = 1
    if n < 1:
        a, b = _support(A, B, R, p, hulls, work, Vec3(1.0, 0.0, 0.0))
        _add_point(work, 0, a, b)
        n = 1
    o = _load_point(work, 0)
    if n == 1:
        # a second point, away from the first
        best = (_FLAT * extent) ** 2
        for k in range(6):
            s = 1.0 if k % 2 == 0 else -1.0
            d = Vec3(s if k < 2 else 0.0, s if 2 <= k < 4 else 0.0, s if k >= 4 else 0.0)
            a, b = _support(A, B, R, p, hulls, work, d)
            w = sub(sub(a, b), o)
            if dot(w, w) > best:
                best = dot(w, w)
                _add_point(work, 1, a, b)
                n = 2
        if n == 1:
            return 1, Vec3(0.0, 0.0, 1.0)
    u = sub(_load_point(work, 1), o)
    if n == 2:
        # a third, away from the line
        x = across(u)
        x = scale(x, 1.0 / sqrt(dot(x, x)))
        y = cross(u, x)
        y = scale(y, 1.0 / sqrt(dot(y, y)))
        uu = dot(u, u)
        best = (_FLAT * extent) ** 2 * uu
        for k in range(6):
            c = 1.0 if k % 3 == 0 else 0.5
            s = 0.0 if k % 3 == 0 else (0.8660254037844386 if k % 3 == 1 else -0.8660254037844386)
            f = 1.0 if k < 3 else -1.0
            d = add_scaled(scale(x, f * c), y, s)
            a, b = _support(A, B, R, p, hulls, work, d)
            m = cross(u, sub(sub(a, b), o))
            if dot(m, m) > best:
                best = dot(m, m)
                _add_point(work, 2, a, b)
                n = 3
        if n == 2:
            return 2, x
    m = cross(u, sub(_load_point(work, 2), o))
    m = scale(m, 1.0 / sqrt(dot(m, m)))
    # a fourth, away from the plane
    best = _FLAT * extent
    for k in range(2):
        a, b = _support(A, B, R, p, hulls, work, m if k == 0 else negative(m))
        h = dot(m, sub(sub(a, b), o))
        h = h if h > 0.0 else -h
        if h > best:
            best = h
            _add_point(work, 3, a, b)
            n = 4
    return n, m


@inline
def _add_edge(iwork, count, i, j):
    """Keep the edge i-j unless its other direction is there: then it is not on the rim."""
    for k in range(count):
        ends = vector(pointer(iwork), _EDGE + 2 * k, 2)
        if ends[0] == j and ends[1] == i:
            last = vector(pointer(iwork), _EDGE + 2 * count - 2, 2)
            ends[0], ends[1] = last[0], last[1]
            return count - 1
    ends = vector(pointer(iwork), _EDGE + 2 * count, 2)
    ends[0], ends[1] = i, j
    return count + 1


@inline
def _open_faces(work, iwork, faces, w, slack):
    """Take out the faces that `w` is in front of.

    Returns how many are left, the closest of them to the origin (-1 without any) and edges of the rim.
    """
    gone = vector(pointer(iwork), _GONE, 256)
    edges, count, best, least = 0, 0, -1, 1e301
    for f in range(faces):
        row = vector(pointer(work), _FACE + 4 * f, 4)
        height = row[3]
        # n . w > h
        if row[0] * w.x + row[1] * w.y + row[2] * w.z - height > slack and edges < 250:
            corners = vector(pointer(iwork), 3 * f, 3)
            i, j, k = corners[0], corners[1], corners[2]
            edges = _add_edge(iwork, edges, i, j)
            edges = _add_edge(iwork, edges, j, k)
            edges = _add_edge(iwork, edges, k, i)
            gone[count] = f
            count += 1
        elif height < least:
            best, least = f, height
    # from the last on, so that the face that fills a gap stays
    for g in range(count):
        f = gone[count - 1 - g]
        faces -= 1
        row, last = vector(pointer(work), _FACE + 4 * f, 4), vector(pointer(work), _FACE + 4 * faces, 4)
        corners, ends = vector(pointer(iwork), 3 * f, 3), vector(pointer(iwork), 3 * faces, 3)
        for e in range(4):
            row[e] = last[e]
        for e in range(3):
            corners[e] = ends[e]
        best = f if best == faces else best
    return faces, best, edges


@inline
def _closest_face(work, best, start, faces):
    """The face closest to the origin of those from `start` on and `best`, if that is one."""
    least = vector(pointer(work), _FACE + 4 * best, 4)[3] if best >= 0 else 1e301
    for f in range(start, faces):
        height = vector(pointer(work), _FACE + 4 * f, 4)[3]
        if height < least:
            best, least = f, height
    return best


@inline
def no_polytope(work):
    """Let EPA begin with the simplex of GJK."""
    work[FACE_COUNT] = 0.0


@kernel
def epa(hulls, space_io):
    """Least penetration of the cores of the problem, from the polytope it left or the simplex GJK left.

    Leaves minus the depth, the unit normal from A to B and the deepest points, all in A's frame.
    """
    work, iwork = space_io.work, space_io.iwork
    A, B, R, p = load_problem(work)
    _, n, extent = load_status(work)
    faces, points, best = int(work[FACE_COUNT]), int(work[_POINT_COUNT]), int(work[_BEST_FACE])
    # a polytope that is full or open proves no more than it did
    if faces < 0 or (faces > 0 and points == MAX_POINTS):
        return
    i, j, k, foot = int(work[_CORNERS]), int(work[_CORNERS + 1]), int(work[_CORNERS + 2]), work[_FOOT]
    found = load_found(work)
    depth, normal = -found.distance, found.normal
    if faces == 0:
        points, m = _first_tetrahedron(A, B, R, p, hulls, work, n, extent)
        if points < 4:
            put_found(work, _flat_answer(work, points, m))
            return

        # faces outward: seen from the fourth point, the first three run clockwise
        o = _load_point(work, 0)
        turn = dot(
            cross(sub(_load_point(work, 1), o), sub(_load_point(work, 2), o)), sub(_load_point(work, 3), o)
        )
        i, j, k = (1, 2, 0) if turn < 0.0 else (2, 1, 0)
        _add_face(work, iwork, 0, 0, i, j)
        _add_face(work, iwork, 1, 0, j, 3)
        _add_face(work, iwork, 2, j, i, 3)
        _add_face(work, iwork, 3, i, 0, 3)
        faces = 4
        best = _closest_face(work, -1, 0, faces)
        depth, normal = 1e300, Vec3(0.0, 0.0, 1.0)
    slack, tolerance = 1e-15 * extent, load_depth_tolerance(work)
    for _ in range(MAX_POINTS):
        face = vector(pointer(work), _FACE + 4 * best, 4)
        normal_f, height = load_three(face, 0), face[3]
        a, b = _support(A, B, R, p, hulls, work, normal_f)
        w = sub(a, b)
        reach = dot(normal_f, w)
        # the support plane is a translation that separates for sure; keep the shortest. An early face may
        # lie in the plane of the last: only the last has the origin's foot inside
        proven = reach - height <= tolerance * extent
        if reach < depth or (proven and reach <= depth + 1e-9 * extent):
            depth, normal, foot = reach, normal_f, height
            corners = vector(pointer(iwork), 3 * best, 3)
            i, j, k = corners[0], corners[1], corners[2]
        if proven or points == MAX_POINTS:
            break
        left, best, edges = _open_faces(work, iwork, faces, w, slack)
        if left + edges > _MAX_FACES or edges < 3:
            # rounding: the polytope is not closed any more and proves nothing
            faces = -1
            break
        _add_point(work, points, a, b)
        for e in range(edges):
            ends = vector(pointer(iwork), _EDGE + 2 * e, 2)
            _add_face(work, iwork, left + e, ends[0], ends[1], points)
        faces = left + edges
        best = _closest_face(work, best, left, faces)
        points += 1
    point_a, point_b = _face_points(work, i, j, k, normal, foot)
    work[FACE_COUNT], work[_POINT_COUNT], work[_BEST_FACE] = faces, points, best
    work[_CORNERS], work[_CORNERS + 1], work[_CORNERS + 2], work[_FOOT] = i, j, k, foot
    # the corners of that face, as GJK leaves its simplex
    for e, corner in enumerate((i, j, k)):
        store_three(work, FROM_A + 3 * e, load_three(work, _POINT + 9 * corner + 3))
        store_three(work, FROM_B + 3 * e, load_three(work, _POINT + 9 * corner + 6))
    put_status(work, OVERLAP, 3, extent)
    put_found(work, Closest(-depth, normal, point_a, point_b))


@inline
def is_least(work, n, depth, beside):
    """Whether the polytope that EPA left proves that no face away from `n` leads to less than a depth.

    The polytope lies inside A - B, so the penetration along a face's normal is at least the face's height. Of
    faces whose normal has a component of more than `beside` along `n` nothing is proven.
    """
    least = 1e300 if work[FACE_COUNT] >= 0.0 else -1e300
    for f in range(int(work[FACE_COUNT])):
        face = vector(pointer(work), _FACE + 4 * f, 4)
        away, height = dot(load_three(face, 0), n) < beside, face[3]
        least = height if away and height < least else least
    return least >= depth


@inline
def _face_points(work, i, j, k, n, height):
    """Points of A and B that meet at the point of a face, by its corners, closest to the origin."""
    shift = scale(n, -height)
    u, v, w = triangle_weights(
        add(_load_point(work, i), shift), add(_load_point(work, j), shift), add(_load_point(work, k), shift)
    )
    i, j, k = 9 * i, 9 * j, 9 * k
    a = _POINT + 3
    point_a = Vec3(
        u * work[a + i] + v * work[a + j] + w * work[a + k],
        u * work[a + i + 1] + v * work[a + j + 1] + w * work[a + k + 1],
        u * work[a + i + 2] + v * work[a + j + 2] + w * work[a + k + 2],
    )
    b = _POINT + 6
    point_b = Vec3(
        u * work[b + i] + v * work[b + j] + w * work[b + k],
        u * work[b + i + 1] + v * work[b + j + 1] + w * work[b + k + 1],
        u * work[b + i + 2] + v * work[b + j + 2] + w * work[b + k + 2],
    )
    return point_a, point_b


@inline
def _flat_answer(work, points, m):
    """A - B is a point, a line or a plane through the origin: no depth, the normal across it."""
    u, v, w = 1.0, 0.0, 0.0
    if points == 3:
        u, v, w = triangle_weights(_load_point(work, 0), _load_point(work, 1), _load_point(work, 2))
    elif points == 2:
        u, v, w = triangle_weights(_load_point(work, 0), _load_point(work, 1), _load_point(work, 1))
    a, b = _POINT + 3, _POINT + 6
    j, k = 9 if points > 1 else 0, 18 if points > 2 else 0
    point_a = Vec3(
        u * work[a] + v * work[a + j] + w * work[a + k],
        u * work[a + 1] + v * work[a + j + 1] + w * work[a + k + 1],
        u * work[a + 2] + v * work[a + j + 2] + w * work[a + k + 2],
    )
    point_b = Vec3(
        u * work[b] + v * work[b + j] + w * work[b + k],
        u * work[b + 1] + v * work[b + j + 1] + w * work[b + k + 1],
        u * work[b + 2] + v * work[b + j + 2] + w * work[b + k + 2],
    )
    return Closest(0.0, m, point_a, point_b)


@stage
def solve_epa(m, c, args, d):
    """Problem and simplex of GJK -> deepest points of the cores."""
    epa(hull_view(m, c, args, d), work_view(m, c, args, d))
