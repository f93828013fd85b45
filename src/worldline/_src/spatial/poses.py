# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Poses as NumPy values at the edges of the package: 7 numbers, position and xyzw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from worldline._src.errors import ArgumentError

Array: TypeAlias = NDArray[np.float64]
VectorLike: TypeAlias = Sequence[float] | Array

IDENTITY = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


def numbers(value: VectorLike, shape: tuple[int, ...], what: str) -> Array:
    """A finite float array of the wanted shape, or an ArgumentError that says what came instead."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{what} must be {_shaped(shape)}, got {value!r}") from error
    if array.shape != shape:
        raise ArgumentError(f"{what} must be {_shaped(shape)}, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ArgumentError(f"{what} must be finite, got {array.tolist()}")
    return array


def _shaped(shape: tuple[int, ...]) -> str:
    return "a number" if shape == () else " x ".join(map(str, shape)) + " numbers"


def transform(value: VectorLike | None, what: str) -> Array:
    """A pose with a unit quaternion; None is the identity."""
    if value is None:
        return IDENTITY.copy()
    pose = numbers(value, (7,), what)
    length = float(np.linalg.norm(pose[3:]))
    if length < 1e-12:
        raise ArgumentError(f"{what} needs a quaternion (xyzw) that is not zero, got {pose.tolist()}")
    pose[3:] /= length
    return pose


def rotation(pose: Array) -> Array:
    """The 3x3 rotation matrix of a pose."""
    x, y, z, w = pose[3:]
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion(R: Array) -> Array:
    """xyzw of a rotation matrix, w >= 0; the largest component is the divisor."""
    # 4 times the outer product of the quaternion with itself, from the entries of the matrix
    a, b, c = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    d, e, f = R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1]
    x, y, z = R[0, 0], R[1, 1], R[2, 2]
    outer = np.array(
        [
            [1 + x - y - z, d, e, a],
            [d, 1 - x + y - z, f, b],
            [e, f, 1 - x - y + z, c],
            [a, b, c, 1 + x + y + z],
        ]
    )
    row = outer[int(np.argmax(np.diagonal(outer)))]
    row = row / np.linalg.norm(row)
    return -row if row[3] < 0.0 else row


def quaternion_product(a: Array, b: Array) -> Array:
    """xyzw of the rotation b followed by a."""
    v = a[3] * b[:3] + b[3] * a[:3] + np.cross(a[:3], b[:3])
    return np.append(v, a[3] * b[3] - a[:3] @ b[:3])


def compose(a: Array, b: Array) -> Array:
    """The pose b seen from the frame a is seen from."""
    return np.concatenate([a[:3] + rotation(a) @ b[:3], quaternion_product(a[3:], b[3:])])


def inverse(a: Array) -> Array:
    """The pose of the outer frame in the inner one."""
    back = np.array([-a[3], -a[4], -a[5], a[6]])
    return np.concatenate([-rotation(a).T @ a[:3], back])
