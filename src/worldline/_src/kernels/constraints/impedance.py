# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The impedance model of soft constraints: from solref and solimp to bias and regularizer of a row.

A row with residual r and velocity v wants the acceleration aref = -b v - k d r, and yields to it by the share
d, its impedance, of what it would do unconstrained: R = (1 - d) / d times the inverse inertia the row sees.
d(r) rises from d0 at r = 0 to dw at |r| = width along a curve with midpoint and power [Todorov 2014]. For a
constraint of several equality rows d is taken at the norm of all their residuals, and shared by them.

Residual, velocity and inverse inertia are scalars of the state; solref and solimp are numbers of the model,
so branches on them are the same for all worlds. What is made of numbers of the model alone is made first: the
compiler may turn divisions by it into products, and not alike for every scalar.
"""

from __future__ import annotations

from worldline._src.jit import inline
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.ops import absolute, constant, maximum, power, sqrt, where

LEAST_IMPEDANCE, MOST_IMPEDANCE = 1e-4, 1.0 - 1e-4
TINY = 1e-15
LEAST_REGULARIZER = 1e-150
"""Of rows between bodies that cannot move: not zero, and far below what any mass needs."""


class Spring(NamedTuple):
    """What solref says: stiffness k [1/s^2] without its factor d(r), and damping b [1/s]."""

    stiffness: float
    damping: float


@inline
def _within(x):
    return min(max(x, LEAST_IMPEDANCE), MOST_IMPEDANCE)


@inline
def row_spring(time_constant, damping_ratio, d_width, least_time):
    """Spring of solref (t, z) when positive, of (-stiffness, -damping) when not.

    least_time keeps t at two time steps or more, zero to switch that safety off; d_width is the impedance
    at full width, which both formats divide by.
    """
    dw = _within(d_width)
    if time_constant > 0.0:
        # k = 1 / (dw^2 t^2 z^2),  b = 2 / (dw t)
        t = max(time_constant, least_time)
        stiffness = 1.0 / max(TINY, dw * dw * t * t * damping_ratio * damping_ratio)
        return Spring(stiffness, 2.0 / max(TINY, dw * t))
    return Spring(-time_constant / (dw * dw), -damping_ratio / dw)


@inline
def _turns(exponent):
    """0 for an exponent of 2, otherwise 2.

    Powers in a branch are computed in any case, as compilers take them for cheap and move them out of loops;
    those in a loop whose count the compiler does not know are not.
    """
    return int(min(abs(exponent - 2.0) * 1e300, 2.0))


@inline
def impedance(r, d_zero, d_width, width, midpoint, exponent):
    """d(r), between d_zero at r = 0 and d_width at |r| >= width."""
    d0, dw, middle = _within(d_zero), _within(d_width), _within(midpoint)
    if d0 == dw or width <= TINY:
        return constant(0.5 * (d0 + dw), r)
    # factors of the model are made first: one multiplication then rounds the same for every scalar
    per_width, rise = 1.0 / width, dw - d0
    # x = |r| / width, m the midpoint:
    # d = d0 + (dw - d0) x^p / m^(p-1) for x <= m, dw - (dw - d0) (1 - x)^p / (1 - m)^(p-1) beyond
    x = absolute(r) * per_width
    inside = where(x < 1.0, x, 1.0)
    rest = 1.0 - inside
    p = max(exponent, 1.0)
    low, high, below, above = inside * inside, rest * rest, middle, 1.0 - middle
    a, b, c, e = inside, rest, middle, 1.0 - middle
    for _ in range(_turns(p)):
        # another exponent than the usual one: x^p and m^(p-1) of the lower side, then of the upper one
        low, high, below, above = high, power(a, p), above, c ** (p - 1.0)
        a, b, c, e = b, a, e, c
    below_factor, above_factor = rise / below, rise / above
    return where(inside <= middle, d0 + low * below_factor, dw - high * above_factor)


@inline
def reference_acceleration(spring, d, r, v):
    """aref = -b v - k d r; friction rows pass r = 0."""
    return -spring.damping * v - spring.stiffness * d * r


@inline
def regularizer(d, inverse_inertia):
    """R of a row that sees the given inverse inertia."""
    return maximum(LEAST_REGULARIZER, (1.0 - d) / d * inverse_inertia)


@inline
def elliptic_first_regularizer(R_normal, friction_ratio):
    """R of the first sliding direction; friction_ratio > 1 makes friction harder than the normal."""
    return R_normal * (1.0 / friction_ratio)


@inline
def elliptic_other_regularizer(R_first, mu_first, mu):
    """R of the other friction rows, such that all of them share one cone."""
    return R_first * ((mu_first * mu_first) / (mu * mu))


@inline
def regularized_friction(mu_first, R_first, R_normal):
    """The friction coefficient of the cone after regularization."""
    return mu_first * sqrt(R_first / R_normal)


@inline
def pyramid_regularizer(R_edge, mu_first, friction_ratio):
    """The R that all edges of a pyramidal contact share, from that of its first edge."""
    return R_edge * (2.0 * (mu_first * mu_first) / friction_ratio)
