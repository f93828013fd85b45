# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every integration family on motions that are known: errors fall at the order of the family."""

from __future__ import annotations

import numpy as np
import pytest

from problems import error_of, problems

ORDER = {"semi-implicit": 1, "implicit-damping": 1, "runge-kutta-4": 4, "variational": 2}
TURNING = ("thrown about the intermediate axis",)
"""Problems of a free body alone, about its turning."""


@pytest.mark.parametrize("family", ORDER)
@pytest.mark.parametrize("problem", problems(), ids=lambda p: p.name)
def test_errors_fall_at_the_order_of_the_family(problem, family):
    # a free body keeps its angular momentum and turns by the midpoint, whatever steps its place
    order = max(ORDER[family], 2) if problem.name in TURNING else ORDER[family]
    # order one needs the smallest steps before higher powers of the step are small against it
    factor = 8 if order == 1 else 2
    coarse, fine = (error_of(problem, family, n * factor) for n in (problem.steps, 2 * problem.steps))
    assert np.log2(coarse / fine) == pytest.approx(order, abs=0.15 * order)
