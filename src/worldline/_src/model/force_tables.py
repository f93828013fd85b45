# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Constraint laws as columns: hard, springs, impedance.

Contacts, limits, equalities and closures all share the same few laws. A table that needs them holds a
`ForceModels` with as many rows as itself; dry friction, which has no position to be wrong, a
`FrictionModels`. What the numbers mean for a constraint row is the business of the constraint stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import cast

import numpy as np

from worldline._src.model.kinds import codes
from worldline._src.scene.contact import ConstraintForceModel
from worldline._src.scene.values import ImpedanceDamping, ImpedanceSpring, StiffnessDamping
from worldline._src.spatial.poses import Array


class Lockable:
    """Columns that cannot be written; subclasses are dataclasses."""

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)


class ForceKind(IntEnum):
    """Laws; where two meet, the lower one wins."""

    HARD = 0
    """No give: `bounciness` and `erp`."""
    FORCE_SPRING = 1
    """`stiffness` [N/m] and `damping` [N s/m] of a force."""
    ACCELERATION_SPRING = 2
    """`stiffness` [1/s^2] and `damping` [1/s] of an acceleration."""
    IMPEDANCE = 3
    """An acceleration spring scaled by the impedance profile."""


@dataclass(eq=False)
class ForceModels(Lockable):
    """Laws of n constraints."""

    kind: np.ndarray
    """`ForceKind`."""
    stiffness: Array
    damping: Array
    impedance: Array
    """d0, dmax, width, middle, power of the profile, shape (n, 5)."""
    direct: np.ndarray
    """True when stiffness and damping were given as such: where two meet the smaller ones count, and their
    time constant is not kept above two steps."""
    bounciness: Array
    """Coefficient of restitution of HARD."""
    erp: Array
    """Share of the error that HARD removes in a step, 0 to 1."""

    def __len__(self) -> int:
        return len(self.kind)


Law = ConstraintForceModel | ImpedanceSpring | None
_KINDS = {
    "hard": ForceKind.HARD,
    "force_spring": ForceKind.FORCE_SPRING,
    "acceleration_spring": ForceKind.ACCELERATION_SPRING,
    "impedance": ForceKind.IMPEDANCE,
}
_Row = tuple[int, float, float, tuple[float, ...], bool, float, float]
_FLAT = (0.0,) * 5
_STIFF: _Row = (ForceKind.HARD, 0.0, 0.0, _FLAT, False, 0.0, 1.0)


def _row(law: Law) -> _Row:
    if law is None:
        # nothing was said about softness: all of the error goes in one step
        return _STIFF
    spring: object = law
    kind = ForceKind.IMPEDANCE
    if isinstance(law, ConstraintForceModel):
        kind, spring = _KINDS[law.variant], law.value
    if isinstance(spring, ImpedanceSpring):
        i = spring.impedance
        profile = (i.d0, i.dmax, i.width, i.middle, i.power)
        return kind, spring.spring.k, spring.spring.d, profile, spring.direct, 0.0, 0.0
    if isinstance(spring, StiffnessDamping):
        return kind, spring.k, spring.d, _FLAT, False, 0.0, 0.0
    assert isinstance(spring, dict)
    hard = cast("dict[str, float]", spring)
    return kind, 0.0, 0.0, _FLAT, False, hard["bounciness"], hard["erp"]


def force_models(laws: Sequence[Law]) -> ForceModels:
    """The laws of some objects of a scene as columns; None is hard, without bounce."""
    kind, stiffness, damping, impedance, direct, bounciness, erp = (
        zip(*map(_row, laws), strict=True) if laws else ((),) * 7
    )
    return ForceModels(
        codes(kind),
        np.array(stiffness, np.float64),
        np.array(damping, np.float64),
        np.array(impedance, np.float64).reshape(-1, 5),
        np.array(direct, bool),
        np.array(bounciness, np.float64),
        np.array(erp, np.float64),
    )


@dataclass(eq=False)
class FrictionModels(Lockable):
    """How soft n dry-friction constraints are."""

    damping: Array
    """[1/s]; 0 is hard."""
    impedance: Array
    """Constant impedance, 0 to 1."""
    dmax: Array
    """Impedance that the damping is divided by, 0 to 1."""
    direct: np.ndarray
    """See `ForceModels.direct`."""

    def __len__(self) -> int:
        return len(self.damping)


def friction_models(laws: Sequence[ImpedanceDamping | None]) -> FrictionModels:
    """The softness of some objects of a scene as columns; None is hard."""
    rows = [
        (0.0, 1.0, 1.0, False)
        if law is None
        else (law.damping, law.impedance, law.impedance if law.dmax is None else law.dmax, law.direct)
        for law in laws
    ]
    damping, impedance, dmax, direct = zip(*rows, strict=True) if rows else ((),) * 4
    return FrictionModels(
        np.array(damping, np.float64),
        np.array(impedance, np.float64),
        np.array(dmax, np.float64),
        np.array(direct, bool),
    )
