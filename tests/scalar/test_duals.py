# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Dual numbers of seven directions: every operation against its derivative in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from worldline._src.duals.kind import DIRECTIONS, DOUBLES, dual_address, value_of
from worldline._src.jit import DISABLED, stage
from worldline._src.kernels.program import caller
from worldline._src.scalar.memory import aligned_zeros, vector
from worldline._src.scalar.ops import absolute, clamp, constant, nearest, power, sqrt, where
from worldline._src.scalar.trigonometry import atan2, sincos
from worldline._src.spatial.vec3 import Vec3

pytestmark = pytest.mark.skipif(DISABLED, reason="dual numbers need the compiler")

X, Y = 0.7, -1.3
# result and its derivatives by x and y
EXPECTED = {
    "x + y": (X + Y, 1.0, 1.0),
    "2 - x": (2.0 - X, -1.0, 0.0),
    "x * y": (X * Y, Y, X),
    "3 * x": (3.0 * X, 3.0, 0.0),
    "x / y": (X / Y, 1.0 / Y, -X / Y**2),
    "2 / y": (2.0 / Y, 0.0, -2.0 / Y**2),
    "x / 4": (X / 4.0, 0.25, 0.0),
    "-x": (-X, -1.0, 0.0),
    "sqrt": (np.sqrt(X), 0.5 / np.sqrt(X), 0.0),
    "sqrt 0": (0.0, 0.0, 0.0),
    "power": (X**1.5, 1.5 * X**0.5, 0.0),
    "square": (Y**2, 0.0, 2.0 * Y),
    "power 0": (0.0, 0.0, 0.0),
    "sin": (np.sin(X), np.cos(X), 0.0),
    "cos": (np.cos(Y), 0.0, -np.sin(Y)),
    "atan2": (np.arctan2(Y, X), -Y / (X * X + Y * Y), X / (X * X + Y * Y)),
    "absolute": (-Y, 0.0, -1.0),
    "clamp": (X, 1.0, 0.0),
    "clamped": (0.5, 0.0, 0.0),
    "where": (X, 1.0, 0.0),
    "nearest": (1.0, 0.0, 0.0),
    "min": (Y, 0.0, 1.0),
    "max": (X, 1.0, 0.0),
    "abs": (-Y, 0.0, -1.0),
    "added": (X + Y + 1.0, 1.0, 1.0),
    "constant": (5.0, 0.0, 0.0),
    "value": (X, 0.0, 0.0),
    "int": (0.0, 0.0, 0.0),
    "unified": (X * Y, Y, X),
    "infinite": (np.inf, 0.0, 0.0),
}


@stage
def every_operation(m, c, args, d):
    """x, y -> results of all operations."""
    numbers = vector(d, 0, 40)
    x, y, zero = numbers[0], numbers[1], numbers[2]
    out = vector(d, 3, 37)
    out[0] = x + y
    out[1] = 2.0 - x
    out[2] = x * y
    out[3] = 3 * x
    out[4] = x / y
    out[5] = 2.0 / y
    out[6] = x / 4.0
    out[7] = -x
    out[8] = sqrt(x)
    out[9] = sqrt(zero)
    out[10] = power(x, 1.5)
    out[11] = y**2
    out[12] = power(zero, 0.5)
    out[13] = sincos(x)[0]
    out[14] = sincos(y)[1]
    out[15] = atan2(y, x)
    out[16] = absolute(y)
    out[17] = clamp(x, 0.0, 1.0)
    out[18] = clamp(x, 0.0, 0.5)
    out[19] = where(x > y, x, 0.0)
    out[20] = nearest(x)
    out[21] = min(x, y)
    out[22] = max(x, y)
    out[23] = abs(y)
    out[24] = x + y
    out[24] += 1.0
    out[25] = constant(5.0, x)
    out[26] = value_of(x)
    out[27] = 1.0 * int(x)
    v = Vec3(0.0, 0.0, 0.0)
    if x > y:
        v = Vec3(x * y, 0.0, x)
    out[28] = v.x
    out[29] = where(y < zero, constant(np.inf, x), x)


def test_operations_have_their_derivatives():
    d = aligned_zeros(40 * DOUBLES)
    numbers = d.reshape(40, DOUBLES)
    numbers[0, 0], numbers[1, 0] = X, Y
    # x changes along direction 1, y along direction 5, all three along direction 7
    numbers[0, 1], numbers[1, 5] = 1.0, 1.0
    numbers[:3, DIRECTIONS] = 2.0, -3.0, 1.0
    none = np.zeros(4, np.int64)
    caller()(np.array([dual_address(every_operation)], np.int64), none, np.zeros(4), none, d)
    for k, (name, (value, by_x, by_y)) in enumerate(EXPECTED.items()):
        found = numbers[3 + k]
        wanted = np.array([value, by_x, 0.0, 0.0, 0.0, by_y, 0.0, 2.0 * by_x - 3.0 * by_y])
        np.testing.assert_allclose(found, wanted, rtol=1e-14, atol=1e-15, err_msg=name)
