# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Equalities between coordinates, y = p(x): residual, slope and velocity-product term, beside NumPy's polynomials."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from worldline._src.kernels.constraints.equality import rows


@pytest.mark.parametrize("seed", range(10))
def test_a_polynomial_and_its_derivatives_in_time(seed):
    rng = np.random.default_rng(seed)
    number, k = rng.normal(size=(3, 11)), 1
    p = Polynomial(number[k, :5])
    value, slope = rows._polynomial(number, k, 0.7)
    assert value == pytest.approx(p(0.7), rel=1e-12) and slope == pytest.approx(p.deriv()(0.7), rel=1e-12)

    q, v = rng.normal(size=6), rng.normal(size=5)
    equality = SimpleNamespace(
        equality_number=number,
        equality_first=np.array([0, 4, 0]),
        equality_second=np.array([0, 2, 0]),
        equality_coordinate=np.array([[0, 0], [5, 3], [0, 0]]),
    )
    # of y - p(x): J' v = d/dt (y' - p'(x) x') without accelerations, by differences
    x, h = q[3] - number[k, 6], 1e-6
    later, earlier = p.deriv()(x + h * v[2]) * v[2], p.deriv()(x - h * v[2]) * v[2]
    assert rows._bend(equality, k, q, v) == pytest.approx(-(later - earlier) / (2.0 * h), rel=1e-7)
    # a coordinate that follows nothing keeps a constant
    equality.equality_second[k] = -1
    assert rows._bend(equality, k, q, v) == 0.0
