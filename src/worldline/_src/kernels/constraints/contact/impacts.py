# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Targets of a contact in a step: its velocity in the position pass and in the velocity pass (split impulse).

The two differ in two cases. Penetration recovery at a limited speed is a displacement and must not stay as
kinetic energy; springs too stiff for the step are no different. And a body that will touch within the step
turns round at that moment, so it gets less far than its new speed says. Steps with either are solved twice:
positions first, then velocities.

Semi-implicit steps follow exact parabolas with the velocity y = v + a h / 2, so under a constant acceleration
the moment of an impact and the state after it are exact, and bounces come when they should. Variational steps
follow them with y = v. They move by the mean of the velocities at both ends, h (v + a h / 2), so the position
pass asks for twice the change of the velocity.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline
from worldline._src.kernels.constraints.laws import HARDNESS, LEAST_INVERSE, SOFTEST, SoftRow, soft_row
from worldline._src.kernels.constraints.tables import ACCELERATION_SPRING, FORCE_SPRING, HARD
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.ops import any_of, constant, maximum, minimum, shared, sqrt, where

POSITION_PASS, VELOCITY_PASS, BOTH = 0, 1, 2
"""Passes of a split-impulse solve; BOTH is for integrators that have one velocity for the two."""
SLOW = 1.0
"""Penetration recovery up to which it stays in the velocity, with all momentum kept [m/s].

Islands that would gain too much by it have none in their velocity; see `contact/recovery_energy.py`.
"""


FASTEST = 3.0
"""Largest depenetration velocity [m/s]."""
EVER = 1e300
"""No gap is larger [m]."""
SLOWEST = 1e-3
"""Bounce below which nobody asks where its energy came from, as a share of what gravity does in a step."""
UNRESOLVED = 10.0
"""Square of step times frequency from which on a spring acts like a hard contact."""


class Moment(NamedTuple):
    """A step [s], the pass, the share of restitution in the position pass, the penetration recovery that
    stays in the velocity [m/s], and 1 where a step moves by the mean of its velocities (`MEAN_MOTION`)."""

    h: Any
    solve_pass: Any
    share: Any
    slow: Any
    mean: Any


class Impact(NamedTuple):
    """Targets of a contact: see `impact_of`.

    wanted: velocity of a hard contact [m/s]; r: error of all others [m]; parts: 1 when they differ between
    POSITION_PASS and VELOCITY_PASS; recovery: the part of the velocity that recovers penetration [m/s];
    bounce: how much of wanted there is by restitution [m/s]; before: velocity before the impact of a hard
    contact [m/s]. The mean of it and of the velocity after times the impulse is the work of the impact alone,
    without penetration recovery and without what gravity does in the rest of the step.
    """

    wanted: Any
    r: Any
    parts: Any
    recovery: Any
    bounce: Any
    before: Any


@inline
def _lag(h, mean):
    """How far the velocity of a step is behind that of its parabola [s]."""
    return (0.5 - 0.5 * mean) * h


@inline
def touches(law, r, u, a, h, mean, ahead):
    """Where a contact has a row: all but gaps that bounce, which have one in the step that closes them.

    Only where a body meets the world (`ahead`): two bodies would get to places where their momenta have
    another moment, so they bounce off each other in the step after.
    r: gap, negative where they overlap; u, a: its rate and the rate of that without contacts.
    """
    if law.bounciness == 0.0 or law.kind != HARD:
        return r < EVER
    if not ahead:
        return r <= 0.0
    y = u + a * _lag(h, mean)
    square = y * y - 2.0 * a * r
    closing = sqrt(maximum(square, constant(0.0, r))) - y
    return (r <= 0.0) | ((square >= 0.0) & (closing > 0.0) & (2.0 * r <= h * closing))


@inline
def _landing(law, r, u, a, moment):
    """Of a gap that closes within the step."""
    none, h, lag = constant(0.0, r), moment.h, _lag(moment.h, moment.mean)
    y = u + a * lag
    hit = sqrt(maximum(y * y - 2.0 * a * r, none))
    left = h - 2.0 * r / maximum(hit - y, constant(SOFTEST, r))
    up = (law.bounciness * moment.share) * hit
    end = left * (up + 0.5 * a * left)
    # what would come back within the step, and so on without end, stays where it landed
    stays = end < 0.0
    fall = a * (left - lag)
    wanted = where(stays, none, up + fall)
    bounce = wanted - where(a < 0.0, none, fall)
    if moment.solve_pass == POSITION_PASS:
        wanted, bounce = where(stays, -r, end - r) * (1.0 / h), none
    return Impact(wanted, r, 1, none, bounce, -hit - where(stays, none, fall))


@inline
def _pushed(law, r, u, moment):
    """Of an overlap."""
    none, h, solve_pass = constant(0.0, r), moment.h, moment.solve_pass
    # what cannot be told from speed must not be fast
    fastest = SLOW if solve_pass == BOTH else FASTEST
    recovery = minimum(r * (-law.erp / h), constant(fastest, r))
    back = where(u < 0.0, u * -(law.bounciness * moment.share), none)
    wanted, deep = maximum(recovery, back), -fastest * h / max(law.erp, SOFTEST)
    if solve_pass == BOTH:
        return Impact(
            wanted, maximum(r, constant(deep, r)), 0, wanted - back, wanted - recovery, u - (wanted - back)
        )
    fast = (recovery > moment.slow) & (recovery > back)
    parts = 1 if any_of(fast) else 0
    split = fast & (constant(solve_pass, r) == VELOCITY_PASS)
    return Impact(
        where(split, back, wanted),
        where(split, none, maximum(r, constant(deep, r))),
        parts,
        where(split, none, wanted - back),
        # without restitution fast recovery belongs to the position pass alone
        where(recovery > moment.slow, back, wanted - recovery),
        where(split, u, u - (wanted - back)),
    )


@inline
def _sprung(law, r, inverse_inertia, h, solve_pass):
    """Of a spring: one too stiff for the step would throw out within it whatever a fast body sank in."""
    none, frequency = constant(0.0, r), constant(0.0, inverse_inertia)
    if law.kind == FORCE_SPRING:
        frequency = law.stiffness * inverse_inertia
    if law.kind == ACCELERATION_SPRING:
        frequency = constant(law.stiffness, inverse_inertia)
    if solve_pass == BOTH or shared(frequency) * h * h <= UNRESOLVED:
        return Impact(none, r, 0, none, none, none)
    fast = r <= -SLOW * h
    near = none
    if solve_pass == POSITION_PASS:
        near = maximum(r, constant(-FASTEST * h, r))
    return Impact(none, where(fast, near, r), 1 if any_of(fast) else 0, none, none, none)


@inline
def impact_of(law, r, u, a, inverse_inertia, moment):
    """Targets of a contact for which `touches` holds."""
    if law.kind != HARD:
        return _sprung(law, r, inverse_inertia, moment.h, moment.solve_pass)
    overlap, gap = _pushed(law, r, u, moment), r > 0.0
    none = constant(0.0, r)
    # what is apart may just close
    wanted, parts, bounce, before = r * (-1.0 / moment.h), overlap.parts, none, u
    if law.bounciness > 0.0 and moment.solve_pass != BOTH:
        landing = _landing(law, r, u, a, moment)
        wanted, bounce, before = landing.wanted, landing.bounce, landing.before
        if any_of(gap):
            parts = 1
    wanted = where(gap, wanted, overlap.wanted)
    if moment.mean != 0.0 and moment.solve_pass != BOTH:
        parts = 1
        if moment.solve_pass == POSITION_PASS:
            # h u + h^2 a / 2 = h wanted
            wanted = wanted + (wanted - u)
    return Impact(
        wanted,
        where(gap, r, overlap.r),
        parts,
        where(gap, none, overlap.recovery),
        where(gap, bounce, overlap.bounce),
        where(gap, before, overlap.before),
    )


@inline
def contact_soft_row(law, impact, u, inverse_inertia, h, safe):
    """Reference acceleration and regularizer of a contact."""
    if law.kind == HARD:
        R = HARDNESS * maximum(inverse_inertia, constant(LEAST_INVERSE, u))
        return SoftRow((impact.wanted - u) * (1.0 / h), R, constant(1.0 / h, u), R)
    return soft_row(law, impact.r, u, inverse_inertia, h, safe)
