# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Triangle surfaces and height fields against convex shapes and against each other.

The tree of the surface is walked with the box of the convex shape in the surface's frame; every triangle met
is a convex shape of its own, two-sided and without thickness. Under a triangle of a height field the ground
is solid down to its base: a prism. A contact pushes the way the whole surface would (`inner_edges.py`), not
one triangle alone. Contacts of many triangles are grouped by normal, four points a group.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel, outline
from worldline._src.kernels.broadphase.aabb import shape_box
from worldline._src.kernels.narrowphase.convex import (
    WITNESS,
    convex_closest,
    face_contacts,
    with_witness,
)
from worldline._src.kernels.narrowphase.emit import (
    emit_closest,
    emit_contact,
    load_size,
    ordered,
    pair_margin,
)
from worldline._src.kernels.narrowphase.inner_edges import (
    AS_FOUND,
    NONE,
    REPLACED,
    corner_weights,
    surface_direction,
)
from worldline._src.kernels.narrowphase.links import put_problem
from worldline._src.kernels.narrowphase.manifold import (
    CANDIDATE,
    CANDIDATE_ROW,
    keep_four,
    put_candidate,
)
from worldline._src.kernels.narrowphase.support import LOOSE, Convex, load_convex, support
from worldline._src.kernels.narrowphase.tables import (
    DISTANCE_MODE,
    HFIELD,
    MESH,
    MODE,
    NODE_FIRST,
    SURFACE,
    TRI_COUNT,
    TRI_FIRST,
)
from worldline._src.kernels.narrowphase.values import Closest, add_scaled, negative
from worldline._src.scalar.ops import sqrt
from worldline._src.spatial.rotation import (
    relative_pose,
    rotate,
    rotate_back,
    transpose,
)
from worldline._src.spatial.vec3 import Vec3, add, dot, load_three, load_vec3, scale, store_three, sub

LOOSE_A, LOOSE_B = 4160, 4180
_GATHER = 4864
_GATHER_ROW = 7
MAX_GATHERED = 96
"""Contacts of one surface pair gathered before they are grouped."""
_TAG = 1600
_STACK = 1300
STACK_SIZE = 128
GROUPS = 4
"""Groups of like normals that one surface pair may have, four contacts each."""
_ALIKE = 0.94
"""Cosine between normals of one group."""
_ONE = 1.0 - 1.0e-6
"""Cosine between normals of contacts that may be one."""
_SAME, _SAME_LOWEST = 1.0e-7, 1.0e-3
"""Distance between such contacts, as a share of the shape's size; of lowest points of round shapes."""


@inline
def load_triangle(surfaces, t, prism, depth, work, at):
    """Put triangle `t` into the work space; a prism goes down to z = depth. Returns its convex core."""
    for k in range(3):
        v = surfaces.tri[t, k]
        x, y, z = surfaces.vertex[v, 0], surfaces.vertex[v, 1], surfaces.vertex[v, 2]
        store_three(work, at + 3 * k, Vec3(x, y, z))
        if prism:
            store_three(work, at + 9 + 3 * k, Vec3(x, y, depth))
    return Convex(LOOSE, Vec3(0.0, 0.0, 0.0), 0.0, at, 6 if prism else 3, -1)


@inline
def loose_box(A, R, p, work):
    """Box of a loose triangle A in the frame of B, for B at pose R, p in A."""
    low, high = Vec3(1e300, 1e300, 1e300), Vec3(-1e300, -1e300, -1e300)
    for k in range(A.count):
        v = rotate_back(R, sub(load_three(work, A.first + 3 * k), p))
        low = Vec3(min(low.x, v.x), min(low.y, v.y), min(low.z, v.z))
        high = Vec3(max(high.x, v.x), max(high.y, v.y), max(high.z, v.z))
    return low, high


@inline
def convex_box(A, R, p, work):
    """Box of A in the frame of B, for B at pose R, p in A."""
    if A.kind == LOOSE:
        return loose_box(A, R, p, work)
    low, high = shape_box(A.kind, A.size, transpose(R))
    o = rotate_back(R, p)
    return sub(low, o), sub(high, o)


@inline
def _axis_gap(low, high, other_low, other_high):
    gap = other_low - high if other_low > high else low - other_high
    return gap if gap > 0.0 else 0.0


@inline
def box_gap(surfaces, node, low, high):
    """Squared distance of a tree node's box from a box."""
    box = surfaces.node_box
    x = _axis_gap(low.x, high.x, box[node, 0], box[node, 3])
    y = _axis_gap(low.y, high.y, box[node, 1], box[node, 4])
    z = _axis_gap(low.z, high.z, box[node, 2], box[node, 5])
    return x * x + y * y + z * z


@inline
def _place_of(work, held, source, n, size):
    """Where the gathered list has the candidate at `source` already, or its end.

    Triangles share edges and corners, and next to an edge two of them see the lowest point of a round shape.
    """
    p = load_three(work, source)
    same = size * (_SAME_LOWEST if work[source + 4] == WITNESS else _SAME)
    for k in range(held):
        at = _GATHER + _GATHER_ROW * k
        gap = sub(load_three(work, at), p)
        if dot(gap, gap) <= same * same and dot(load_three(work, at + 3), n) >= _ONE:
            return k
    return held


@inline
def _gather(work, iwork, held, count, n, tag, size):
    """Move `count` candidates with normal `n` into the gathered list; of equal ones the deeper stays."""
    for c in range(count):
        source = CANDIDATE + CANDIDATE_ROW * c
        k = _place_of(work, held, source, n, size)
        at = _GATHER + _GATHER_ROW * k
        if k >= MAX_GATHERED or (k < held and work[at + 6] >= work[source + 3]):
            continue
        store_three(work, at, load_three(work, source))
        store_three(work, at + 3, n)
        work[at + 6] = work[source + 3]
        iwork[_TAG + k] = (tag << 33) + int(work[source + 4])
        held = max(held, k + 1)
    return held


@inline
def _thin_out(work, iwork, held):
    """Make room: keep the deeper half of what was gathered."""
    while held > MAX_GATHERED // 2:
        worst = 0
        for k in range(1, held):
            if work[_GATHER + _GATHER_ROW * k + 6] < work[_GATHER + _GATHER_ROW * worst + 6]:
                worst = k
        held -= 1
        iwork[_TAG + worst] = iwork[_TAG + held]
        for e in range(_GATHER_ROW):
            work[_GATHER + _GATHER_ROW * worst + e] = work[_GATHER + _GATHER_ROW * held + e]
    return held


@inline
def _lowest(work, surfaces, A, t, R, p, n):
    """The lowest point of A against the normal `n` of triangle `t`, and its height above the plane."""
    low = add_scaled(support(A, surfaces, work, n), n, A.radius)
    a = load_vec3(surfaces.vertex, surfaces.tri[t, 0])
    return low, dot(n, sub(add(p, rotate(R, a)), low))


@inline
def _put_foot(work, surfaces, t, R, p, n, low, gap, limit):
    """The point `low` at height `gap`, when it is above triangle `t`; returns how many."""
    a = load_vec3(surfaces.vertex, surfaces.tri[t, 0])
    b = load_vec3(surfaces.vertex, surfaces.tri[t, 1])
    c = load_vec3(surfaces.vertex, surfaces.tri[t, 2])
    wa, wb, wc = corner_weights(a, b, c, rotate_back(R, sub(low, p)))
    if gap > limit or min(wa, min(wb, wc)) < -_SAME:
        return 0
    put_candidate(work, 0, add_scaled(low, n, 0.5 * gap), -gap, WITNESS)
    return 1


@inline
def triangle_pair(arena, work, A, B, row_a, surfaces, t, ground, R, p, limit, mode):
    """Contacts of A and triangle `t` of a surface, B: (count of candidates, Closest), as `convex_pair`.

    An overlap without a candidate has the triangle's normal, and points as deep as A reaches below its plane:
    the distance is that along the direction that was replaced, and says only how far A is in the triangle.
    """
    put_problem(work, A, B, R, p, row_a, -1)
    found = convex_closest(arena, work, A, B, p, limit)
    if found.distance > limit:
        return 0, found
    if mode == DISTANCE_MODE:
        return 1, found
    verdict, up = surface_direction(
        surfaces,
        t,
        ground,
        negative(rotate_back(R, found.normal)),
        rotate_back(R, sub(found.point_b, p)),
        negative(rotate_back(R, p)),
    )
    if verdict == NONE:
        return 0, found
    normal = found.normal if verdict == AS_FOUND else negative(rotate(R, up))
    turned = Closest(found.distance, normal, found.point_a, found.point_b)
    count = face_contacts(arena, work, normal, limit)
    if verdict != REPLACED:
        return with_witness(work, count, turned, sqrt(dot(p, p))), turned
    if count > 0:
        return count, turned
    low, gap = _lowest(work, surfaces, A, t, R, p, normal)
    count = _put_foot(work, surfaces, t, R, p, normal, low, gap, limit)
    if count == 0 and found.distance >= 0.0:
        return 0, found
    # depth along n of the lowest point l below the plane through a: n . (l - a)
    return count, Closest(found.distance, normal, low, add_scaled(low, normal, gap))


@outline
def walk_surface(arena, A, row_a, surfaces, g, R, p, space, limit, ground, mode, held, best):
    """Every triangle of surface `g` near the convex shape A: contacts gathered, or the closest kept.

    R and p are the pose of the surface in A. `ground` is the base of a height field, a number above 1e299
    for a mesh. Returns contacts held and the Closest so far, of those that gave no contact.
    """
    work, iwork = space.work, space.iwork
    low, high = convex_box(A, R, p, work)
    size = high.x - low.x + high.y - low.y + high.z - low.z
    first_node, first_tri = surfaces.geom[g, NODE_FIRST], surfaces.geom[g, TRI_FIRST]
    prism = ground < 1e299
    iwork[_STACK] = first_node
    top = 1
    while top > 0:
        top -= 1
        node = iwork[_STACK + top]
        gap2 = box_gap(surfaces, node, low, high)
        reach = limit
        if mode == DISTANCE_MODE and best.distance < limit:
            reach = best.distance if best.distance > 0.0 else 0.0
        if gap2 > reach * reach:
            continue
        start, count = surfaces.node_index[node, 0], surfaces.node_index[node, 1]
        if count == 0:
            # the nearer child is looked at first
            left, right = first_node + start, first_node + start + 1
            if box_gap(surfaces, left, low, high) < box_gap(surfaces, right, low, high):
                left, right = right, left
            if top + 2 <= STACK_SIZE:
                iwork[_STACK + top] = left
                iwork[_STACK + top + 1] = right
                top += 2
            continue
        for t in range(first_tri + start, first_tri + start + count):
            B = load_triangle(surfaces, t, prism, ground, work, LOOSE_B)
            bound = reach if mode == DISTANCE_MODE and best.distance > 0.0 else limit
            found_count, found = triangle_pair(
                arena, work, A, B, row_a, surfaces, t, ground, R, p, bound, mode
            )
            # what no triangle takes for a contact is kept too, lest an overlap has none at all
            if (mode == DISTANCE_MODE or found_count == 0) and found.distance < best.distance:
                best = found
            if mode != DISTANCE_MODE and found_count > 0:
                if held + found_count > MAX_GATHERED:
                    held = _thin_out(work, iwork, held)
                tag = surfaces.tri[t, 3]
                held = _gather(work, iwork, held, found_count, found.normal, tag, size)
    return held, best


@inline
def _emit_groups(shapes, out, work, iwork, q, a, b, flip, origin, R_WA, held):
    """Group what was gathered by normal, deepest first, and write four contacts of each group."""
    for _ in range(GROUPS):
        lead = -1
        for k in range(held):
            if lead < 0 or work[_GATHER + _GATHER_ROW * k + 6] > work[_GATHER + _GATHER_ROW * lead + 6]:
                lead = k
        if lead < 0:
            break
        n = load_three(work, _GATHER + _GATHER_ROW * lead + 3)
        count, k = 0, 0
        while k < held:
            at = _GATHER + _GATHER_ROW * k
            if dot(n, load_three(work, at + 3)) >= _ALIKE or k == lead:
                # the candidate remembers its place in the list of tags and normals
                put_candidate(work, count, load_three(work, at), work[at + 6], float(k))
                count += 1
            k += 1
        kept = keep_four(work, 0, count)
        for c in range(kept):
            at = CANDIDATE + CANDIDATE_ROW * c
            k = int(work[at + 4])
            m = load_three(work, _GATHER + _GATHER_ROW * k + 3)
            emit_contact(
                shapes, out, q, a, b, flip, origin, rotate(R_WA, load_three(work, at)), rotate(R_WA, m),
                work[at + 3], iwork[_TAG + k],
            )  # fmt: skip
        held = _drop_group(work, iwork, held, n, lead)


@inline
def _drop_group(work, iwork, held, n, lead):
    """Take a group out of the gathered list."""
    kept = 0
    for k in range(held):
        at = _GATHER + _GATHER_ROW * k
        if dot(n, load_three(work, at + 3)) >= _ALIKE or k == lead:
            continue
        if kept != k:
            for e in range(_GATHER_ROW):
                work[_GATHER + _GATHER_ROW * kept + e] = work[at + e]
            iwork[_TAG + kept] = iwork[_TAG + k]
        kept += 1
    return kept


@kernel
def surface_pairs(arena, shapes, surfaces, buckets, space_io, contacts_out):
    """Meshes and height fields, always the second shape, against the rest."""
    space, out = space_io, contacts_out
    work, iwork = space.work, space.iwork
    for k in range(buckets.bucket_start[SURFACE], buckets.bucket_start[SURFACE + 1]):
        q = buckets.bucket[k]
        a, b, flip = ordered(shapes, buckets.pair[q, 0], buckets.pair[q, 1])
        origin, R_WA, R, p = relative_pose(shapes.shape_X_W, a, b)
        mode = buckets.counter[MODE]
        limit = 1e150 if mode == DISTANCE_MODE else pair_margin(shapes, a, b)
        g = shapes.shape_geom[b]
        ground = -load_size(shapes, b).z if shapes.shape_type[b] == HFIELD else 1e300
        zero = Vec3(0.0, 0.0, 0.0)
        best = Closest(1e300, Vec3(0.0, 0.0, 1.0), zero, zero)
        held = 0
        # a convex shape against the surface, or every triangle of a surface in turn
        solid = shapes.shape_type[a] < MESH
        h = shapes.shape_geom[a]
        start, count = (0, 1) if solid else (surfaces.geom[h, TRI_FIRST], surfaces.geom[h, TRI_COUNT])
        for t in range(start, start + count):
            if solid:
                A = load_convex(shapes, surfaces.geom, a)
            else:
                A = load_triangle(surfaces, t, False, 0.0, work, LOOSE_A)
            held, best = walk_surface(arena, A, h, surfaces, g, R, p, space, limit, ground, mode, held, best)
        if mode == DISTANCE_MODE:
            emit_closest(
                out, q, flip, origin, best.distance, rotate(R_WA, best.normal),
                rotate(R_WA, best.point_a), rotate(R_WA, best.point_b),
            )  # fmt: skip
        elif held > 0:
            _emit_groups(shapes, out, work, iwork, q, a, b, flip, origin, R_WA, held)
        elif best.distance <= limit:
            middle = scale(add(best.point_a, best.point_b), 0.5)
            where, n = rotate(R_WA, middle), rotate(R_WA, best.normal)
            depth = dot(best.normal, sub(best.point_a, best.point_b))
            emit_contact(shapes, out, q, a, b, flip, origin, where, n, depth, int(WITNESS))
