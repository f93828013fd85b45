# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What contacts ask of a step, number by number: parabolas of landings, pushes out of overlap, stiff springs.

Under a constant acceleration a, a step of h ends with x + u h + a h^2 and u + a h, which is on the exact parabola
whose velocity is y = u + a h / 2 at the start and ends with y + a h. Landings are written down from that parabola.
"""

from __future__ import annotations

import numpy as np
import pytest

from worldline._src.jit import entry
from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.constraints.contact import impacts
from worldline._src.kernels.constraints.contact.impacts import (
    BOTH,
    FASTEST,
    POSITION_PASS,
    SLOW,
    VELOCITY_PASS,
)
from worldline._src.kernels.constraints.laws import load_law

H, ERP = 0.004, 0.2


@entry
def judged(laws, r, u, a, ahead):
    return impacts.touches(load_law(laws, 0), r, u, a, H, 0.0, ahead)


@entry
def made(laws, state, moment, out):
    """r, u, a, inverse inertia; phase, share, slow -> the numbers of an Impact."""
    when = impacts.Moment(H, moment[0], moment[1], moment[2], 0.0)
    impact = impacts.impact_of(load_law(laws, 0), state[0], state[1], state[2], state[3], when)
    out[0], out[1], out[2] = impact.wanted, impact.r, impact.parts
    out[3], out[4], out[5] = impact.recovery, impact.bounce, impact.before


@entry
def replied(laws, wanted, u, out):
    impact = impacts.Impact(wanted, 0.0, 0, 0.0, 0.0, 0.0)
    got = impacts.contact_soft_row(load_law(laws, 0), impact, u, 0.7, H, True)
    out[0], out[1], out[2], out[3] = got.aref, got.R, got.friction_damping, got.friction_R


def law(kind=t.HARD, e=0.0, k=0.0, d=0.0):
    row = np.zeros((1, 11))
    row[0, [t.KIND, t.BOUNCINESS, t.ERP, t.STIFFNESS, t.DAMPING]] = kind, e, ERP, k, d
    return row


def impact(row, r, u, a=0.0, inverse=1.0, solve_pass=VELOCITY_PASS, share=1.0, slow=SLOW):
    out = np.zeros(6)
    made(row, np.array([r, u, a, inverse]), np.array([solve_pass, share, slow]), out)
    return dict(zip(("wanted", "r", "parts", "recovery", "bounce", "before"), out, strict=True))


def landing_time(r, u, a):
    """When the parabola of a gap reaches zero, infinity if never, by polynomial roots."""
    roots = np.roots([0.5 * a, u + 0.5 * a * H, r]) if a else np.array([-r / u if u else np.inf])
    times = roots[(np.abs(np.imag(roots)) < 1e-12) & (np.real(roots) > 0.0)].real
    return times.min(initial=np.inf)


# ---- which contacts have a row

GAPS = [
    (r, u, a)
    for r in (1e-5, 1e-3, 0.0079, 0.0082, 0.02)
    for u in (-5.0, -2.0, -0.3, 0.0, 0.02, 1.0)
    for a in (-40.0, -9.81, 0.0, 6.0, 2000.0)
]


@pytest.mark.parametrize(("r", "u", "a"), GAPS)
def test_a_bouncing_gap_has_a_row_in_the_step_that_closes_it(r, u, a):
    assert bool(judged(law(e=0.5), r, u, a, True)) == (landing_time(r, u, a) <= H)


def test_what_does_not_bounce_has_rows_at_any_distance_and_bodies_bounce_in_the_step_after():
    for r in (-0.1, 0.0, 1e-6, 3.0):
        assert judged(law(), r, -1.0, 0.0, True) and judged(law(), r, -1.0, 0.0, False)
        assert judged(law(t.FORCE_SPRING, e=0.5), r, 1.0, 0.0, True)
        # two bodies: only when they overlap, however fast they close
        assert bool(judged(law(e=0.5), r, -1e3, 0.0, False)) == (r <= 0.0)
        assert r > 0.0 or judged(law(e=0.5), r, 1.0, 0.0, True)


# ---- landings


@pytest.mark.parametrize("e", [0.4, 1.0])
@pytest.mark.parametrize(
    ("r", "u", "a"), [(1e-3, -2.0, -9.81), (5e-3, -2.0, -9.81), (2e-3, -1.5, 3.0), (1e-4, -0.8, 0.0)]
)
def test_a_landing_follows_its_parabola(r, u, a, e):
    time = landing_time(r, u, a)
    hit = u + 0.5 * a * H + a * time
    left, up = H - time, -e * hit
    end, speed = left * (up + 0.5 * a * left), up + a * left
    assert end > 0.0
    # velocities of the scheme are those of the parabola less a h / 2
    fall = a * left - 0.5 * a * H
    got = impact(law(e=e), r, u, a)
    assert got["wanted"] == pytest.approx(speed - 0.5 * a * H, rel=1e-11)
    # the mean of before and after is that of the impact alone: speeds -hit and e hit at the landing
    assert got["before"] + got["wanted"] == pytest.approx(hit + up, rel=1e-11)
    assert got["parts"] == 1 and got["recovery"] == 0.0
    # without restitution the body would be carried along, not pulled back
    assert got["bounce"] == pytest.approx(got["wanted"] - (0.0 if a < 0.0 else fall), rel=1e-11)
    way = impact(law(e=e), r, u, a, solve_pass=POSITION_PASS)
    assert r + H * way["wanted"] == pytest.approx(end, rel=1e-9)
    assert way["bounce"] == 0.0
    # less restitution for the way where that gained too much
    part = impact(law(e=e), r, u, a, solve_pass=POSITION_PASS, share=0.25)
    up *= 0.25
    end = left * (up + 0.5 * a * left)
    assert r + H * part["wanted"] == pytest.approx(max(end, 0.0), rel=1e-9, abs=1e-15)


def test_bounces_without_end_stay_where_they_landed():
    r, u, a, e = 2e-5, -0.01, -9.81, 0.2
    time = landing_time(r, u, a)
    hit, left = u + 0.5 * a * H + a * time, H - time
    assert left * (-e * hit + 0.5 * a * left) < 0.0
    got, way = (
        impact(law(e=e), r, u, a, solve_pass=solve_pass) for solve_pass in (VELOCITY_PASS, POSITION_PASS)
    )
    assert got["wanted"] == 0.0 and r + H * way["wanted"] == pytest.approx(0.0, abs=1e-18)
    assert got["before"] == pytest.approx(hit, rel=1e-11)


def test_gaps_that_do_not_bounce_may_just_close():
    for solve_pass in (POSITION_PASS, VELOCITY_PASS, BOTH):
        got = impact(law(), 1e-3, -2.0, -9.81, solve_pass=solve_pass)
        assert got == {
            "wanted": -1e-3 / H,
            "r": 1e-3,
            "parts": 0,
            "recovery": 0.0,
            "bounce": 0.0,
            "before": -2.0,
        }
    assert impact(law(e=0.5), 1e-3, -2.0, -9.81, solve_pass=BOTH)["wanted"] == -1e-3 / H


# ---- overlaps


def push_of(depth):
    return min(ERP * depth / H, FASTEST)


@pytest.mark.parametrize("e", [0.0, 0.6])
@pytest.mark.parametrize("u", [-3.0, -0.2, 0.5])
@pytest.mark.parametrize("depth", [1e-3, 0.018, 0.022, 0.059, 0.2])
def test_overlap_goes_by_a_displacement_or_a_bounce(depth, u, e):
    """The larger of the two; a push above 1 m/s that is the larger one is left out of the velocity."""
    recovery, back = push_of(depth), max(-e * u, 0.0)
    split = recovery > SLOW and recovery > back
    way, speed = (
        impact(law(e=e), -depth, u, solve_pass=solve_pass) for solve_pass in (POSITION_PASS, VELOCITY_PASS)
    )
    assert way["wanted"] == pytest.approx(max(recovery, back), rel=1e-12)
    assert speed["wanted"] == pytest.approx(back if split else max(recovery, back), rel=1e-12, abs=1e-15)
    for got in (way, speed):
        assert got["parts"] == split
        kept = got["wanted"] - back
        assert got["recovery"] == pytest.approx(kept, rel=1e-12, abs=1e-15)
        # the impact alone: without the push, the velocity before and the bounce
        assert got["before"] + got["wanted"] == pytest.approx(u + back, rel=1e-12, abs=1e-12)
        lost = back if recovery > SLOW else max(recovery, back) - recovery
        assert got["bounce"] == pytest.approx(lost, rel=1e-12, abs=1e-15)


def test_one_velocity_for_both_passes_is_pushed_slowly():
    got = impact(law(e=0.5), -0.1, -0.4, solve_pass=BOTH)
    assert got["wanted"] == SLOW and got["parts"] == 0
    assert got["recovery"] == pytest.approx(SLOW - 0.2) and got["bounce"] == 0.0
    assert got["before"] + got["wanted"] == pytest.approx(-0.4 + 0.2)
    assert got["r"] == pytest.approx(-SLOW * H / ERP)


def test_restitution_that_was_cut_down_bounces_less():
    got = impact(law(e=0.8), -1e-4, -2.0, solve_pass=POSITION_PASS, share=0.25)
    assert got["wanted"] == pytest.approx(0.4) and got["bounce"] == pytest.approx(0.4 - push_of(1e-4))


def test_an_island_that_keeps_no_push_has_every_push_apart():
    slow = 0.0
    way, speed = (
        impact(law(), -1e-3, 0.0, solve_pass=solve_pass, slow=slow)
        for solve_pass in (POSITION_PASS, VELOCITY_PASS)
    )
    assert way["wanted"] == pytest.approx(push_of(1e-3)) and way["parts"] == 1
    assert speed["wanted"] == 0.0 and speed["parts"] == 1 and speed["recovery"] == 0.0


# ---- springs


@pytest.mark.parametrize("kind", [t.FORCE_SPRING, t.ACCELERATION_SPRING])
@pytest.mark.parametrize("factor", [0.99, 1.01])
@pytest.mark.parametrize("depth", [0.9 * SLOW * H, 1.1 * SLOW * H, 5.0 * FASTEST * H])
def test_springs_too_stiff_for_the_step_push_as_hard_contact_does(depth, factor, kind):
    """From 10 / h^2 on, the square of the frequency: that of a force spring is stiffness times inverse inertia."""
    inverse = 0.5
    stiffness = factor * 10.0 / H**2 / (inverse if kind == t.FORCE_SPRING else 1.0)
    row = law(kind, k=stiffness)
    deep = factor > 1.0 and depth > SLOW * H
    way, speed, both = (
        impact(row, -depth, -1.0, inverse=inverse, solve_pass=p) for p in (POSITION_PASS, VELOCITY_PASS, BOTH)
    )
    assert way["parts"] == speed["parts"] == deep and both["parts"] == 0
    assert way["r"] == (-min(depth, FASTEST * H) if deep else -depth)
    assert speed["r"] == (0.0 if deep else -depth)
    assert both["r"] == -depth
    assert way["wanted"] == way["recovery"] == way["bounce"] == way["before"] == 0.0


def test_hard_contacts_reach_what_is_wanted_within_the_step():
    out = np.zeros(4)
    replied(law(), 0.7, -2.0, out)
    assert -2.0 + H * out[0] == pytest.approx(0.7, rel=1e-12)
    assert out[1:] == pytest.approx([0.7e-7, 1.0 / H, 0.7e-7], rel=1e-12)
