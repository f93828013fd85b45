# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rotations as readers and assets need them; quaternions are xyzw."""

from __future__ import annotations

import math

import numpy as np

from worldline._src.linear_algebra import unit_vector
from worldline._src.scene.vectors import Array

Row = tuple[float, float, float]


def rotation_matrix(rotation: Array) -> Array:
    """The matrix of a quaternion of any length but zero."""
    return np.array(rotation_rows(rotation))


def rotation_rows(rotation: Array) -> tuple[Row, Row, Row]:
    """The same as plain floats: on arrays this small NumPy's overhead is ten times the arithmetic."""
    x, y, z, w = rotation.tolist()
    norm = math.hypot(x, y, z, w)
    if not norm > 0.0:
        return (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    x, y, z, w = x / norm, y / norm, z / norm, w / norm
    return (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)),
        (2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)),
        (2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)),
    )


def z_axis(rotation: Array) -> Row:
    """The last column of the matrix of a quaternion of any length but zero."""
    x, y, z, w = rotation.tolist()
    square = x * x + y * y + z * z + w * w
    if not square > 0.0:
        return 0.0, 0.0, 1.0
    two = 2.0 / square
    return two * (x * z + y * w), two * (y * z - x * w), 1.0 - two * (x * x + y * y)


def quaternion(matrix: Array) -> Array:
    """The quaternion of a rotation matrix, with w >= 0.

    The largest of the four parts is found first and the others follow from it, so that no angle
    divides by a small number.
    """
    m = matrix
    squares = np.array(
        [
            1.0 + m[0, 0] - m[1, 1] - m[2, 2],
            1.0 - m[0, 0] + m[1, 1] - m[2, 2],
            1.0 - m[0, 0] - m[1, 1] + m[2, 2],
            1.0 + m[0, 0] + m[1, 1] + m[2, 2],
        ]
    )
    largest = int(np.argmax(squares))
    products = np.array(
        [
            [squares[0], m[0, 1] + m[1, 0], m[0, 2] + m[2, 0], m[2, 1] - m[1, 2]],
            [m[0, 1] + m[1, 0], squares[1], m[1, 2] + m[2, 1], m[0, 2] - m[2, 0]],
            [m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], squares[2], m[1, 0] - m[0, 1]],
            [m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], squares[3]],
        ]
    )
    row = products[largest]
    found = unit_vector(row)
    return -found if found[3] < 0.0 else found


def from_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """The quaternion of a roll about x, then a pitch about y, then a yaw about z, all about fixed axes."""
    sr, cr = math.sin(0.5 * roll), math.cos(0.5 * roll)
    sp, cp = math.sin(0.5 * pitch), math.cos(0.5 * pitch)
    sy, cy = math.sin(0.5 * yaw), math.cos(0.5 * yaw)
    return np.array(
        [
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
            cr * cp * cy + sr * sp * sy,
        ]
    )
