# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Poses as NumPy values at the edges of the package: 7 numbers, position and xyzw."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldline._src.errors import ArgumentError
from worldline._src.linear_algebra import matmul, unit_vector
from worldline._src.masked import has_masked_entries

Array: TypeAlias = NDArray[np.float64]
VectorLike: TypeAlias = Sequence[float] | Array

IDENTITY = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
NO_POSE: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
"""The identity as plain numbers."""


def numbers(value: ArrayLike, shape: tuple[int, ...], what: str) -> Array:
    """A finite float array of the wanted shape, or an ArgumentError that says what came instead."""
    if type(value) is np.ndarray and value.shape == shape and value.dtype == np.float64 and value.size < 10:
        # plain floats: on arrays this small NumPy's overhead is ten times the arithmetic
        if all(map(math.isfinite, value.ravel().tolist())):
            return value.copy()
    array = float_array(value, what, _shaped(shape))
    if array.shape != shape:
        raise ArgumentError(f"{what} must be {_shaped(shape)}, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ArgumentError(f"{what} must be finite, got {array.tolist()}")
    return array


def float_array(value: Any, what: str, wanted: str = "numbers") -> Array:
    """Numbers as a new float64 array; what is no number, too large for one or masked is refused."""
    if has_masked_entries(value):
        raise ArgumentError(f"{what} must not have masked entries; fill them first, got {value!r}")
    try:
        made = np.asarray(value)
        if made.dtype.kind == "c" or (made.dtype.kind == "O" and np.iscomplexobj(value)):
            raise ArgumentError(f"{what} must be real, got complex numbers {value!r}")
        # NumPy reads texts as numbers, None as NaN and dates as nanoseconds
        if made.dtype.kind not in "biufO" or (made.dtype.kind == "O" and not all(map(_is_real, made.flat))):
            raise ArgumentError(f"{what} must be {wanted}, got {value!r}")
        return np.array(made, dtype=np.float64)
    except OverflowError:
        raise ArgumentError(f"{what} must be within the range of a float64, got larger numbers") from None
    except ArgumentError:
        raise
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{what} must be {wanted}, got {value!r}") from error


def flag_array(value: Any, what: str) -> np.ndarray:
    """True and False in an array of any shape; anything else, masked entries included, is refused."""
    if has_masked_entries(value):
        raise ArgumentError(f"{what} must not have masked entries itself; fill them first")
    try:
        made = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{what} must be booleans, got {value!r}") from error
    if made.dtype != np.bool_:
        raise ArgumentError(f"{what} must be booleans, got {made.dtype} {made.shape}")
    return made


def _is_real(item: object) -> bool:
    """Whether an object is a number that a float may stand for."""
    return isinstance(item, (Real, Decimal, np.bool_))


def read_only(made: np.ndarray) -> np.ndarray:
    """A copy that is handed out: writing into it raises, so that nobody takes it for the object itself."""
    made.setflags(write=False)
    return made


def _shaped(shape: tuple[int, ...]) -> str:
    return "a number" if shape == () else " x ".join(map(str, shape)) + " numbers"


def transform(value: VectorLike | None, what: str) -> Array:
    """A pose with a unit quaternion; None is the identity."""
    if value is None:
        return IDENTITY.copy()
    if type(value) is np.ndarray and value.shape == (7,) and value.dtype == np.float64:
        a, b, c, x, y, z, w = value.tolist()
        square = x * x + y * y + z * z + w * w
        # most poses are in order; the long way round normalizes, or finds the words
        if abs(square - 1.0) < 1e-14 and math.isfinite(a + b + c):
            return value.copy()
    pose = numbers(value, (7,), what)
    length = math.hypot(*pose[3:].tolist())
    if length < 1e-12:
        raise ArgumentError(f"{what} needs a quaternion (xyzw) that is not zero, got {pose.tolist()}")
    # a unit quaternion stays as it was given, to the last bit
    if abs(length - 1.0) > 1e-14:
        pose[3:] /= length
    return pose


def rotation(pose: Array) -> Array:
    """The 3x3 rotation matrix of a pose."""
    # plain floats: on arrays this small NumPy's overhead is ten times the arithmetic
    _, _, _, x, y, z, w = pose.tolist()
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
    row = unit_vector(row)
    return -row if row[3] < 0.0 else row


def _turned(q: tuple[float, ...], v: tuple[float, ...]) -> tuple[float, float, float]:
    """A vector turned by a quaternion xyzw."""
    x, y, z, w = q
    a, b, c = v
    d, e, f = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
    return (
        a + w * d + (y * f - z * e),
        b + w * e + (z * d - x * f),
        c + w * f + (x * e - y * d),
    )


def compose(a: Array, b: Array) -> Array:
    """The pose b seen from the frame a is seen from."""
    return np.array(composed(a.tolist(), b.tolist()))


def composed(a: Sequence[float], b: Sequence[float]) -> list[float]:
    """`compose` for plain numbers, of which whoever walks along a tree makes one array in the end."""
    px, py, pz, ax, ay, az, aw = a
    rx, ry, rz, bx, by, bz, bw = b
    if aw == 1.0 and ax == ay == az == 0.0:
        # most links and joints are not turned
        return [px + rx, py + ry, pz + rz, bx, by, bz, bw]
    # `_turned`, written out: this runs for every link, joint and shape of a scene
    d, e, f = 2.0 * (ay * rz - az * ry), 2.0 * (az * rx - ax * rz), 2.0 * (ax * ry - ay * rx)
    return [
        px + (rx + aw * d + (ay * f - az * e)),
        py + (ry + aw * e + (az * d - ax * f)),
        pz + (rz + aw * f + (ax * e - ay * d)),
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    ]


def inverse(a: Array) -> Array:
    """The pose of the outer frame in the inner one."""
    px, py, pz, x, y, z, w = a.tolist()
    rx, ry, rz = _turned((-x, -y, -z, w), (px, py, pz))
    return np.array([-rx, -ry, -rz, -x, -y, -z, w])


# many at once, for what is done to all links of a model


def cross(a: Array, b: Array) -> Array:
    """Cross products of rows, shape (n, 3)."""
    return a[:, [1, 2, 0]] * b[:, [2, 0, 1]] - a[:, [2, 0, 1]] * b[:, [1, 2, 0]]


def turned(R: Array, v: Array) -> Array:
    """Vectors (n, 3), each turned by its matrix (n, 3, 3)."""
    return matmul(R, v[:, :, None])[:, :, 0]


def rotations(poses: Array) -> Array:
    """The rotation matrices of poses (n, 7), shape (n, 3, 3)."""
    x, y, z, w = poses[:, 3:].T
    entries = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.array(entries).transpose(2, 0, 1)


def quaternions(R: Array) -> Array:
    """xyzw of rotation matrices (n, 3, 3), w >= 0, shape (n, 4)."""
    a, b, c = R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]
    d, e, f = R[:, 0, 1] + R[:, 1, 0], R[:, 0, 2] + R[:, 2, 0], R[:, 1, 2] + R[:, 2, 1]
    x, y, z = R[:, 0, 0], R[:, 1, 1], R[:, 2, 2]
    outer = np.array(
        [
            [1 + x - y - z, d, e, a],
            [d, 1 - x + y - z, f, b],
            [e, f, 1 - x - y + z, c],
            [a, b, c, 1 + x + y + z],
        ]
    )
    best = np.argmax(outer[[0, 1, 2, 3], [0, 1, 2, 3]], axis=0)
    rows = outer[best, :, np.arange(len(R))]
    rows = rows / np.sqrt(np.sum(rows * rows, axis=1))[:, None]
    return np.where(rows[:, 3:] < 0.0, -rows, rows)
