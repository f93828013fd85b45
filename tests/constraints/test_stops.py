# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Hard limits of joints, row by row: the velocity at the end of a step that a row alone leads to.

A row that is met has J a = aref, so it ends the step with v + h aref. That velocity is written down here from what a
stop is: rest or a bounce at the limit, a bounded recovery from beyond it, and closing no further than the limit.
"""

from __future__ import annotations

import numpy as np
import pytest

from worldline._src.jit import entry
from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.constraints.contact.impacts import BOTH, POSITION_PASS, VELOCITY_PASS
from worldline._src.kernels.constraints.laws import load_law
from worldline._src.kernels.constraints.limit import stops

H, FASTEST, ERP = 0.004, 3.0, 0.2
INVERSE = 0.7
"""Inverse inertia that the row sees [1/kg]."""


@entry
def stop(numbers, option, out):
    """bounciness, erp, r, v, fastest, slow -> aref, R, parts."""
    made = stops.hard_stop(
        numbers[0], numbers[1], numbers[2], numbers[3], INVERSE, numbers[4], numbers[5], option
    )
    out[0], out[1], out[2] = made.aref, made.R, made.parts


@entry
def ahead(laws):
    return stops.looks_ahead(load_law(laws, 0))


@entry
def mark(parts, counter):
    stops.mark_split(stops.Stop(0.0, 0.0, parts), counter)


def ended(r, v, solve_pass=VELOCITY_PASS, e=0.0, slow=0.0, erp=ERP):
    """Velocity at the end of the step, and whether position and velocity pass differ."""
    option, out = np.zeros(t.OPTIONS), np.zeros(3)
    option[t.STEP], option[t.SOLVE_PASS] = H, solve_pass
    stop(np.array([e, erp, r, v, FASTEST, slow]), option, out)
    assert out[1] == pytest.approx(1e-7 * INVERSE, rel=1e-12)
    return v + H * out[0], out[2]


@pytest.mark.parametrize("solve_pass", [POSITION_PASS, VELOCITY_PASS, BOTH])
@pytest.mark.parametrize("v", [-5.0, -0.1, 0.4])
@pytest.mark.parametrize("r", [1e-4, 0.02])
def test_what_is_not_there_yet_may_just_get_there(r, v, solve_pass):
    assert ended(r, v, solve_pass, e=0.5) == (pytest.approx(-r / H, rel=1e-12), 0)


@pytest.mark.parametrize("solve_pass", [POSITION_PASS, VELOCITY_PASS, BOTH])
def test_what_is_at_its_limit_rests_or_bounces(solve_pass):
    for e in (0.0, 0.3, 1.0):
        assert ended(0.0, -2.0, solve_pass, e=e) == (pytest.approx(2.0 * e, abs=1e-12), 0)
        # what opens gets no bounce: the row, which only pushes, asks for less than the speed there is
        assert ended(0.0, 2.0, solve_pass, e=e)[0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("depth", [1e-3, 0.01, 0.059, 0.061, 0.5])
def test_recovery_is_a_displacement_at_a_bounded_speed(depth):
    """It goes into the position pass, and into the velocity pass not at all."""
    assert ended(-depth, 0.0, POSITION_PASS) == (pytest.approx(min(ERP * depth / H, FASTEST), rel=1e-12), 1)
    assert ended(-depth, 0.0, VELOCITY_PASS) == (pytest.approx(0.0, abs=1e-15), 1)
    assert ended(-depth, -1.0, VELOCITY_PASS, e=0.5) == (pytest.approx(0.5, rel=1e-12), 1)


def test_recovery_and_bounce_do_not_add():
    """Of the two the larger one counts: a bounce moves away from the limit as well."""
    recovery = ERP * 0.01 / H
    assert ended(-0.01, -1.0, POSITION_PASS, e=0.3)[0] == pytest.approx(max(recovery, 0.3), rel=1e-12)
    assert ended(-0.01, -1.0, POSITION_PASS, e=0.9)[0] == pytest.approx(max(recovery, 0.9), rel=1e-12)


def test_recovery_too_slow_to_see_stays_in_the_velocity():
    depth = 0.5 * stops.QUIET * H / ERP
    for solve_pass in (POSITION_PASS, VELOCITY_PASS, BOTH):
        assert ended(-depth, 0.0, solve_pass) == (pytest.approx(0.5 * stops.QUIET, rel=1e-9), 0)


def test_one_velocity_for_both_passes_recovers_slowly_or_not_at_all():
    """Not at all where coordinates are moved after the step."""
    assert ended(-0.01, 0.0, BOTH) == (pytest.approx(0.0, abs=1e-15), 0)
    assert ended(-0.01, 0.0, BOTH, slow=1.0) == (pytest.approx(ERP * 0.01 / H, rel=1e-12), 0)
    assert ended(-0.10, 0.0, BOTH, slow=1.0) == (pytest.approx(1.0, rel=1e-12), 0)


def test_only_hard_limits_without_bounce_act_in_the_step_that_would_pass_them():
    laws = np.zeros((1, 11))
    for kind in (t.HARD, t.FORCE_SPRING, t.ACCELERATION_SPRING, t.IMPEDANCE):
        for bounciness in (0.0, 0.5):
            laws[0, t.KIND], laws[0, t.BOUNCINESS] = kind, bounciness
            assert ahead(laws) == (kind == t.HARD and bounciness == 0.0)


def test_passes_that_differ_are_marked():
    counter = np.zeros(64, np.int64)
    mark(0, counter)
    assert not counter.any()
    mark(1, counter)
    assert counter[t.IS_SPLIT] == 1 and counter[t.BOUNCED] == t.SPLIT
