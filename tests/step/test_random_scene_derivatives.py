# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of steps of random scenes: a sample of `tests/derivative_scenes.py`, which goes through 500."""

from __future__ import annotations

import pytest

from derivative_scenes import compare
from worldline._src.jit import DISABLED

pytestmark = pytest.mark.skipif(DISABLED, reason="dual numbers need the compiler")


@pytest.mark.parametrize("seed", range(30))
def test_derivatives_of_a_random_scene(seed):
    found = compare(seed)
    assert found.refused == ""
    assert found.error <= found.tolerance
    # columns with a kink are left out, and are few
    assert found.compared > 4 * found.changed
