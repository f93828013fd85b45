# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From candidate pairs to contacts: sort the pairs by family, then one stage a family.

Every stage is compiled and cached alone, and only when a scene has pairs of its family. The order of
contacts is that of the families and, within one, that of the pairs.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.narrowphase.closed import ball_pairs, flat_pairs, round_pairs
from worldline._src.kernels.narrowphase.convex import FAR, box_pair, capsule_box_pair, convex_pair
from worldline._src.kernels.narrowphase.curved import solve_curved
from worldline._src.kernels.narrowphase.emit import emit_closest, emit_contact, ordered, pair_margin
from worldline._src.kernels.narrowphase.epa import solve_epa
from worldline._src.kernels.narrowphase.gjk import solve_gjk
from worldline._src.kernels.narrowphase.links import (
    CURVED_LINK,
    EPA_LINK,
    GJK_LINK,
    LINKED,
    MANIFOLD_LINK,
    keep_axis,
    recall_axis,
)
from worldline._src.kernels.narrowphase.manifold import CANDIDATE, CANDIDATE_ROW, solve_manifold
from worldline._src.kernels.narrowphase.operands import collision_stage
from worldline._src.kernels.narrowphase.support import load_convex
from worldline._src.kernels.narrowphase.surface import surface_pairs
from worldline._src.kernels.narrowphase.tables import (
    BALL,
    BOX,
    CAPSULE,
    CONTACTS,
    CONVEX,
    DISTANCE_MODE,
    ELLIPSOID,
    FAMILY_COUNT,
    FLAT,
    HFIELD,
    MESH,
    MODE,
    PAIRS,
    PLANE,
    ROUND,
    SKIP,
    SPHERE,
    SURFACE,
)
from worldline._src.spatial.rotation import (
    relative_pose,
    rotate,
)
from worldline._src.spatial.vec3 import load_three


def pair_family(type_a, type_b):
    """The family of a pair of types; SKIP for pairs of fixed things without a meaningful distance."""
    low, high = (type_a, type_b) if type_a <= type_b else (type_b, type_a)
    if low == PLANE:
        return SKIP if high == PLANE or high == HFIELD else FLAT
    if high >= MESH:
        return SKIP if low == HFIELD else SURFACE
    if high <= CAPSULE:
        return ROUND
    if low == SPHERE and high <= ELLIPSOID:
        return BALL
    return CONVEX


_family = inline(pair_family)


@kernel
def sort_pairs(shape_type, buckets_io):
    """Stable counting sort of the candidate pairs by family."""
    start, pair, bucket = buckets_io.bucket_start, buckets_io.pair, buckets_io.bucket
    # pairs there was no room for are counted but not there
    count = min(buckets_io.counter[PAIRS], pair.shape[0])
    for f in range(FAMILY_COUNT + 1):
        start[f] = 0
    for q in range(count):
        start[_family(shape_type[pair[q, 0]], shape_type[pair[q, 1]]) + 1] += 1
    for f in range(FAMILY_COUNT):
        start[f + 1] += start[f]
    for q in range(count):
        f = _family(shape_type[pair[q, 0]], shape_type[pair[q, 1]])
        bucket[start[f]] = q
        start[f] += 1
    for f in range(FAMILY_COUNT, 0, -1):
        start[f] = start[f - 1]
    start[0] = 0


@kernel
def convex_pairs(arena, shapes, geom, buckets, work_io, contacts_out):
    """Convex shapes without a closed form against each other."""
    mode = buckets.counter[MODE]
    work, out = work_io, contacts_out
    for k in range(buckets.bucket_start[CONVEX], buckets.bucket_start[CONVEX + 1]):
        q = buckets.bucket[k]
        a, b, flip = ordered(shapes, buckets.pair[q, 0], buckets.pair[q, 1])
        origin, R_WA, R, p = relative_pose(shapes.shape_X_W, a, b)
        margin = 1e150 if mode == DISTANCE_MODE else pair_margin(shapes, a, b)
        A, B = load_convex(shapes, geom, a), load_convex(shapes, geom, b)
        if A.kind == BOX and B.kind == BOX:
            count, found = box_pair(arena, work, A, B, R, p, margin, mode)
        elif A.kind == CAPSULE and B.kind == BOX:
            count, found = capsule_box_pair(arena, work, A, B, R, p, margin, mode)
        else:
            row_a, row_b, n = shapes.shape_geom[a], shapes.shape_geom[b], shapes.shape_type.shape[0]
            recall_axis(work, n, a, b)
            count, found = convex_pair(arena, work, A, B, row_a, row_b, R, p, margin, mode)
            if found.distance == FAR:
                keep_axis(work, n, a, b, found.normal)
        n = rotate(R_WA, found.normal)
        if mode == DISTANCE_MODE:
            point_a, point_b = rotate(R_WA, found.point_a), rotate(R_WA, found.point_b)
            emit_closest(out, q, flip, origin, found.distance, n, point_a, point_b)
            continue
        for c in range(count):
            at = CANDIDATE + CANDIDATE_ROW * c
            where, feature = rotate(R_WA, load_three(work, at)), int(work[at + 4])
            emit_contact(shapes, out, q, a, b, flip, origin, where, n, work[at + 3], feature)


@collision_stage
def narrow_sort(shapes, buckets):
    """Candidate pairs -> buckets by family; clears the contacts."""
    buckets.counter[CONTACTS] = 0
    sort_pairs(shapes.shape_type, buckets)


narrow_round = collision_stage.of(round_pairs, name="narrow_round")
narrow_flat = collision_stage.of(flat_pairs, name="narrow_flat")
narrow_ball = collision_stage.of(ball_pairs, name="narrow_ball")
narrow_convex = collision_stage.of(convex_pairs, name="narrow_convex")
narrow_surface = collision_stage.of(surface_pairs, name="narrow_surface")

FAMILY_STAGES = {
    ROUND: narrow_round,
    FLAT: narrow_flat,
    BALL: narrow_ball,
    CONVEX: narrow_convex,
    SURFACE: narrow_surface,
}
"""The stage of every family that has one."""

_CONVEX_LINKS = (GJK_LINK, EPA_LINK, MANIFOLD_LINK, CURVED_LINK)
FAMILY_LINKS = {CONVEX: _CONVEX_LINKS, SURFACE: _CONVEX_LINKS}
"""The links a family calls; the others call none."""

LINKED.update(
    {GJK_LINK: solve_gjk, EPA_LINK: solve_epa, MANIFOLD_LINK: solve_manifold, CURVED_LINK: solve_curved}
)
