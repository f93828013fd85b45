# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Softness of constraints: from the format's `solref` and `solimp` to springs and impedances.

A positive `solref` is a time constant t and a damping ratio z: stiffness 1/(t z)^2, damping 2/t. A negative
one is stiffness and damping themselves. Both are of the reference acceleration at unit impedance; dividing
by the largest impedance is left to the code that fills the constraint rows, for both forms alike.
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
    found = _coefficients(solref)
    return None if found is None else (StiffnessDamping(k=found[0], d=found[1]), found[2])


def _coefficients(solref: Sequence[float]) -> tuple[float, float, bool] | None:
    """Stiffness and damping of a `solref`, and whether it gives them directly; None when its signs differ."""
    first, second = solref
    if (first > 0.0) != (second > 0.0):
        return None
    if first <= 0.0:
        return -first, -second, True
    product = first * first * second * second
    return 1.0 / max(_LEAST, product), 2.0 / max(_LEAST, first), False


def read_spring(
    a: Attributes, ref: str = "solref", imp: str = "solimp", default: Sequence[float] = SOLREF
) -> ImpedanceSpring:
    """The softness that two attributes of an element give."""
    k, d, direct = _read_coefficients(a, ref, default)
    solimp = a.reals(imp, 1, 5, default=SOLIMP) or SOLIMP
    return ImpedanceSpring(spring=StiffnessDamping(k=k, d=d), impedance=impedance(solimp), direct=direct)


def _read_coefficients(a: Attributes, ref: str, default: Sequence[float]) -> tuple[float, float, bool]:
    """Stiffness and damping that an attribute gives, and whether it does so directly."""
    found = _coefficients(a.reals(ref, 1, 2, default=default) or SOLREF)
    if found is None:
        holder = a.holder(ref)
        a.log.approximated(
            holder, f"attribute '{ref}': signs differ, so the default {SOLREF} takes its place"
        )
        found = _coefficients(SOLREF)
        assert found is not None
    return found


def impedance(solimp: Sequence[float]) -> Impedance:
    """The profile of a `solimp`."""
    d0, dmax, width, middle, power = solimp
    return Impedance(d0=d0, dmax=dmax, width=width, middle=middle, power=power)


def read_friction(a: Attributes) -> ImpedanceDamping:
    """The softness of dry friction, which has no position to be wrong and so uses no stiffness."""
    _, damping, direct = _read_coefficients(a, "solreffriction", SOLREF)
    d0, dmax, width, *_ = a.reals("solimpfriction", 1, 5, default=SOLIMP) or SOLIMP
    flat = d0 == dmax or width <= _LEAST
    constant = 0.5 * (d0 + dmax) if flat else d0
    return ImpedanceDamping(damping=damping, impedance=constant, dmax=dmax, direct=direct)
