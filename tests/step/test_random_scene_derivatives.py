# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of steps of random scenes: a sample of `tests/derivative_scenes.py`, which goes through 600."""

from __future__ import annotations

import pytest

from derivative_scenes import TOLERANCE, compare
from worldline._src.jit import DISABLED

pytestmark = pytest.mark.skipif(DISABLED, reason="dual numbers need the compiler")


SWEPT = 14
"""A scene that sweeps solve in the place of Newton's method, which derivatives refuse."""


@pytest.mark.parametrize("seed", [seed for seed in range(31) if seed != SWEPT])
def test_derivatives_of_a_random_scene(seed):
    found = compare(seed)
    assert found.refused == ""
    assert found.error <= TOLERANCE
    # columns with a kink are left out, and are few
    assert found.compared > 4 * found.changed


@pytest.mark.parametrize("seed", [18, 399])
def test_hard_contacts_that_stick_keep_the_digits_of_their_forces(seed):
    """Their slacks are a compliance times a force: what accelerations round off was a millionth of it."""
    assert compare(seed).error <= 0.05 * TOLERANCE
