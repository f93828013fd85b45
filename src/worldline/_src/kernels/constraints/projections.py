# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Projections onto the sets that friction forces live in, without branches on their values."""

from __future__ import annotations

from worldline._src.jit import inline
from worldline._src.scalar.ops import maximum, sqrt, where

TINY = 1e-300


@inline
def onto_disc(x, y, radius):
    """The point of the disc of `radius` >= 0 that is nearest to (x, y)."""
    length = sqrt(x * x + y * y)
    shrink = where(length > radius, radius / maximum(length, TINY), 1.0)
    return shrink * x, shrink * y


@inline
def onto_cone(axial, length, ratio):
    """Projection onto the cone axial >= |lateral|, of which only the length of the lateral part matters.

    Distances along the axis count 1 / ratio of those across, squared; 1 is the nearest point. Returns the
    new axial part and the factor of the lateral part.
    """
    between = (axial + ratio * length) / (1.0 + ratio)
    inside = length <= axial
    polar = ratio * length <= -axial
    factor = between / maximum(length, TINY)
    return (
        where(inside, axial, where(polar, 0.0, between)),
        where(inside, 1.0, where(polar, 0.0, factor)),
    )
