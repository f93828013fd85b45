# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What a contact wants of a step: where bodies get to, and how fast they are then.

The two part in two cases. A deep overlap is pushed apart at a limited speed, which is a displacement and must
not stay as kinetic energy; springs too stiff for the step are no different. And a body that will touch within
the step turns round at that moment, so it gets less far than its new speed says. Steps with either are solved
twice, once for the way and once for the speed.

Semi-implicit steps follow exact parabolas with the velocity y = v + a h / 2, so under a constant acceleration
the moment of an impact and the state after it are exact, and bounces come when they should.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from worldline._src.jit import inline
from worldline._src.kernels.constraints.laws import HARDNESS, SOFTEST, Answer, answer
from worldline._src.kernels.constraints.tables import ACCELERATION_SPRING, FORCE_SPRING, HARD
from worldline._src.scalar.ops import constant, maximum, sqrt

WAY, SPEED, BOTH = 0, 1, 2
"""What a solve is for; BOTH is for integrators that have one velocity for the two."""
SLOW = 1.0
"""Push apart up to which it stays in the velocity, with all momentum kept [m/s]; impacts are mostly below."""


FASTEST = 3.0
"""Speed at which contacts push bodies apart at most [m/s]: an overlap at the start is no explosive."""
UNRESOLVED = 10.0
"""Square of step times frequency from which on a spring acts like a hard contact."""


class Impact(NamedTuple):
    """What a contact answers to: see `impact_of`.

    wanted: velocity of a hard contact [m/s]; r: error of all others [m]; parts: 1 when they differ between
    WAY and SPEED; push: the part of the velocity that pushes apart [m/s].
    """

    wanted: Any
    r: Any
    parts: Any
    push: Any


@inline
def touches(law, r, u, a, h, ahead):
    """Whether a contact has a row: all but gaps that bounce, which have one in the step that closes them.

    Only where a body meets the world (`ahead`): two bodies would get to places where their momenta have
    another moment, so they bounce off each other in the step after.
    r: gap, negative where they overlap; u, a: its rate and the rate of that without contacts.
    """
    if r <= 0.0 or law.bounciness == 0.0 or law.kind != HARD:
        return True
    if not ahead:
        return False
    y = u + 0.5 * h * a
    square = y * y - 2.0 * a * r
    if square < 0.0:
        return False
    closing = sqrt(square) - y
    return closing > 0.0 and 2.0 * r <= h * closing


@inline
def _landing(law, r, u, a, h, phase):
    """Of a gap that closes within the step."""
    y = u + 0.5 * h * a
    hit = sqrt(y * y - 2.0 * a * r)
    left = h - 2.0 * r / (hit - y)
    up = law.bounciness * hit
    end = left * (up + 0.5 * a * left)
    way, speed = (end - r) / h, up + a * (left - 0.5 * h)
    if end < 0.0:
        # it would come back within the step, and so on without end: it stays where it landed
        way, speed = -r / h, 0.0
    return Impact(way if phase == WAY else speed, r, 1, 0.0)


@inline
def _pushed(law, r, u, h, phase):
    """Of an overlap."""
    push = min(-law.erp * r / h, FASTEST)
    back = 0.0
    if u < 0.0:
        back = -law.bounciness * u
    parts = 1 if phase != BOTH and push > SLOW and push > back else 0
    if parts == 1 and phase == SPEED:
        return Impact(back, 0.0, 1, 0.0)
    return Impact(max(push, back), max(r, -FASTEST * h / max(law.erp, SOFTEST)), parts, push)


@inline
def _sprung(law, r, inverse_inertia, h, phase):
    """Of a spring: one too stiff for the step would throw out within it whatever a fast body sank in."""
    frequency = 0.0
    if law.kind == FORCE_SPRING:
        frequency = law.stiffness * inverse_inertia
    if law.kind == ACCELERATION_SPRING:
        frequency = law.stiffness
    if frequency * h * h <= UNRESOLVED or r > -SLOW * h or phase == BOTH:
        return Impact(0.0, r, 0, 0.0)
    return Impact(0.0, max(r, -FASTEST * h) if phase == WAY else 0.0, 1, 0.0)


@inline
def impact_of(law, r, u, a, inverse_inertia, h, phase):
    """What a contact for which `touches` holds answers to."""
    if law.kind != HARD:
        return _sprung(law, r, inverse_inertia, h, phase)
    if r > 0.0:
        if law.bounciness > 0.0:
            return _landing(law, r, u, a, h, phase)
        # may just close
        return Impact(-r / h, r, 0, 0.0)
    return _pushed(law, r, u, h, phase)


@inline
def contact_answer(law, impact, u, inverse_inertia, h, safe):
    """Reference acceleration and regularizer of a contact."""
    if law.kind == HARD:
        A = maximum(inverse_inertia, constant(SOFTEST, u))
        return Answer((impact.wanted - u) / h, HARDNESS * A, constant(1.0 / h, u))
    return answer(law, impact.r, u, inverse_inertia, h, safe)
