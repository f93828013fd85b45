# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The share of restitution that adds no energy: the first root of a parabola, by NumPy's polynomial roots."""

from __future__ import annotations

import numpy as np
import pytest

from worldline._src.jit import entry
from worldline._src.kernels.constraints.restitution import most_restitution


@entry
def share_of(start, slope, bend, allowed):
    return most_restitution(start, slope, bend, allowed)


def first_root(start, slope, bend, allowed):
    roots = np.roots([bend, slope, start - allowed])
    real = roots[np.abs(roots.imag) < 1e-12].real
    return real[real >= 0.0].min()


@pytest.mark.parametrize("seed", range(200))
def test_the_parabola_ends_at_what_is_allowed(seed):
    rng = np.random.default_rng(seed)
    slope, bend = rng.normal(size=2) * 10.0 ** rng.uniform(-3, 3, 2)
    allowed = rng.normal() * 10.0 ** rng.uniform(-3, 3)
    start = allowed - 10.0 ** rng.uniform(-6, 2)
    share = share_of(start, slope, bend, allowed)
    if start + slope + bend <= allowed:
        assert share == 1.0
    else:
        assert share == pytest.approx(first_root(start, slope, bend, allowed), rel=1e-9)
        assert 0.0 <= share <= 1.0
        # not a little more: it still rises there
        assert slope + 2.0 * bend * share > 0.0


def test_both_branches_of_the_root_are_met():
    """A slope that falls first, one that rises, a straight line, and nothing left to add."""
    assert share_of(-1.0, -2.0, 8.0, 0.0) == pytest.approx((2.0 + 6.0) / 16.0, rel=1e-15)
    assert share_of(-1.0, 2.0, 3.0, 0.0) == pytest.approx((-2.0 + 4.0) / 6.0, rel=1e-15)
    assert share_of(-1.0, 4.0, 0.0, 0.0) == 0.25
    assert share_of(2.0, 1.0, 1.0, 2.0) == 0.0
    assert share_of(2.0, 0.0, 0.0, 2.0) == 1.0
    assert share_of(2.0, -1.0, 4.0, 2.0) == 0.25
    assert share_of(-3.0, -1.0, 0.5, -3.0) == 1.0
