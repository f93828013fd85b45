# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Muscles: force by length and velocity, passive force, and activation that rises faster than it falls.

Lengths are scaled so that 1 is where the muscle is strongest; velocities by its fastest shortening. The
active force is F FL(l) FV(v), the passive one F FP(l), both pulling [Millard et al. 2013 for the shapes].
Parameters: working range (2), strongest force F, scale, shortest, longest, fastest, passive force at the
longest, most force when it is stretched.
"""

from __future__ import annotations

from worldline._src.jit import inline

_SMALL = 1e-15


@inline
def _length(numbers, u, at, bounds, length):
    """Length in units of the best one; `bounds` is the column of the range of lengths."""
    low, high = numbers[u, bounds], numbers[u, bounds + 1]
    best = (high - low) / max(numbers[u, at + 1] - numbers[u, at], _SMALL)
    return numbers[u, at] + (length - low) / max(best, _SMALL), best


@inline
def _active(x, shortest, longest):
    """Share of the force at a length: a smooth hill over the range with its top at 1."""
    if x < shortest or x > longest:
        return 0.0
    left, right = 0.5 * (shortest + 1.0), 0.5 * (1.0 + longest)
    if x <= left:
        s = (x - shortest) / max(left - shortest, _SMALL)
        return 0.5 * s * s
    if x <= 1.0:
        s = (1.0 - x) / max(1.0 - left, _SMALL)
        return 1.0 - 0.5 * s * s
    if x <= right:
        s = (x - 1.0) / max(right - 1.0, _SMALL)
        return 1.0 - 0.5 * s * s
    s = (longest - x) / max(longest - right, _SMALL)
    return 0.5 * s * s


@inline
def muscle_gain(numbers, u, at, bounds, length, rate):
    """Force per activation, negative as it pulls."""
    x, best = _length(numbers, u, at, bounds, length)
    v = rate / max(best * numbers[u, at + 6], _SMALL)
    most = numbers[u, at + 8]
    y = most - 1.0
    speed = most
    if v <= -1.0:
        speed = 0.0
    elif v <= 0.0:
        speed = (v + 1.0) * (v + 1.0)
    elif v <= y:
        speed = most - (y - v) * (y - v) / max(y, _SMALL)
    return -numbers[u, at + 2] * _active(x, numbers[u, at + 4], numbers[u, at + 5]) * speed


@inline
def muscle_bias(numbers, u, at, bounds, length):
    """Passive force beyond the best length, negative as it pulls."""
    x, _ = _length(numbers, u, at, bounds, length)
    bend = 0.5 * (1.0 + numbers[u, at + 5])
    share = 0.0
    if x > bend:
        share = 0.5 + (x - bend) / max(bend - 1.0, _SMALL)
    elif x > 1.0:
        s = (x - 1.0) / max(bend - 1.0, _SMALL)
        share = 0.5 * s * s
    return -numbers[u, at + 2] * numbers[u, at + 7] * share


@inline
def muscle_rate(control, activation, rise, fall, width):
    """Rate of an activation between 0 and 1; a width above zero blends between rising and falling."""
    held = min(max(activation, 0.0), 1.0)
    gap = min(max(control, 0.0), 1.0) - activation
    up, down = rise * (0.5 + 1.5 * held), fall / (0.5 + 1.5 * held)
    time = up if gap > 0.0 else down
    if width > _SMALL:
        x = min(max(gap / width + 0.5, 0.0), 1.0)
        time = down + (up - down) * x * x * x * (10.0 + 3.0 * x * (2.0 * x - 5.0))
    return gap / max(time, _SMALL)
