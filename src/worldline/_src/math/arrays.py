# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of operands: leading dimensions are free, the last ones have a fixed shape."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from worldline._src.errors import ArgumentError
from worldline._src.spatial.poses import Array, float_array

_ORTHONORMAL = 1e-6
"""How far R^T R may be from the identity in any entry."""


def operand(value: ArrayLike, core: tuple[int, ...], what: str) -> Array:
    """A new float64 array whose last dimensions are `core`; a wrong shape or type is refused."""
    array = float_array(value, what)
    n = len(core)
    if array.ndim < n or array.shape[array.ndim - n :] != core:
        sizes = ", ".join(map(str, core))
        raise ArgumentError(f"{what} must have shape (..., {sizes}), got {array.shape}")
    return array


def together(first: Array, second: Array, cores: tuple[int, int], what: str) -> tuple[Array, Array]:
    """Two operands with equal leading dimensions; `cores` says how many dimensions at the end are kept."""
    a, b = first.ndim - cores[0], second.ndim - cores[1]
    try:
        lead = np.broadcast_shapes(first.shape[:a], second.shape[:b])
    except ValueError:
        raise ArgumentError(
            f"{what}: leading dimensions {first.shape[:a]} and {second.shape[:b]} do not broadcast"
        ) from None
    return (
        np.broadcast_to(first, (*lead, *first.shape[a:])),
        np.broadcast_to(second, (*lead, *second.shape[b:])),
    )


def unit_quaternion(value: ArrayLike, what: str = "quaternion") -> Array:
    """Quaternions xyzw of length 1, (..., 4)."""
    q = operand(value, (4,), what)
    length = np.linalg.norm(q, axis=-1, keepdims=True)
    if (length < 1e-12).any():
        raise ArgumentError(f"{what} (xyzw) must not be zero, got {q.tolist()}")
    return q / length


def unit_vector(value: ArrayLike, what: str) -> Array:
    """Vectors of length 1, (..., 3)."""
    v = operand(value, (3,), what)
    length = np.linalg.norm(v, axis=-1, keepdims=True)
    if (length < 1e-150).any():
        raise ArgumentError(f"{what} must not be zero, got {v.tolist()}")
    return v / length


def rotation_matrix(value: ArrayLike, what: str = "rotation matrix") -> Array:
    """Rotation matrices (..., 3, 3), refused when not orthonormal to 1e-6 or with determinant -1."""
    R = operand(value, (3, 3), what)
    _require_rotation(R, what)
    return R


def transform_matrix(value: ArrayLike, what: str = "transform") -> Array:
    """Homogeneous transforms (..., 4, 4), refused when not rigid."""
    T = operand(value, (4, 4), what)
    last: Any = T[..., 3, :] != np.array([0.0, 0.0, 0.0, 1.0])
    if last.any():
        raise ArgumentError(f"{what} must have the last row 0 0 0 1, got {T[..., 3, :].tolist()}")
    _require_rotation(T[..., :3, :3], f"rotation of {what}")
    return T


def _require_rotation(R: Array, what: str) -> None:
    error = np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3))
    if (error > _ORTHONORMAL).any():
        raise ArgumentError(
            f"{what} must be orthonormal to {_ORTHONORMAL}, R^T R is {error.max():.3g} away from the "
            "identity; nearest_rotation makes it so"
        )
    if (np.linalg.det(R) < 0.0).any():
        raise ArgumentError(f"{what} must have determinant 1, this one mirrors")
