# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Muscles: force by length and velocity, passive force, and activation that rises faster than it falls.

Lengths are scaled so that 1 is where the muscle is strongest; velocities by its fastest shortening. The
active force is F FL(l) FV(v), the passive one F FP(l), both pulling [Millard et al. 2013 for the shapes].
Parameters: working range (2), strongest force F, scale, shortest, longest, fastest, passive force at the
longest, most force when it is stretched. Generic over the scalar; see `impedance.py` for why nothing is
divided by a number of the model.
"""

from __future__ import annotations

from worldline._src.jit import inline
from worldline._src.scalar.ops import clamp, constant, maximum, where

_SMALL = 1e-15


@inline
def _length(parameters, bounds, u, length):
    """Length in units of the best one; `bounds` are the ranges of lengths."""
    # L0 = (high - low) / (r1 - r0), x = r0 + (L - low) / L0
    low, high = bounds[u, 0], bounds[u, 1]
    best = (high - low) / max(parameters[u, 1] - parameters[u, 0], _SMALL)
    return parameters[u, 0] + (length - low) * (1.0 / max(best, _SMALL)), best


@inline
def _active(x, shortest, longest):
    """Share of the force at a length: a smooth hill over the range with its top at 1."""
    # FL: parabolas that join at (a + 1) / 2, at 1 and at (1 + b) / 2, with height 1/2, 1, 1/2:
    left, right = 0.5 * (shortest + 1.0), 0.5 * (1.0 + longest)
    # x < (a + 1)/2: (x - a)^2 / 2 l^2;  x < 1: 1 - (1 - x)^2 / 2 l^2, l = (1 - a)/2; the same mirrored
    rising = (x - shortest) * (1.0 / max(left - shortest, _SMALL))
    below = (1.0 - x) * (1.0 / max(1.0 - left, _SMALL))
    above = (x - 1.0) * (1.0 / max(right - 1.0, _SMALL))
    falling = (longest - x) * (1.0 / max(longest - right, _SMALL))
    share = where(x <= right, 1.0 - 0.5 * above * above, 0.5 * falling * falling)
    share = where(x <= 1.0, 1.0 - 0.5 * below * below, share)
    share = where(x <= left, 0.5 * rising * rising, share)
    return where(x < shortest, constant(0.0, x), where(x > longest, constant(0.0, x), share))


@inline
def muscle_gain(parameters, bounds, u, length, rate):
    """Force per activation, negative as it pulls."""
    x, best = _length(parameters, bounds, u, length)
    v = rate * (1.0 / max(best * parameters[u, 6], _SMALL))
    # FV(v) = 0 below -1, (1 + v)^2 up to 0, F_max - (y - v)^2 / y up to y = F_max - 1, then F_max
    most = parameters[u, 8]
    y = most - 1.0
    speed = where(v <= y, most - (y - v) * (y - v) * (1.0 / max(y, _SMALL)), constant(most, v))
    speed = where(v <= 0.0, (v + 1.0) * (v + 1.0), speed)
    speed = where(v <= -1.0, constant(0.0, v), speed)
    # gain = -F FL(x) FV(v)
    return -parameters[u, 2] * _active(x, parameters[u, 4], parameters[u, 5]) * speed


@inline
def muscle_slope(parameters, bounds, u, length, rate):
    """Change of `muscle_gain` by the rate."""
    x, best = _length(parameters, bounds, u, length)
    each = 1.0 / max(best * parameters[u, 6], _SMALL)
    v, y = rate * each, parameters[u, 8] - 1.0
    # dFV/dv: 2 (1 + v) up to 0, 2 (y - v) / y up to y, zero elsewhere; d gain / dL' by v = L' / (L0 v_max)
    slope = where(v <= y, 2.0 * (y - v) * (1.0 / max(y, _SMALL)), constant(0.0, v))
    slope = where(v <= 0.0, 2.0 * (v + 1.0), slope)
    slope = where(v <= -1.0, constant(0.0, v), slope)
    return -parameters[u, 2] * _active(x, parameters[u, 4], parameters[u, 5]) * slope * each


@inline
def muscle_bias(parameters, bounds, u, length):
    """Passive force beyond the best length, negative as it pulls."""
    x, _ = _length(parameters, bounds, u, length)
    # FP = F_P s^2 / 2 with s = (x - 1) / (m - 1) up to m = (1 + b)/2, the tangent F_P (s - 1/2) beyond
    bend = 0.5 * (1.0 + parameters[u, 5])
    s = (x - 1.0) * (1.0 / max(bend - 1.0, _SMALL))
    share = where(x > 1.0, 0.5 * s * s, constant(0.0, x))
    share = where(x > bend, 0.5 + (x - bend) * (1.0 / max(bend - 1.0, _SMALL)), share)
    return -parameters[u, 2] * parameters[u, 7] * share


@inline
def muscle_rate(control, activation, rise, fall, width):
    """Rate of an activation between 0 and 1; a width above zero blends between rising and falling."""
    # a' = (u - a) / T: T = T_rise (1/2 + 3/2 a) when it rises, T_fall / (1/2 + 3/2 a) when it falls
    held = clamp(activation, 0.0, 1.0)
    gap = clamp(control, 0.0, 1.0) - activation
    up, down = rise * (0.5 + 1.5 * held), fall / (0.5 + 1.5 * held)
    time = where(gap > 0.0, up, down)
    if width > _SMALL:
        # T = T_fall + (T_rise - T_fall) (6 x^5 - 15 x^4 + 10 x^3), x = (u - a) / width + 1/2 within 0 to 1
        x = clamp(gap * (1.0 / width) + 0.5, 0.0, 1.0)
        time = down + (up - down) * x * x * x * (10.0 + 3.0 * x * (2.0 * x - 5.0))
    return gap / maximum(time, _SMALL)
