# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of the exponential map of rotations, d exp(p) = exp(p) [J dp]; generic over the scalar."""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.ops import constant, where
from worldline._src.spatial.rotation import rotation_vector_to_quat
from worldline._src.spatial.vec3 import add, cross, dot, scale

_SMALL = 1e-4
"""Square of an angle below which series take the place of quotients."""


class Turn(NamedTuple):
    """sin x / x, (1 - cos x) / x^2 and (x - sin x) / x^3 of an angle."""

    sine: Any
    versine: Any
    rest: Any


@inline
def turn_of(phi):
    """The functions of the angle of a rotation vector."""
    square = dot(phi, phi)
    Q = rotation_vector_to_quat(phi)
    large = square > _SMALL
    divisor = where(large, square, constant(1.0, square))
    # sin(x / 2) / x
    half = where(large, (Q.x * phi.x + Q.y * phi.y + Q.z * phi.z) / divisor, 0.5 - square * (1.0 / 48.0))
    series = 1.0 / 6.0 - square * (1.0 / 120.0 - square * (1.0 / 5040.0))
    sine = where(large, 2.0 * half * Q.w, 1.0 - square * series)
    return Turn(sine, 2.0 * half * half, where(large, (1.0 - sine) / divisor, series))


@inline
def add_turned(b, c, phi, x, sign):
    """x + sign b phi x x + c phi x (phi x x)."""
    once = cross(phi, x)
    return add(x, add(scale(once, sign * b), scale(cross(phi, once), c)))
