# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Spheres and capsules against each other: closest points of two segments, in closed form.

A sphere is a capsule of no length. Nothing branches on a number, so four worlds run at once. Where the two
cores touch, the normal is across both axes; two spheres with one centre take the world's z.
"""

from __future__ import annotations

from worldline._src.jit import inline
from worldline._src.kernels.narrowphase.tables import BOTTOMLESS
from worldline._src.kernels.narrowphase.values import Closest, across, add_scaled, unit_or
from worldline._src.scalar.ops import clamp, constant, is_single, maximum, sqrt, where
from worldline._src.spatial.vec3 import Vec3, cross, dot, scale, sub

PARALLEL = 1.0e-5
"""Squared sine of the angle below which two capsules touch along a line."""
_NO_ANGLE, _NO_ANGLE_SINGLE = 1e-14, 1e-6
"""Squared sine below which rounding is all that tells two axes apart, in double and single precision."""


@inline
def nearest_parameters(a, b, p_AB):
    """s, t in [-1, 1]: closest points s a and p_AB + t b of two segments given by their half vectors."""
    aa, bb, ab = dot(a, a), dot(b, b), dot(a, b)
    ap, bp = dot(a, p_AB), dot(b, p_AB)
    one = constant(1.0, aa)
    # a segment of no length has parameter zero: its dot products are zero
    inverse_a = 1.0 / where(aa > 0.0, aa, one)
    inverse_b = 1.0 / where(bb > 0.0, bb, one)
    determinant = aa * bb - ab * ab
    parallel = determinant <= (_NO_ANGLE_SINGLE if is_single(aa) else _NO_ANGLE) * (aa * bb)
    s = (ap * bb - bp * ab) / where(parallel, one, determinant)
    s = clamp(where(parallel, 0.0 * aa, s), -one, one)
    t = clamp((ab * s - bp) * inverse_b, -one, one)
    # when t had to be clamped, s follows; when not, this only takes rounding out of s
    s = clamp((ab * t + ap) * inverse_a, -one, one)
    t = clamp((ab * s - bp) * inverse_b, -one, one)
    return s, t


@inline
def _between(a, b, p_AB, radius_a, radius_b, s, t):
    """Closest points given the parameters on both cores."""
    core_a = scale(a, s)
    core_b = add_scaled(p_AB, b, t)
    gap = sub(core_b, core_a)
    zero, one = constant(0.0, s), constant(1.0, s)
    aside = unit_or(across(a), unit_or(across(b), Vec3(zero, zero, one)))
    normal = unit_or(gap, unit_or(cross(a, b), aside))
    distance = sqrt(dot(gap, gap)) - (radius_a + radius_b)
    return Closest(
        distance, normal, add_scaled(core_a, normal, radius_a), add_scaled(core_b, normal, -radius_b)
    )


@inline
def round_round(a, b, p_AB, radius_a, radius_b):
    """Closest points of two capsules: half vectors of their axes, B's centre from A's, radii."""
    s, t = nearest_parameters(a, b, p_AB)
    return _between(a, b, p_AB, radius_a, radius_b, s, t)


@inline
def round_contacts(a, b, p_AB, radius_a, radius_b):
    """Two contacts of capsules that lie along each other, otherwise one and an empty one."""
    s, t = nearest_parameters(a, b, p_AB)
    aa, bb, ab, ap = dot(a, a), dot(b, b), dot(a, b), dot(a, p_AB)
    one = constant(1.0, s)
    long = where(aa < bb, aa, bb) > 0.0
    along = where(long, aa * bb - ab * ab, one) < PARALLEL * (aa * bb)
    # the stretch of A beside B, by the ends of B seen along A
    inverse = 1.0 / where(aa > 0.0, aa, one)
    middle, reach = ap * inverse, maximum(ab, -ab) * inverse
    low = clamp(middle - reach, -one, one)
    high = clamp(middle + reach, -one, one)
    two = where(along, high - low, 0.0 * one) > 1e-6
    inverse_b = 1.0 / where(bb > 0.0, bb, one)
    bp = dot(b, p_AB)
    s0 = where(two, low, s)
    t0 = where(two, clamp((ab * low - bp) * inverse_b, -one, one), t)
    t1 = clamp((ab * high - bp) * inverse_b, -one, one)
    first = _between(a, b, p_AB, radius_a, radius_b, s0, t0)
    second = _between(a, b, p_AB, radius_a, radius_b, high, t1)
    distance = where(two, second.distance, constant(BOTTOMLESS, one))
    return first, Closest(distance, second.normal, second.point_a, second.point_b)
