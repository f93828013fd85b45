# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From a law and the state of a row to its reference acceleration and regularizer.

All laws end in the same two numbers, so solvers know none of them:

    HARD                 the row reaches a velocity within the step: what removes the share erp of the error,
                         or what bounces back; the regularizer is next to nothing
    FORCE_SPRING         a force -k r - d v taken at the end of the step, which is stable for any k and d
    ACCELERATION_SPRING  the same per unit of the inertia that the row sees
    IMPEDANCE            the profile of `impedance.py` on an acceleration spring
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline
from worldline._src.kernels.constraints.impedance import (
    Spring,
    impedance,
    reference_acceleration,
    regularizer,
)
from worldline._src.kernels.constraints.tables import (
    ACCELERATION_SPRING,
    BOUNCINESS,
    D0,
    DAMPING,
    DIRECT,
    DMAX,
    ERP,
    FORCE_SPRING,
    HARD,
    KIND,
    MIDDLE,
    POWER,
    STIFFNESS,
    WIDTH,
)
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.ops import clamp, constant, maximum, where

_LEAST, _MOST = 1e-4, 1.0 - 1e-4
HARDNESS = 1e-7
"""Regularizer of a hard row, as a share of the inverse inertia that it sees."""
SOFTEST = 1e-12
"""Least divisor of speeds [m/s] and of shares of error."""
LEAST_INVERSE = 1e-150
"""Inverse inertia of rows between bodies that cannot move: not zero, and far below that of any mass."""
_HELD = 1e-90
"""Share of one inverse inertia below which the other says that a pair of bodies cannot move that way."""


class Law(NamedTuple):
    """One law; the numbers are those of a `*_law` column."""

    kind: Any
    stiffness: Any
    damping: Any
    d0: Any
    dmax: Any
    width: Any
    middle: Any
    power: Any
    direct: Any
    bounciness: Any
    erp: Any


class SoftRow(NamedTuple):
    """Reference acceleration and regularizer of a row, damping and regularizer of its friction rows."""

    aref: Any
    R: Any
    friction_damping: Any
    friction_R: Any


@inline
def load_law(laws, k):
    """Row `k` of a column of laws."""
    return Law(
        laws[k, KIND],
        laws[k, STIFFNESS],
        laws[k, DAMPING],
        laws[k, D0],
        laws[k, DMAX],
        laws[k, WIDTH],
        laws[k, MIDDLE],
        laws[k, POWER],
        laws[k, DIRECT],
        laws[k, BOUNCINESS],
        laws[k, ERP],
    )


@inline
def law_spring(law, h, safe):
    """Stiffness and damping per unit of inertia; a time constant below two steps is kept out when `safe`."""
    k, d = law.stiffness, law.damping
    if safe and law.direct == 0.0 and d * h > 1.0:
        # the time constant is 2 / d
        share = 1.0 / (d * h)
        k, d = k * share * share, d * share
    dw = clamp(law.dmax, _LEAST, _MOST)
    return Spring(k / (dw * dw), d / dw)


@inline
def soft_row(law, r, v, inverse_inertia, h, safe):
    """Reference acceleration and regularizer of a row with error r and velocity v.

    The error is negative where a one-sided row is violated; a bounce is asked for where the row closes.
    """
    A = maximum(inverse_inertia, constant(LEAST_INVERSE, r))
    if law.kind == HARD:
        # a share of the error goes in this step, or the row bounces; what is still apart may just close
        wanted = r * (-law.erp / h)
        if law.bounciness > 0.0:
            wanted = maximum(wanted, where(v < 0.0, -law.bounciness * v, wanted))
        wanted = where(r > 0.0, r * (-1.0 / h), wanted)
        R = HARDNESS * A
        return SoftRow((wanted - v) * (1.0 / h), R, constant(1.0 / h, r), R)
    if law.kind == FORCE_SPRING or law.kind == ACCELERATION_SPRING:
        k, d = law.stiffness, law.damping
        give = h * (k * h + d)
        aref = (k * (r + h * v) + d * v) * (-1.0 / give)
        D = constant(give, r)
        if law.kind == ACCELERATION_SPRING:
            D = give / A
        # the spring acts along the normal alone: friction sticks as hard contact does, or the contact creeps
        return SoftRow(aref, 1.0 / D, constant(1.0 / h, r), HARDNESS * A)
    spring = law_spring(law, h, safe)
    share = impedance(r, law.d0, law.dmax, law.width, law.middle, law.power)
    R = regularizer(share, A)
    return SoftRow(reference_acceleration(spring, share, r, v), R, constant(spring.damping, r), R)


@inline
def pair_weights(weight, a, b):
    """Inverse inertias that rows between bodies `a` and `b` see: of translation and of rotation.

    Where neither can move one way, as a wheel on an axle through its centre and the ground cannot, the other
    is the scale there is. That holds for the pair and not for each body: what a ball on a seesaw sees is the
    ball, not the turning of the seesaw, which is in other units and may be a thousand times more.
    """
    move, turn = weight[a, 0] + weight[b, 0], weight[a, 1] + weight[b, 1]
    return where(move < _HELD * turn, turn, move), where(turn < _HELD * move, move, turn)


@inline
def with_bounciness(law, bounciness):
    """The same law with another restitution."""
    return Law(
        law.kind,
        law.stiffness,
        law.damping,
        law.d0,
        law.dmax,
        law.width,
        law.middle,
        law.power,
        law.direct,
        bounciness,
        law.erp,
    )


@inline
def mixed_law(a, b, weight_a, weight_b):
    """The law of two that meet: the lower kind wins, equal ones are averaged by their weights.

    Restitution is combined by a rule of its own; see `with_bounciness`.
    """
    if a.kind < b.kind:
        return a
    if b.kind < a.kind:
        return b
    total = weight_a + weight_b
    x = 0.5
    if total > SOFTEST:
        x = weight_a / total
    y = 1.0 - x
    k, d, direct = x * a.stiffness + y * b.stiffness, x * a.damping + y * b.damping, 0.0
    if a.kind > ACCELERATION_SPRING:
        if a.direct != 0.0 or b.direct != 0.0:
            # given as such, the stiffer one counts
            direct = 1.0
            if a.direct != 0.0 and b.direct != 0.0:
                k, d = max(a.stiffness, b.stiffness), max(a.damping, b.damping)
            elif a.direct != 0.0:
                k, d = a.stiffness, a.damping
            else:
                k, d = b.stiffness, b.damping
        elif a.damping > 0.0 and b.damping > 0.0 and a.stiffness > 0.0 and b.stiffness > 0.0:
            # time constants and damping ratios are what is averaged
            t = x * 2.0 / a.damping + y * 2.0 / b.damping
            z = x * 0.5 * a.damping / a.stiffness**0.5 + y * 0.5 * b.damping / b.stiffness**0.5
            k, d = 1.0 / (t * t * z * z), 2.0 / t
    return Law(
        a.kind,
        k,
        d,
        x * a.d0 + y * b.d0,
        x * a.dmax + y * b.dmax,
        x * a.width + y * b.width,
        x * a.middle + y * b.middle,
        x * a.power + y * b.power,
        direct,
        max(a.bounciness, b.bounciness),
        x * a.erp + y * b.erp,
    )
