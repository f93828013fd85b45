# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Operations on lanes of single precision against NumPy's float32 and against the C library."""

from __future__ import annotations

import numpy as np
import pytest

from worldline._src.jit import entry, inline
from worldline._src.kinds import SINGLE8, SINGLE16
from worldline._src.scalar.exponential import exp_of_negative
from worldline._src.scalar.memory import (
    aligned_zeros,
    gather_block,
    pointer_as,
    pointer_to_worlds,
    scatter_block,
    shared_vector,
    vector,
)
from worldline._src.scalar.ops import (
    any_of,
    clamp,
    constant,
    is_single,
    maximum,
    nearest,
    power,
    shared,
    sqrt,
    where,
)
from worldline._src.scalar.trigonometry import atan2, sincos

ULP = 2.0
RNG = np.random.default_rng(7)


@inline
def _unary(x, out, n, kind):
    """Rows of results, each of `n` scalars."""
    a, r = vector(pointer_as(x, kind), 0, n), vector(pointer_as(out, kind), 0, 12 * n)
    for i in range(n):
        s, c = sincos(a[i])
        r[i], r[n + i] = s, c
        r[2 * n + i] = nearest(a[i])
        r[3 * n + i] = sqrt(a[i] * a[i] + 1.0)
        r[4 * n + i] = where(a[i] > 0.25, a[i], -a[i])
        r[5 * n + i] = power(maximum(a[i], 0.0), 1.7)
        r[6 * n + i] = exp_of_negative(-(a[i] * a[i]))
        r[7 * n + i] = where(a[i] > 0.5, 2.0, 3.0)
        r[8 * n + i] = clamp(a[i], -0.5, 0.5) / 3.0
        r[9 * n + i] = shared(a[i]) + constant(1.0, a[i])
        r[10 * n + i] = atan2(a[i], 0.5 - a[i] * a[i])
        if any_of(a[i] > 3.0):
            r[11 * n + i] = 1.0
        else:
            r[11 * n + i] = 0.0


@entry
def unary16(x, out):
    _unary(x, out, x.shape[0] // 8, SINGLE16)


@entry
def unary8(x, out):
    _unary(x, out, x.shape[0] // 4, SINGLE8)


def run_unary(width: int, reach: float):
    n = 64
    x, out = aligned_zeros(n * width // 2), aligned_zeros(12 * n * width // 2)
    single = x.view(np.float32)
    single[:] = np.random.default_rng(width).uniform(-reach, reach, n * width)
    (unary16 if width == 16 else unary8)(x, out)
    return single.reshape(n, width), out.view(np.float32).reshape(12, n, width)


def ulp(found, exact):
    return np.abs(found - exact) / np.spacing(np.maximum(np.abs(exact), 1e-30).astype(np.float32))


@pytest.mark.parametrize("width", [8, 16])
@pytest.mark.parametrize("reach", [1e-3, 1.0, 4.0, 100.0, 1e4])
def test_every_operation_is_right_to_single_precision(width, reach):
    x, r = run_unary(width, reach)
    a = x.astype(np.float64)
    assert ulp(r[0], np.sin(a)).max() <= ULP
    assert ulp(r[1], np.cos(a)).max() <= ULP
    np.testing.assert_array_equal(r[2], np.round(x))
    assert ulp(r[3], np.sqrt(a * a + 1.0)).max() <= ULP
    np.testing.assert_array_equal(r[4], np.where(x > 0.25, x, -x))
    # exponents are rounded as all numbers are
    assert ulp(r[5], np.maximum(a, 0.0) ** float(np.float32(1.7))).max() <= ULP
    if reach <= 4.0:
        # the square of the argument is rounded first
        exact = np.exp(-(x * x).astype(np.float64))
        np.testing.assert_allclose(r[6], exact, rtol=3e-6)
    np.testing.assert_array_equal(r[7], np.where(x > 0.5, 2.0, 3.0))
    np.testing.assert_array_equal(r[8], np.clip(x, np.float32(-0.5), np.float32(0.5)) / np.float32(3.0))
    np.testing.assert_array_equal(r[9], x[:, :1] + np.ones_like(x))
    np.testing.assert_allclose(r[10], np.arctan2(a, 0.5 - a * a), atol=5e-7 if reach <= 4.0 else 1e-6)
    np.testing.assert_array_equal(r[11] > 0.5, np.repeat((x > 3.0).any(axis=1)[:, None], width, axis=1))


@inline
def _guard(x, tiny):
    return 1.0 / maximum(x, tiny)


@entry
def guards(x, out, given):
    a, r = vector(pointer_as(x, SINGLE16), 0, 1)[0], vector(pointer_as(out, SINGLE16), 0, 5)
    r[0] = 1.0 / maximum(a, 1e-300)
    # a literal that passes through a helper
    r[1] = _guard(a, 1e-150)
    r[2] = a * 0.0 + 1e300
    # numbers that are no literals round as numbers do
    r[3] = a + given[0]
    r[4] = constant(1.0 if is_single(a) else 0.0, a)


def test_literals_stay_within_the_range_of_single_precision():
    x, out = aligned_zeros(8), aligned_zeros(40)
    guards(x, out, np.array([1e-300, 0.0]))
    made = out.view(np.float32).reshape(5, 16)
    least = np.finfo(np.float32).tiny
    np.testing.assert_array_equal(made[0], np.float32(1.0) / least)
    np.testing.assert_array_equal(made[1], np.float32(1.0) / least)
    np.testing.assert_array_equal(made[2], np.finfo(np.float32).max)
    np.testing.assert_array_equal(made[3], 0.0)
    np.testing.assert_array_equal(made[4], 1.0)


@entry
def blocks16(rows, lanes, back):
    data = pointer_as(lanes, SINGLE16)
    gather_block(data, 1, rows, 2, 20)
    scatter_block(data, 1, back, 2, 20)


@entry
def first_lanes(x, out):
    numbers = shared_vector(pointer_as(x, SINGLE16), 0, 3)
    worlds = vector(pointer_to_worlds(vector(pointer_as(x, SINGLE16), 0, 3)), 0, 48)
    for k in range(3):
        out[k] = numbers[k]
        out[3 + k] = worlds[16 * k + 5]


def test_blocks_are_transposed_and_rounded_on_the_way():
    rows, lanes, back = RNG.uniform(-3.0, 3.0, 16 * 20), aligned_zeros(18 * 8), np.zeros(16 * 20)
    blocks16(rows, lanes, back)
    single = rows.reshape(16, 20)[:, 2:18].astype(np.float32)
    np.testing.assert_array_equal(lanes.view(np.float32).reshape(18, 16)[1:17], single.T)
    np.testing.assert_array_equal(back.reshape(16, 20)[:, 2:18], single)


def test_shared_numbers_are_those_of_the_first_world():
    x, out = aligned_zeros(24), np.zeros(6)
    x.view(np.float32)[:] = np.arange(48)
    first_lanes(x, out)
    np.testing.assert_array_equal(out, [0, 16, 32, 5, 21, 37])


@entry
def fused(x, out):
    a, r = vector(pointer_as(x, SINGLE16), 0, 3), vector(pointer_as(out, SINGLE16), 0, 1)
    r[0] = a[0] * a[1] + a[2]


def test_products_are_fused_with_sums():
    x, out = aligned_zeros(24), aligned_zeros(8)
    a = x.view(np.float32).reshape(3, 16)
    a[:] = RNG.uniform(-1.0, 1.0, (3, 16))
    a[2] = -a[0] * a[1]
    fused(x, out)
    exact = a[0].astype(np.float64) * a[1] + a[2]
    np.testing.assert_array_equal(out.view(np.float32), exact.astype(np.float32))
    assert np.any(exact != 0.0)
