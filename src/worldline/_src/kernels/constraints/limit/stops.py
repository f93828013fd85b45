# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""One-sided limits of joints: how a row stops what reaches the limit, and recovers from beyond.

A hard limit stops what reaches it within the step (inelastic impact, or restitution) and never drives it: its
impulse takes kinetic energy and adds none. What is beyond the limit is brought back by a displacement at a
bounded speed, which leaves no velocity behind (split impulse). Steps that are solved for positions and for
velocities take it from the position pass; the others move coordinates after integration, see
`limit/recovery.py`, or recover slowly with the velocity where they have no such stage.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline
from worldline._src.kernels.constraints.contact.impacts import BOTH, POSITION_PASS
from worldline._src.kernels.constraints.laws import HARDNESS, SOFTEST, soft_row
from worldline._src.kernels.constraints.tables import (
    BOUNCED,
    GRAVITY,
    HARD,
    IS_SPLIT,
    MEAN_MOTION,
    SAFE,
    SOLVE_PASS,
    SPLIT,
    STEP,
)
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.ops import any_of, constant, maximum, minimum, where

QUIET = 1e-6
"""Speed of recovery that stays in the velocity: what hardness and rounding leave [m/s or rad/s]."""


class Stop(NamedTuple):
    """Reference acceleration and regularizer of a row, and 1 when position and velocity pass differ."""

    aref: Any
    R: Any
    parts: Any


@inline
def looks_ahead(law):
    """Whether a limit acts in the step that would pass it; one that bounces does in the step after."""
    return law.kind == HARD and law.bounciness == 0.0


@inline
def resting_gap(option):
    """Distance from a hard limit within which it acts [m or rad]: what gravity does in a step, or nothing.

    Where a step moves by the mean of its velocities, what rests at a limit may be off by the error of the
    step; without a row it would fall for a step and be stopped in the next.
    """
    return option[MEAN_MOTION] * (option[GRAVITY] * (option[STEP] * option[STEP]))


@inline
def hard_stop(bounciness, erp, r, v, inverse_inertia, fastest, slow, option):
    """What a hard limit asks for at distance r (negative beyond it) and its rate v.

    fastest: speed of recovery in a position pass; slow: the same where one velocity stands for both passes.
    """
    h, solve_pass, none = option[STEP], option[SOLVE_PASS], constant(0.0, r)

    # velocity after the impact: at rest, or -e v
    back = where(v < 0.0, v * -bounciness, none)

    # recovery: a share of the error in this step, at a bounded speed
    recovery = minimum(r * (-erp / h), constant(fastest, r))
    fast = recovery > QUIET
    kept = where(fast, none, recovery)
    parts = 0
    if solve_pass == BOTH:
        kept = minimum(recovery, constant(max(slow, QUIET), r)) if slow > 0.0 else kept
    else:
        if solve_pass == POSITION_PASS:
            kept = recovery
        if any_of(fast):
            parts = 1

    # what is not there yet may just get there
    wanted = where(r > 0.0, r * (-1.0 / h), maximum(kept, back))
    # a step that moves by the mean of its velocities: h v + h^2 a / 2 = h v_wanted in the position pass
    gain = 1.0
    if option[MEAN_MOTION] != 0.0 and solve_pass != BOTH:
        parts = 1
        if solve_pass == POSITION_PASS:
            gain = 2.0
        else:
            # the position pass reaches the limit within the step
            wanted = back
    # aref = (v_wanted - v) / h, R = hardness J M^-1 J^T
    A = maximum(inverse_inertia, constant(SOFTEST, r))
    return Stop((wanted - v) * (gain / h), HARDNESS * A, parts)


@inline
def stop_row(law, r, v, inverse_inertia, fastest, slow, option):
    """Reference acceleration and regularizer of a limit by its law; see `hard_stop`."""
    if law.kind == HARD:
        return hard_stop(law.bounciness, law.erp, r, v, inverse_inertia, fastest, slow, option)
    soft = soft_row(law, r, v, inverse_inertia, option[STEP], option[SAFE] != 0.0)
    return Stop(soft.aref, soft.R, 0)


@inline
def mark_split(stop, counter_io):
    """Tell the step that its position and velocity passes differ."""
    if stop.parts != 0:
        counter_io[IS_SPLIT] |= 1
        counter_io[BOUNCED] |= SPLIT
