# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Coordinates with a quaternion, shown as rotation vectors."""

from __future__ import annotations

import numpy as np

from worldline._src.facade.values import quaternion_from_vector, rotation_numbers
from worldline._src.spatial.poses import Array


def from_coordinates(q: Array) -> Array:
    """[translation,] xyzw as [translation,] rotation vector."""
    numbers = q.tolist()
    return np.array((*numbers[:-4], *rotation_numbers(*numbers[-4:])))


def to_coordinates(position: Array) -> Array:
    """[translation,] rotation vector as [translation,] xyzw."""
    return np.concatenate([position[:-3], quaternion_from_vector(position[-3:])])
