# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Softness of constraints: from the format's `solref` and `solimp` to springs and impedances.

A positive `solref` is a time constant t and a damping ratio z: stiffness 1/(t z)^2, damping 2/t. A negative
one is stiffness and damping themselves. Both are of the reference acceleration at unit impedance; dividing
by the largest impedance is left to whoever fills the constraint rows, for both forms alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from worldline._src.scene.formats.xml import Attributes
from worldline._src.scene.values import Impedance, ImpedanceDamping, ImpedanceSpring, StiffnessDamping

SOLREF: Final = (0.02, 1.0)
SOLIMP: Final = (0.9, 0.95, 0.001, 0.5, 2.0)
_LEAST: Final = 1e-15


def stiffness_damping(solref: Sequence[float]) -> tuple[StiffnessDamping, bool] | None:
    """The spring of a `solref` and whether it was given directly; None when its signs do not fit together."""
    first, second = solref
    if (first > 0.0) != (second > 0.0):
        return None
    if first <= 0.0:
        return StiffnessDamping(k=-first, d=-second), True
    product = first * first * second * second
    return StiffnessDamping(k=1.0 / max(_LEAST, product), d=2.0 / max(_LEAST, first)), False


def read_spring(
    a: Attributes, ref: str = "solref", imp: str = "solimp", default: Sequence[float] = SOLREF
) -> ImpedanceSpring:
    """The softness that two attributes of an element give."""
    solref = a.reals(ref, 1, 2, default=default) or SOLREF
    solimp = a.reals(imp, 1, 5, default=SOLIMP) or SOLIMP
    spring = stiffness_damping(solref)
    if spring is None:
        holder = a.holder(ref)
        a.log.approximated(
            holder, f"attribute '{ref}': signs differ, so the default {SOLREF} takes its place"
        )
        spring = stiffness_damping(SOLREF)
        assert spring is not None
    return ImpedanceSpring(spring=spring[0], impedance=impedance(solimp), direct=spring[1])


def impedance(solimp: Sequence[float]) -> Impedance:
    """The profile of a `solimp`."""
    d0, dmax, width, middle, power = solimp
    return Impedance(d0=d0, dmax=dmax, width=width, middle=middle, power=power)


def read_friction(a: Attributes) -> ImpedanceDamping:
    """The softness of dry friction, which has no position to be wrong and so uses no stiffness."""
    spring = read_spring(a, "solreffriction", "solimpfriction")
    profile = spring.impedance
    flat = profile.d0 == profile.dmax or profile.width <= _LEAST
    constant = 0.5 * (profile.d0 + profile.dmax) if flat else profile.d0
    return ImpedanceDamping(
        damping=spring.spring.d,
        impedance=constant,
        dmax=profile.dmax,
        direct=spring.direct,
    )
