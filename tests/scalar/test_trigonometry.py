# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Sine, cosine and arc tangent against the C library, for every scalar."""

from __future__ import annotations

import math

import numpy as np
import pytest

from worldline._src.jit import entry, inline
from worldline._src.kinds import DUAL
from worldline._src.scalar.lanes import LANES4
from worldline._src.scalar.memory import aligned_zeros, pointer_as, vector
from worldline._src.scalar.trigonometry import atan2, sincos

ULP = 2.0


@entry
def sincos_float(x, s, c):
    for i in range(x.shape[0]):
        s[i], c[i] = sincos(x[i])


@inline
def _sincos_all(x, s, c, n, kind):
    X, S, C = (
        vector(pointer_as(x, kind), 0, n),
        vector(pointer_as(s, kind), 0, n),
        vector(pointer_as(c, kind), 0, n),
    )
    for i in range(n):
        S[i], C[i] = sincos(X[i])


@entry
def sincos_lanes(x, s, c):
    n = x.shape[0] // 4
    _sincos_all(x, s, c, n, LANES4)


@entry
def sincos_dual(x, s, c):
    n = x.shape[0] // 2
    _sincos_all(x, s, c, n, DUAL)


@entry
def atan2_float(y, x, out):
    for i in range(x.shape[0]):
        out[i] = atan2(y[i], x[i])


def samples(reach: float, n: int = 1 << 16) -> np.ndarray:
    x = aligned_zeros(n)
    x[:] = np.random.default_rng(int(reach)).uniform(-reach, reach, n)
    # near multiples of pi/2, where the reduction must not lose digits
    k = np.arange(n // 4) - n // 8
    near = k * (0.5 * np.pi) * (1.0 + 1e-9)
    x[: n // 4] = np.where(np.abs(near) < reach, near, x[: n // 4])
    return x


def error_in_ulp(found, exact):
    return np.abs(found - exact) / np.spacing(np.maximum(np.abs(exact), 1e-300))


@pytest.mark.parametrize("reach", [1e-3, 1.0, 10.0, 1e3, 1e5, 1e6])
def test_sincos_is_within_two_units_of_the_last_place(reach):
    x = samples(reach)
    s, c = np.empty_like(x), np.empty_like(x)
    sincos_float(x, s, c)
    assert error_in_ulp(s, np.sin(x)).max() < ULP
    assert error_in_ulp(c, np.cos(x)).max() < ULP


@pytest.mark.parametrize("reach", [1.0, 1e6, 1e12])
def test_lanes_give_the_bits_of_one_number(reach):
    x = samples(reach)
    s, c, S, C = (aligned_zeros(x.size) for _ in range(4))
    sincos_float(x, s, c)
    sincos_lanes(x, S, C)
    assert np.array_equal(s, S)
    assert np.array_equal(c, C)


def test_beyond_its_range_the_sine_stays_bounded():
    x = samples(1e15)
    s, c = np.empty_like(x), np.empty_like(x)
    sincos_float(x, s, c)
    assert np.isfinite(s).all()
    assert np.abs(s).max() <= 1.0 + 1e-12


def test_slopes_of_duals():
    x = aligned_zeros(2000)
    x[0::2] = np.random.default_rng(0).normal(size=1000) * 10
    x[1::2] = 3.0
    s, c = aligned_zeros(2000), aligned_zeros(2000)
    sincos_dual(x, s, c)
    assert s[1::2] == pytest.approx(3.0 * np.cos(x[0::2]), abs=1e-14)
    assert c[1::2] == pytest.approx(-3.0 * np.sin(x[0::2]), abs=1e-14)


def test_arc_tangent():
    rng = np.random.default_rng(0)
    x = rng.normal(size=1 << 16) * 10.0 ** rng.uniform(-8, 8, 1 << 16)
    y = rng.normal(size=1 << 16)
    out = np.empty_like(x)
    atan2_float(y, x, out)
    assert error_in_ulp(out, np.arctan2(y, x)).max() <= 2.5


@pytest.mark.parametrize(
    ("y", "x"), [(0, 1), (1, 0), (-1, 0), (0, -1), (1, 1), (-1, -1), (1, -1), (0, 0), (1e-300, 1)]
)
def test_arc_tangent_on_the_axes(y, x):
    out = np.empty(1)
    atan2_float(np.array([float(y)]), np.array([float(x)]), out)
    assert out[0] == pytest.approx(math.atan2(y, x), rel=1e-15)
