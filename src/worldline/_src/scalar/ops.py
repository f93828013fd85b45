# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The operations whose meaning depends on the scalar; kernels use no others.

Each function below is plain Python for a float; `lowering/ops.py` has their compiled forms for `float64`,
lanes and duals. None branches on a scalar's value: `where` evaluates both sides, so both must be safe.
"""

from __future__ import annotations

import math


def where(condition, a, b):
    """`a` where the condition holds, otherwise `b`; both sides are evaluated."""
    return a if condition else b


def constant(number, like):
    """`number` as a scalar of the same kind as `like`."""
    return number


def sqrt(x):
    """Square root."""
    return math.sqrt(x)


def nearest(x):
    """The nearest whole number, halves to even."""
    return float(round(x))


def power(x, exponent):
    """x to a real exponent, for x >= 0; the exponent is a number of the model, not a scalar."""
    return x**exponent


def shared(x):
    """A constant that has the same value in all worlds, as one double: what a branch may depend on."""
    return x


def unsigned(k):
    """A whole number that is not negative, as an index: compiled code takes no look at its sign."""
    return k


def any_of(condition):
    """Whether a condition holds in any world: the one way from a mask to a branch."""
    return bool(condition)


def is_single(like):
    """Whether scalars of the kind of `like` have single precision, 24 bits; known when a kernel is compiled.

    The one way for a kernel to have tolerances that suit the rounding of its numbers.
    """
    return False


def absolute(x):
    """The absolute value."""
    return where(x < 0.0, -x, x)


def minimum(a, b):
    """The smaller of two scalars."""
    return where(a < b, a, b)


def maximum(a, b):
    """The larger of two scalars."""
    return where(a < b, b, a)


def clamp(x, low, high):
    """`x` moved into [low, high]."""
    return maximum(low, minimum(x, high))
