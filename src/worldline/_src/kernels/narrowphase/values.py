# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Small values of the narrow phase: poses, the closest points of a pair, safe directions."""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.ops import absolute, constant, sqrt, where
from worldline._src.spatial.vec3 import Vec3, dot, scale

TINY = 1.0e-150
"""Below this a squared length counts as zero."""


class Closest(NamedTuple):
    """Closest points of two shapes, or their least penetration.

    The points are relative to the origin of the first shape, in world axes: differences of positions stay
    exact far from the world's origin.
    """

    distance: Any
    normal: Any
    point_a: Any
    point_b: Any


@inline
def add_scaled(a, b, s):
    """a + s b."""
    return Vec3(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z)


@inline
def negative(a):
    return Vec3(-a.x, -a.y, -a.z)


@inline
def select(condition, a, b):
    """Vector `a` where the condition holds, otherwise `b`."""
    return Vec3(where(condition, a.x, b.x), where(condition, a.y, b.y), where(condition, a.z, b.z))


@inline
def unit_or(a, other):
    """a / |a|, or `other` where a is zero."""
    n2 = dot(a, a)
    zero = n2 < TINY
    inverse = 1.0 / sqrt(where(zero, constant(1.0, n2), n2))
    return select(zero, other, scale(a, inverse))


@inline
def across(a):
    """A direction at right angles to `a`, not normalised: away from the smallest component."""
    x, y, z = absolute(a.x), absolute(a.y), absolute(a.z)
    zero = constant(0.0, a.x)
    first = Vec3(zero, a.z, -a.y)
    second = Vec3(-a.z, zero, a.x)
    third = Vec3(a.y, -a.x, zero)
    return select(x > y, select(y > z, third, second), select(x > z, third, first))


@inline
def swapped(found, p_AB):
    """The same pair seen from its other shape; `p_AB` leads from the old first origin to the new."""
    a = Vec3(found.point_b.x - p_AB.x, found.point_b.y - p_AB.y, found.point_b.z - p_AB.z)
    b = Vec3(found.point_a.x - p_AB.x, found.point_a.y - p_AB.y, found.point_a.z - p_AB.z)
    return Closest(found.distance, negative(found.normal), a, b)
