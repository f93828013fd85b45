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
    low, high = bounds[u, 0], bounds[u, 1]
    best = (high - low) / max(parameters[u, 1] - parameters[u, 0], _SMALL)
    return parameters[u, 0] + (length - low) * (1.0 / max(best, _SMALL)), best


@inline
def _active(x, shortest, longest):
    """Share of the force at a length: a smooth hill over the range with its top at 1."""
    left, right = 0.5 * (shortest + 1.0), 0.5 * (1.0 + longest)
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
    most = parameters[u, 8]
    y = most - 1.0
    speed = where(v <= y, most - (y - v) * (y - v) * (1.0 / max(y, _SMALL)), constant(most, v))
    speed = where(v <= 0.0, (v + 1.0) * (v + 1.0), speed)
    speed = where(v <= -1.0, constant(0.0, v), speed)
    return -parameters[u, 2] * _active(x, parameters[u, 4], parameters[u, 5]) * speed


@inline
def muscle_slope(parameters, bounds, u, length, rate):
    """Change of `muscle_gain` by the rate."""
    x, best = _length(parameters, bounds, u, length)
    each = 1.0 / max(best * parameters[u, 6], _SMALL)
    v, y = rate * each, parameters[u, 8] - 1.0
    slope = where(v <= y, 2.0 * (y - v) * (1.0 / max(y, _SMALL)), constant(0.0, v))
    slope = where(v <= 0.0, 2.0 * (v + 1.0), slope)
    slope = where(v <= -1.0, constant(0.0, v), slope)
    return -parameters[u, 2] * _active(x, parameters[u, 4], parameters[u, 5]) * slope * each


@inline
def muscle_bias(parameters, bounds, u, length):
    """Passive force beyond the best length, negative as it pulls."""
    x, _ = _length(parameters, bounds, u, length)
    bend = 0.5 * (1.0 + parameters[u, 5])
    s = (x - 1.0) * (1.0 / max(bend - 1.0, _SMALL))
    share = where(x > 1.0, 0.5 * s * s, constant(0.0, x))
    share = where(x > bend, 0.5 + (x - bend) * (1.0 / max(bend - 1.0, _SMALL)), share)
    return -parameters[u, 2] * parameters[u, 7] * share


@inline
def muscle_rate(control, activation, rise, fall, width):
    """Rate of an activation between 0 and 1; a width above zero blends between rising and falling."""
    held = clamp(activation, 0.0, 1.0)
    gap = clamp(control, 0.0, 1.0) - activation
    up, down = rise * (0.5 + 1.5 * held), fall / (0.5 + 1.5 * held)
    time = where(gap > 0.0, up, down)
    if width > _SMALL:
        x = clamp(gap * (1.0 / width) + 0.5, 0.0, 1.0)
        time = down + (up - down) * x * x * x * (10.0 + 3.0 * x * (2.0 * x - 5.0))
    return gap / maximum(time, _SMALL)
