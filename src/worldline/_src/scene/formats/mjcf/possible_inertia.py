# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Mass properties that MuJoCo reads, as near as possible to those of a scene.

Many robot files hold moments that no body can have: negative ones, one that exceeds the sum of the other two,
or moments without mass. MuJoCo refuses them. They are replaced by the nearest possible ones. With the second
moments of mass Sigma = tr(I) / 2 - I, a body exists exactly when Sigma is positive semidefinite; its negative
eigenvalues are set to zero, which is the nearest such matrix in the Frobenius norm [Higham 1988].
"""

from __future__ import annotations

from typing import Final

import numpy as np

from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.bodies import LEAST_INERTIA
from worldline._src.scene.mass_properties import MassProperties, principal_axes
from worldline._src.scene.vectors import Array

LEAST: Final = 1e-15
"""Mass, kg, or moment, kg m^2, that MuJoCo takes to be none."""
FLOOR: Final = 1e-12
"""What is written in the place of nothing where MuJoCo needs something, kg and kg m^2."""
_ROUNDING: Final = 1e-9
"""Relative change of moments that counts as rounding."""


class PossibleInertia(NamedTuple):
    """Mass and principal moments that a body can have.

    Attributes:
        mass: Mass, kg.
        moments: Principal moments, largest first, kg m^2, (3,).
        rotation: Principal axes in the axes of the link, xyzw, (4,).
        change: Relative change of the inertia matrix in the Frobenius norm; 0 when only rounding was undone.
        is_full: Whether the matrix could be written as it is.
    """

    mass: float
    moments: Array
    rotation: Array
    change: float
    is_full: bool


def possible_inertia(given: MassProperties) -> PossibleInertia:
    """The mass properties that a body can have nearest to the given ones."""
    moments, rotation = principal_axes(given.inertia)
    a, b, c = moments.tolist()
    if c > LEAST and b + c >= a and given.mass > 0.0:
        return PossibleInertia(given.mass, moments, rotation, 0.0, True)
    # second moments of mass along the principal axes, smallest first
    second = np.maximum(0.5 * moments.sum() - moments, 0.0)
    nearest = second.sum() - second
    # what no step can distinguish from rounding is none
    nearest[nearest < LEAST_INERTIA] = 0.0
    # a sum that is rounded down would still be refused
    nearest[0] = min(nearest[0], nearest[1] + nearest[2])
    size = float(np.linalg.norm(moments))
    change = float(np.linalg.norm(nearest - moments)) / size if size > 0.0 else 0.0
    mass = max(given.mass, FLOOR if nearest.any() else 0.0)
    return PossibleInertia(mass, nearest, rotation, 0.0 if change <= _ROUNDING else change, False)


def is_substantial(part: MassProperties) -> bool:
    """Whether MuJoCo lets a link with these move: mass and all moments are more than nothing."""
    found = possible_inertia(part)
    return found.mass > LEAST and float(found.moments.min()) > LEAST
