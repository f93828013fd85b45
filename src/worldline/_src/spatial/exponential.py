# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The exponential of rotation vectors and its differential, as operations on vectors.

With R(t) = R0 exp(x(t)) the angular velocity in body axes is J(x) times the rate of x, where J is the
right Jacobian of the exponential. All functions are polynomials of the cross product with x, so they
commute with each other: exp(-x) J(-x) = J(x), and half steps compose, J(x) exp(x/2) = (J(x/2) + J(-x/2)) / 2.
"""

from __future__ import annotations

from worldline._src.jit import inline
from worldline._src.scalar.ops import constant, sqrt, where
from worldline._src.scalar.trigonometry import sincos
from worldline._src.spatial.vec3 import add, cross, dot, scale


@inline
def _angle(x):
    """|x|^2, whether it is small, and |x|, or one where it is small."""
    n2 = dot(x, x)
    # series up to the fifth term are exact to the last digit below 0.1 rad
    small = n2 < 0.01
    return n2, small, sqrt(where(small, constant(1.0, n2), n2))


@inline
def _polynomial(y, x, first, second):
    """y + first x cross y + second x cross (x cross y)."""
    turned = cross(x, y)
    return add(y, add(scale(turned, first), scale(cross(x, turned), second)))


@inline
def turn_back(x, y):
    """exp(-x) y: a vector in the axes that a turn by `x` leads to."""
    n2, small, angle = _angle(x)
    s, c = sincos(angle)
    first = 1.0 - n2 * (1.0 / 6.0 - n2 * (1.0 / 120.0 - n2 * (1.0 / 5040.0 - n2 * (1.0 / 362880.0))))
    second = 0.5 - n2 * (1.0 / 24.0 - n2 * (1.0 / 720.0 - n2 * (1.0 / 40320.0 - n2 * (1.0 / 3628800.0))))
    return _polynomial(
        y, x, -where(small, first, s / angle), where(small, second, (1.0 - c) / (angle * angle))
    )


@inline
def right_jacobian(x, y):
    """J(x) y: the body angular velocity where the rotation vector `x` grows at the rate `y`."""
    n2, small, angle = _angle(x)
    s, c = sincos(angle)
    first = 0.5 - n2 * (1.0 / 24.0 - n2 * (1.0 / 720.0 - n2 * (1.0 / 40320.0 - n2 * (1.0 / 3628800.0))))
    second = 1.0 / 6.0 - n2 * (
        1.0 / 120.0 - n2 * (1.0 / 5040.0 - n2 * (1.0 / 362880.0 - n2 * (1.0 / 39916800.0)))
    )
    cube = angle * angle * angle
    return _polynomial(
        y, x, -where(small, first, (1.0 - c) / (angle * angle)), where(small, second, (angle - s) / cube)
    )


@inline
def chart_rate(x, y):
    """J(x)^-1 y up to second powers of x: the rate of a rotation vector at the body angular velocity `y`.

    The next term of the series has the fourth power.
    """
    return _polynomial(y, x, 0.5, 1.0 / 12.0)
