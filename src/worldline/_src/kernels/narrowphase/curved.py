# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Closest points or least penetration with curved shapes by Newton's method, from a nearly right answer.

GJK and EPA approach a curved surface by vertices, a few digits for many of them. Once the normal is known to
a few digits, the derivative of the support points leads to the rest in two or three steps. Where a flat part
of a shape takes part (an edge, a face, the side or the end of a cylinder) the support points jump: the normal
is then kept at right angles to that part, and the point on it follows from the other shape.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel, outline, stage
from worldline._src.kernels.narrowphase.epa import is_least
from worldline._src.kernels.narrowphase.gjk import FROM_A, FROM_B, difference_support, triangle_weights
from worldline._src.kernels.narrowphase.links import (
    load_found,
    load_problem,
    load_status,
    put_found,
    put_status,
)
from worldline._src.kernels.narrowphase.support import cone_apex
from worldline._src.kernels.narrowphase.tables import BOX, CONE, CYLINDER, ELLIPSOID, hull_view, work_view
from worldline._src.kernels.narrowphase.values import Closest, across, add_scaled, negative, unit_or
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.ops import absolute, maximum, minimum, sqrt
from worldline._src.spatial.rotation import Mat3, rotate, rotate_back
from worldline._src.spatial.vec3 import Vec3, add, cross, dot, load_three, scale, sub

REFINED, FAILED = 0, 1
_STEPS = 12
_EXACT = 1.0e-14
"""Distance of the points from a common normal, over the extent of A - B, at which the search ends."""
_ENOUGH = 1.0e-12
"""The same, where no step gets closer any more: an answer within rounding."""
_SAME = 1.0e-6
"""How much deeper than EPA's an answer may be, over the extent: the same local minimum."""
_OPEN = 2.0e-6
"""Difference over extent between depths that EPA need not tell apart."""
_BESIDE_NORMAL, _BESIDE_SMOOTH = 0.996, 0.95
"""Cosine of the angle about a normal within which the least penetration that Newton's method found there is
the only one; EPA's polytope must exclude others. The second is for two ellipsoids, which have no edges."""
_LONGEST = 0.5
"""Longest step of the normal, rad."""
_WIDE = 0.1
"""Distance over radius between support points on the rim of a cylinder that speaks for its end."""
_BESIDE = 1.0e-9
"""How far a point may lie outside of a flat part, over its size."""


class Flat(NamedTuple):
    """A flat part of a shape that takes part: how many directions it spans, and those as unit vectors."""

    span: Any
    e: Any
    f: Any


class Core(NamedTuple):
    """A convex core in A's frame: shape, rotation matrix, position, offset of its support points in work."""

    shape: Any
    R: Any
    p: Any
    at: Any


@inline
def is_curved(shape):
    """Whether the support point of a shape moves smoothly with the direction, somewhere."""
    return shape.kind == ELLIPSOID or shape.kind == CYLINDER or shape.kind == CONE


@inline
def support_rate(shape, d, t):
    """How fast the support point along the unit vector `d` moves when `d` moves along `t`."""
    kind, size = shape.kind, shape.size
    if kind == ELLIPSOID:
        # s = S^2 d / |S d|, so ds = (S^2 t - s (s . t)) / |S d|; without the ball of the radius, -r t
        e = Vec3(size.x * d.x, size.y * d.y, size.z * d.z)
        k = 1.0 / sqrt(dot(e, e))
        s = Vec3(size.x * e.x * k, size.y * e.y * k, size.z * e.z * k)
        y = Vec3(size.x * size.x * t.x, size.y * size.y * t.y, size.z * size.z * t.z)
        return add_scaled(scale(add_scaled(y, s, -dot(s, t)), k), t, -shape.radius)
    rho = sqrt(d.x * d.x + d.y * d.y)
    if (kind == CYLINDER or (kind == CONE and not cone_apex(size, rho, d.z))) and rho > 1e-12:
        # a rim: s = r u, u = d_xy / rho, so ds = r (t_xy - u (u . t)) / rho
        x, y = d.x / rho, d.y / rho
        along = x * t.x + y * t.y
        k = size.x / rho
        return Vec3(k * (t.x - x * along), k * (t.y - y * along), 0.0)
    return Vec3(0.0, 0.0, 0.0)


@inline
def _difference_rate(A, B, R, n, t):
    """The same for A - B along `n`, in A's frame: B is met from the other side, which turns both signs."""
    rate_b = support_rate(B, negative(rotate_back(R, n)), rotate_back(R, t))
    return add(support_rate(A, n, t), rotate(R, rate_b))


@outline
def _flat_part(core, work, count, extent):
    """The flat part of a core that the `count` support points of a simplex lie on."""
    zero, kind = Vec3(0.0, 0.0, 0.0), core.shape.kind
    none = Flat(0, zero, zero)
    if kind == ELLIPSOID or kind == CONE:
        return none
    q = load_three(work, core.at)
    # the two longest edges from the first point
    u, v = zero, zero
    for k in range(1, count):
        w = sub(load_three(work, core.at + 3 * k), q)
        if dot(w, w) > dot(u, u):
            u, v = w, u
        elif dot(w, w) > dot(v, v):
            v = w
    if kind == CYLINDER:
        axis = rotate(core.R, Vec3(0.0, 0.0, 1.0))
        high = absolute(dot(u, axis)) > core.shape.size.y or absolute(dot(v, axis)) > core.shape.size.y
        if high:
            return Flat(1, axis, zero)
        if dot(u, u) > (_WIDE * core.shape.size.x) ** 2:
            return Flat(2, rotate(core.R, Vec3(1.0, 0.0, 0.0)), rotate(core.R, Vec3(0.0, 1.0, 0.0)))
        return none
    if dot(u, u) <= (1e-9 * extent) ** 2:
        return none
    e = scale(u, 1.0 / sqrt(dot(u, u)))
    f = add_scaled(v, e, -dot(v, e))
    # edges that are parallel but for rounding span a line
    if dot(f, f) <= (1e-9 * extent) ** 2 or dot(f, f) <= 1e-12 * dot(v, v):
        return Flat(1, e, zero)
    return Flat(2, e, scale(f, 1.0 / sqrt(dot(f, f))))


@outline
def _is_on(core, work, count, part, x):
    """Whether a point in the plane or on the line of a flat part lies on it."""
    size = core.shape.size
    local = rotate_back(core.R, sub(x, core.p))
    if core.shape.kind == CYLINDER:
        radius = sqrt(local.x * local.x + local.y * local.y)
        return radius <= size.x * (1.0 + _BESIDE) and absolute(local.z) <= size.y * (1.0 + _BESIDE)
    if core.shape.kind == BOX:
        beside = 1.0 + _BESIDE
        inside = absolute(local.x) <= size.x * beside and absolute(local.y) <= size.y * beside
        return inside and absolute(local.z) <= size.z * beside
    a = sub(load_three(work, core.at), x)
    b = sub(load_three(work, core.at + 3), x) if count > 1 else a
    c = sub(load_three(work, core.at + 6), x) if count > 2 else b
    reach = dot(a, a) + dot(b, b) + dot(c, c)
    if part.span == 1:
        # between those points of the simplex that lie on the line; others make a triangle without area
        low, high, slack = 1e300, -1e300, _BESIDE * sqrt(reach)
        for k in range(3):
            d = a if k == 0 else (b if k == 1 else c)
            along = dot(d, part.e)
            off = add_scaled(d, part.e, -along)
            if dot(off, off) <= slack * slack:
                low, high = minimum(low, along), maximum(high, along)
        return low <= slack and high >= -slack
    # in the triangle of the simplex: its closest point to x is x itself
    u, v, w = triangle_weights(a, b, c)
    y = add_scaled(add_scaled(scale(a, u), b, v), c, w)
    return part.span == 0 or dot(y, y) <= _BESIDE * _BESIDE * reach


@inline
def _across_part(w, part):
    """A vector without its components along a flat part whose directions are orthonormal."""
    return add_scaled(add_scaled(w, part.e, -dot(w, part.e)), part.f, -dot(w, part.f))


@outline
def _reduced(core, work, count, part, x):
    """A smaller flat part: of a face the edge closest to its point `x`, of edges and rims none."""
    zero = Vec3(0.0, 0.0, 0.0)
    if part.span < 2 or core.shape.kind == CYLINDER or count < 3:
        return Flat(0, zero, zero)
    a, b, c = load_three(work, core.at), load_three(work, core.at + 3), load_three(work, core.at + 6)
    u, v, w = triangle_weights(sub(a, x), sub(b, x), sub(c, x))
    # the corner with the least weight is not on the edge
    e = sub(b, a) if w <= u and w <= v else (sub(c, a) if v <= u else sub(c, b))
    return Flat(1, unit_or(e, part.e), zero)


@outline
def _search(problem, hulls, work, start, core_a, core_b, part_a, part_b):
    """Newton's method with given flat parts: (REFINED or FAILED, answer)."""
    A, B, R, p = problem
    _, points, extent = load_status(work)
    count = min(points, 3)
    span = part_a.span + part_b.span
    # directions of both parts, orthonormal; two that are nearly parallel leave the points undetermined
    both = part_a if part_b.span == 0 else part_b
    if part_a.span == 1 and part_b.span == 1:
        f = add_scaled(part_b.e, part_a.e, -dot(part_a.e, part_b.e))
        if dot(f, f) < 1e-6:
            span = 3
        both = Flat(2, part_a.e, unit_or(f, part_a.e))

    n, last, status = start.normal, 1e300, FAILED
    best = start
    if span == 1:
        n = unit_or(add_scaled(n, both.e, -dot(n, both.e)), n)
    if span == 2:
        turned = cross(both.e, both.f)
        n = turned if dot(turned, n) > 0.0 else negative(turned)
    for _ in range(_STEPS if span < 3 else 0):
        a, b = difference_support(A, B, R, p, hulls, work, n)
        w = sub(a, b)
        reach = dot(n, w)
        miss = _across_part(add_scaled(w, n, -reach), both)
        error = sqrt(dot(miss, miss))
        if not error < last:
            status = REFINED if last <= _ENOUGH * extent else FAILED
            break
        best, last = Closest(-reach, n, a, b), error
        if error <= _EXACT * extent or span == 2:
            status = REFINED if error <= _ENOUGH * extent else FAILED
            break
        # Hessian on the tangent plane: by two unit vectors, or across the one direction of a flat part
        u = cross(both.e, n) if span == 1 else unit_or(across(n), Vec3(1.0, 0.0, 0.0))
        v = cross(n, u)
        wu, wv = _difference_rate(A, B, R, n, u), _difference_rate(A, B, R, n, v)
        huu, huv, hvv = dot(u, wu) - reach, dot(u, wv), dot(v, wv) - reach
        gu, gv = dot(u, w), dot(v, w)
        if span == 1:
            huv, hvv, gv = 0.0, huu, 0.0
        determinant = huu * hvv - huv * huv
        if huu <= 0.0 or determinant <= 1e-9 * huu * huu:
            break
        x, y = (huv * gv - hvv * gu) / determinant, (huv * gu - huu * gv) / determinant
        length = sqrt(x * x + y * y)
        k = 1.0 if length <= _LONGEST else _LONGEST / length
        n = unit_or(add_scaled(add_scaled(n, u, k * x), v, k * y), n)
    if status == REFINED and best.distance < 0.0:
        # no deeper than EPA's answer, and no face of its polytope away from the normal leads to less
        worse = best.distance < start.distance - _SAME * extent
        beside = _BESIDE_SMOOTH if A.kind == ELLIPSOID and B.kind == ELLIPSOID else _BESIDE_NORMAL
        if worse or not is_least(work, best.normal, -best.distance - _OPEN * extent, beside):
            status = FAILED
    n, a, b = best.normal, best.point_a, best.point_b
    if status == REFINED:
        rest = add_scaled(sub(a, b), n, best.distance)
        if part_a.span == 1 and part_b.span == 1:
            # rest = x e_a + y e_b
            c = dot(part_a.e, part_b.e)
            ra, rb = dot(rest, part_a.e), dot(rest, part_b.e)
            a = add_scaled(a, part_a.e, -(ra - c * rb) / (1.0 - c * c))
            b = add_scaled(b, part_b.e, (rb - c * ra) / (1.0 - c * c))
        elif part_a.span > 0:
            a = sub(a, sub(rest, _across_part(rest, part_a)))
        else:
            b = add(b, sub(rest, _across_part(rest, part_b)))
        if part_a.span > 0 and not _is_on(core_a, work, count, part_a, a):
            status = FAILED
        if part_b.span > 0 and not _is_on(core_b, work, count, part_b, b):
            status = FAILED
    # what rounding left beside the normal is shared by both points
    miss = add_scaled(sub(b, a), n, -best.distance)
    return status, Closest(best.distance, n, add_scaled(a, miss, 0.5), add_scaled(b, miss, -0.5))


@kernel
def common_normal(hulls, work_io):
    """Newton's method for the normal n at which the support points w of A - B lie along n itself.

    The reach h(n) = n . w(n) over unit vectors has gradient P w and Hessian P (dw/dn) P - h I, where P takes
    the component along n away, and those along flat parts. Its minimum is the least penetration, its maximum
    below zero minus the distance. Starts from the normal and the simplex that were found last; leaves a
    better answer there and REFINED as status, or FAILED. Where the flat parts that the simplex lies on do not
    hold the points, smaller ones are tried.
    """
    work = work_io
    problem = load_problem(work)
    A, B, R, p = problem
    start = load_found(work)
    _, points, extent = load_status(work)
    count = min(points, 3)
    core_a = Core(A, Mat3(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), Vec3(0.0, 0.0, 0.0), FROM_A)
    core_b = Core(B, R, p, FROM_B)
    part_a, part_b = _flat_part(core_a, work, count, extent), _flat_part(core_b, work, count, extent)
    less_a = _reduced(core_a, work, count, part_a, start.point_a)
    less_b = _reduced(core_b, work, count, part_b, start.point_b)
    status, found = FAILED, start
    # both as they are, then one smaller, then both
    for k in range(4):
        by_a, by_b = k >= 2, k % 2 == 1
        if status == FAILED and (part_a.span > 0 or not by_a) and (part_b.span > 0 or not by_b):
            one, other = less_a if by_a else part_a, less_b if by_b else part_b
            status, found = _search(problem, hulls, work, start, core_a, core_b, one, other)
    put_found(work, found if status == REFINED else start)
    put_status(work, status, points, extent)


@stage
def solve_curved(m, c, args, d):
    """Problem and a nearly right answer -> closest or deepest points, or the answer as it was."""
    common_normal(hull_view(m, c, args, d), work_view(m, c, args, d).work)
