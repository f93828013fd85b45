# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The inertial frame of a link: which principal axis is the first, and which way each points.

Principal axes are only defined up to their order and signs. Sensors in an inertial frame read what compiled
MJCF models read, so the axes are chosen as there: given axes are kept, and a single geom has its own. Those
of a matrix follow from Jacobi rotations [Golub and Van Loan 2013, 8.5] accumulated as a quaternion, with the
largest moment first.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from worldline._src.linear_algebra import matmul
from worldline._src.scene.assets.library import AssetLibrary
from worldline._src.scene.assets.rotations import rotation_matrix
from worldline._src.scene.bodies import Link
from worldline._src.scene.geometry import Geometry, ShapeType
from worldline._src.scene.mass_properties import NOTHING, given_properties, in_groups
from worldline._src.scene.options import InertiaSource
from worldline._src.scene.poses import IDENTITY, multiply, normalized
from worldline._src.scene.vectors import Array

_MOST: Final = 60
_ROUNDING: Final = 1e-16
_SMALL: Final = 1e-12
"""Moments that differ by less, kg m^2, keep their order."""
_HALF: Final = math.sqrt(0.5)


def inertial_axes(link: Link, library: AssetLibrary) -> Array:
    """Rotation of the inertial frame of a link in the axes of the link, xyzw, (4,)."""
    inertial, options = link.inertial, library.options
    moments = inertial.diag_inertia if inertial.full_inertia is None else inertial.full_inertia
    given = inertial.mass is not None and inertial.pos is not None and moments is not None
    if given and options.inertia_source is not InertiaSource.Geometry:
        if inertial.full_inertia is not None:
            return _axes(given_properties(inertial, NOTHING).inertia)
        return IDENTITY.rotation if inertial.orientation is None else normalized(inertial.orientation)
    groups = options.inertia_groups
    heavy = [
        geom
        for geom in link.geoms
        if (groups is None or in_groups(geom.visual.group, groups))
        and library.geom_properties(geom).mass > 0.0
    ]
    if len(heavy) == 1:
        return _geom_axes(heavy[0], library)
    return _axes(library.link_properties(link).inertia)


def _geom_axes(geom: Geometry, library: AssetLibrary) -> Array:
    """Axes of one geom; a mesh has those of its own matrix."""
    if geom.shape is ShapeType.Mesh:
        return multiply(normalized(geom.orientation), _axes(library.integrals(geom).inertia))
    return library.resolved(geom).rotation


def _axes(inertia: Array) -> Array:
    """Principal axes of a matrix, xyzw, (4,)."""
    found = IDENTITY.rotation
    moments = np.zeros(3)
    for _ in range(_MOST):
        axes = rotation_matrix(found)
        matrix = matmul(axes.T, inertia, axes)
        moments = np.diag(matrix).copy()
        xy, xz, yz = abs(matrix[0, 1]), abs(matrix[0, 2]), abs(matrix[1, 2])
        # the largest entry off the diagonal is rotated away
        row, column, axis = (0, 1, 2) if xy > xz and xy > yz else (0, 2, 1) if xz > yz else (1, 2, 0)
        if abs(matrix[row, column]) <= _ROUNDING * np.abs(moments).max():
            break
        tau = (matrix[column, column] - matrix[row, row]) / (2.0 * matrix[row, column])
        tangent = math.copysign(1.0, tau) / (abs(tau) + math.hypot(1.0, tau))
        sine = -math.sin(0.5 * math.atan(tangent))
        found = _turned(found, axis, -sine if axis == 1 else sine)
    # largest moment first, by quarter turns
    for first in (0, 1, 0):
        if moments[first] + _SMALL < moments[first + 1]:
            moments[[first, first + 1]] = moments[[first + 1, first]]
            found = _turned(found, (first + 2) % 3, _HALF)
    return found


def _turned(rotation: Array, axis: int, sine: float) -> Array:
    """A rotation followed by one about an axis of its own, by the sine of half the angle."""
    turn = np.zeros(4)
    turn[axis], turn[3] = sine, math.sqrt(1.0 - sine * sine)
    return normalized(multiply(rotation, turn))
