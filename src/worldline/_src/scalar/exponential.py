# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Exponential of numbers that are not positive, the same operations for every scalar."""

from __future__ import annotations

import math

from worldline._src.jit import inline
from worldline._src.scalar.ops import constant, is_single, maximum, nearest, where

_LEAST = -88.0
"""Below it the result is that of here, 6e-39."""
_PER_TWO, _TWO_HIGH, _TWO_LOW = 1.0 / math.log(2.0), 0.6931471803691238, 1.9082149292705877e-10
"""1 / log 2, and log 2 in two parts, the first with zeros at its end [Cody & Waite 1980]."""
_TWO_HIGH_SINGLE, _TWO_LOW_SINGLE = 0.693359375, -2.1219444005469058e-4
"""The two parts for single precision."""
_HALVINGS = (64.0, 32.0, 16.0, 8.0, 4.0, 2.0, 1.0)
_SHARES = tuple(0.5**n for n in _HALVINGS)
_TAYLOR = tuple(1.0 / math.factorial(n) for n in range(13, -1, -1))


@inline
def _parts_of_log_two(like):
    """log 2 in two parts for the precision of a scalar."""
    if is_single(like):
        return _TWO_HIGH_SINGLE, _TWO_LOW_SINGLE
    return _TWO_HIGH, _TWO_LOW


@inline
def exp_of_negative(x):
    """e^x for x <= 0 to about one unit in the last place; x = r - n log 2, e^x = e^r / 2^n."""
    x = maximum(x, constant(_LEAST, x))
    n = nearest(x * -_PER_TWO)
    high, low = _parts_of_log_two(x)
    r = (x + n * high) + n * low
    # e^r for |r| <= log(2) / 2 by its series, whose next term is below 1e-17
    power = constant(_TAYLOR[0], x)
    for k in range(1, 14):
        power = power * r + _TAYLOR[k]
    # 1 / 2^n, n a whole number from 0 to 127, bit by bit
    for k in range(7):
        has = n >= _HALVINGS[k]
        power = where(has, power * _SHARES[k], power)
        n = where(has, n - _HALVINGS[k], n)
    return power
