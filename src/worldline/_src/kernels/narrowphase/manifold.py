# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Contact manifolds: clip one face against another and keep four well-spread points.

When a flat face of one shape is at right angles to the contact normal, the face of the other shape that
looks at it is cut to its outline. Every point knows its feature: the faces, and the corner or the pair of
edges it comes from. That is what a contact is recognised by in the next step.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel, outline, stage
from worldline._src.kernels.narrowphase.faces import ROW, face_polygon
from worldline._src.kernels.narrowphase.links import (
    load_limit,
    load_normal,
    load_problem,
    load_rows,
    put_status,
)
from worldline._src.kernels.narrowphase.tables import face_view, work_view
from worldline._src.kernels.narrowphase.values import add_scaled, negative
from worldline._src.scalar.ops import sqrt
from worldline._src.spatial.rotation import rotate, rotate_back
from worldline._src.spatial.vec3 import Vec3, add, cross, dot, load_three, store_three, sub

POLYGON_A = 2240
POLYGON_B = 2560
CLIP = (2880, 3520)
CANDIDATE = 4224
CANDIDATE_ROW = 5
MAX_CANDIDATES = 128
FACING = 1.0 - 1.0e-5
"""Cosine between a face and the normal above which the face is the one that touches."""
_SAME = 1.0e-6
"""Relative difference below which two choices of points count as equal, and the earlier stays."""
_EDGE_BASE = 64


@inline
def _copy_row(work, source, target):
    for e in range(ROW):
        work[target + e] = work[source + e]


@inline
def _cut(work, source, target, s, e, hs, he, side, leaving):
    """The point where the edge from row `s` to row `e` meets a side plane."""
    t = hs / (hs - he)
    for k in range(3):
        work[target + k] = work[source + ROW * s + k] + t * (
            work[source + ROW * e + k] - work[source + ROW * s + k]
        )
    edge = work[source + ROW * s + 4]
    work[target + 3] = _EDGE_BASE + 128 * side + edge
    # after leaving, the outline goes on along the side plane
    work[target + 4] = _EDGE_BASE + side if leaving else edge


@inline
def _clip_side(work, source, count, target, o, m, side):
    """Keep what lies behind the plane through `o` with outward normal `m`."""
    kept = 0
    closed = count >= 3
    h0 = dot(m, sub(load_three(work, source), o))
    if not closed and h0 <= 0.0:
        _copy_row(work, source, target)
        kept = 1
    hs = h0
    for s in range(count if closed else count - 1):
        e = s + 1 if s + 1 < count else 0
        he = dot(m, sub(load_three(work, source + ROW * e), o)) if e != 0 else h0
        if hs <= 0.0 < he or he <= 0.0 < hs:
            _cut(work, source, target + ROW * kept, s, e, hs, he, side, hs <= 0.0)
            kept += 1
        if he <= 0.0:
            _copy_row(work, source + ROW * e, target + ROW * kept)
            kept += 1
        hs = he
        if kept >= MAX_CANDIDATES - 2:
            break
    return kept


@outline
def _clip(work, reference, corners, n_ref, incident, count):
    """Cut the incident polygon to the outline of the reference polygon; returns where it is and its size."""
    source = incident
    for k in range(corners):
        o = load_three(work, reference + ROW * k)
        nxt = load_three(work, reference + ROW * (k + 1 if k + 1 < corners else 0))
        target = CLIP[0] if k % 2 == 0 else CLIP[1]
        count = _clip_side(work, source, count, target, o, cross(sub(nxt, o), n_ref), k)
        source = target
        if count == 0:
            break
    return source, count


@inline
def put_candidate(work, k, p, depth, feature):
    row = CANDIDATE + CANDIDATE_ROW * k
    store_three(work, row, p)
    work[row + 3] = depth
    work[row + 4] = feature


@inline
def _swap_candidates(work, i, j):
    for e in range(CANDIDATE_ROW):
        a, b = CANDIDATE + CANDIDATE_ROW * i + e, CANDIDATE + CANDIDATE_ROW * j + e
        work[a], work[b] = work[b], work[a]


@outline
def keep_four(work, first, count):
    """Move the four best of the candidates from row `first` on to its front; returns how many are left.

    The deepest, the one farthest from it, and the two that span the largest triangles on either side.
    """
    if count <= 4:
        return count
    best, value = first, work[CANDIDATE + CANDIDATE_ROW * first + 3]
    low, high = value, value
    for k in range(first + 1, first + count):
        depth = work[CANDIDATE + CANDIDATE_ROW * k + 3]
        low, high = min(low, depth), max(high, depth)
    slack = 1e-3 * (high - low) + 1e-12
    for k in range(first + 1, first + count):
        depth = work[CANDIDATE + CANDIDATE_ROW * k + 3]
        if depth > value + slack:
            best, value = k, depth
    _swap_candidates(work, first, best)
    p = load_three(work, CANDIDATE + CANDIDATE_ROW * first)

    best, value = first + 1, 0.0
    for k in range(first + 1, first + count):
        u = sub(load_three(work, CANDIDATE + CANDIDATE_ROW * k), p)
        if dot(u, u) > value * (1.0 + _SAME):
            best, value = k, dot(u, u)
    _swap_candidates(work, first + 1, best)
    u = sub(load_three(work, CANDIDATE + CANDIDATE_ROW * (first + 1)), p)

    # the normal of the largest triangle tells one side from the other
    best, value = first + 2, 0.0
    m = Vec3(0.0, 0.0, 0.0)
    for k in range(first + 2, first + count):
        area = cross(u, sub(load_three(work, CANDIDATE + CANDIDATE_ROW * k), p))
        if dot(area, area) > value * (1.0 + _SAME):
            best, value, m = k, dot(area, area), area
    if value <= 1e-24 * dot(u, u) * dot(u, u):
        # all on one line: its two ends say it all
        return 2
    _swap_candidates(work, first + 2, best)
    q = load_three(work, CANDIDATE + CANDIDATE_ROW * (first + 1))
    r = load_three(work, CANDIDATE + CANDIDATE_ROW * (first + 2))

    # the fourth adds the most beyond one of the triangle's three sides
    best, value = -1, 1e-9 * sqrt(dot(m, m))
    scale_m = 1.0 / sqrt(dot(m, m))
    for k in range(first + 3, first + count):
        x = load_three(work, CANDIDATE + CANDIDATE_ROW * k)
        beyond = -dot(m, cross(sub(q, p), sub(x, p))) * scale_m
        beyond = max(beyond, -dot(m, cross(sub(r, q), sub(x, q))) * scale_m)
        beyond = max(beyond, -dot(m, cross(sub(p, r), sub(x, r))) * scale_m)
        if beyond > value * (1.0 + _SAME):
            best, value = k, beyond
    if best < 0:
        return 3
    _swap_candidates(work, first + 3, best)
    return 4


@inline
def _clip_faces(A, B, R, p, faces, n, margin, work):
    """The points where the faces toward each other meet; returns how many."""
    row_a, row_b = load_rows(work)
    count_a, n_a, face_a = face_polygon(A, row_a, faces, n, work, POLYGON_A)
    along_a = dot(n_a, n)
    if count_a < 2 or (count_a == 2 and along_a < FACING):
        return 0
    count_b, n_b, face_b = face_polygon(B, row_b, faces, negative(rotate_back(R, n)), work, POLYGON_B)
    n_b = rotate(R, n_b)
    along_b = -dot(n_b, n)
    if count_b < 2 or (count_b == 2 and along_b < FACING and along_a < FACING):
        return 0
    for k in range(count_b):
        at = POLYGON_B + ROW * k
        store_three(work, at, add_scaled(add(p, rotate(R, load_three(work, at))), n, -B.radius))
    if A.radius > 0.0:
        for k in range(count_a):
            at = POLYGON_A + ROW * k
            store_three(work, at, add_scaled(load_three(work, at), n, A.radius))

    # the reference is a flat face at right angles to the normal; a tie goes to the first shape
    by_a = count_a >= 3 and along_a >= FACING and (along_a >= along_b - 1e-9 or count_b < 3)
    by_b = not by_a and count_b >= 3 and along_b >= FACING
    if not by_a and not by_b:
        return 0
    if by_a:
        at, count = _clip(work, POLYGON_A, count_a, n_a, POLYGON_B, count_b)
        o, m = load_three(work, POLYGON_A), n_a
    else:
        at, count = _clip(work, POLYGON_B, count_b, n_b, POLYGON_A, count_a)
        o, m = load_three(work, POLYGON_B), n_b
    flag = 0.0 if by_a else 1.0
    code = (face_b * 262144.0 + face_a) * 32768.0 + flag * 16384.0

    found = 0
    for k in range(count):
        x = load_three(work, at + ROW * k)
        gap = dot(m, sub(x, o))
        if gap < margin and found < MAX_CANDIDATES:
            middle = add_scaled(x, m, -0.5 * gap)
            put_candidate(work, found, middle, -gap, code + work[at + ROW * k + 3])
            found += 1
    return keep_four(work, 0, found)


@kernel
def manifold(faces, work_io):
    """Contact points of the two shapes of the problem for its normal and margin, left as candidates.

    Everything is in A's frame. The number of points, at most four, is left as status: zero when no two faces
    meet, for then the closest points are the one contact.
    """
    work = work_io
    A, B, R, p = load_problem(work)
    put_status(work, _clip_faces(A, B, R, p, faces, load_normal(work), load_limit(work), work), 0, 0.0)


@stage
def solve_manifold(m, c, args, d):
    """Problem, normal and margin -> candidates and their count."""
    manifold(face_view(m, c, args, d), work_view(m, c, args, d).work)
