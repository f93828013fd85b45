# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Differences and sums of flat states in which some numbers are rotations.

A state is plain numbers, unit quaternions (xyzw) and rotation vectors side by side. Tangents have one number
per degree of freedom; a rotation's tangent is a rotation vector in the turned axes, as angular velocities of
ball and free joints are.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

import numpy as np

from worldline._src.spatial.poses import Array


class Piece(Enum):
    """What a run of numbers of a state is: how many numbers, how many freedoms."""

    NUMBER = (1, 1)
    QUATERNION = (4, 3)
    ROTATION_VECTOR = (3, 3)


class Manifold:
    """Which numbers of a flat state are what; made from its pieces in order."""

    def __init__(self, pieces: Iterable[Piece]) -> None:
        rows: dict[Piece, tuple[list[range], list[range]]] = {piece: ([], []) for piece in Piece}
        x = t = 0
        for piece in pieces:
            size, freedoms = piece.value
            rows[piece][0].append(range(x, x + size))
            rows[piece][1].append(range(t, t + freedoms))
            x, t = x + size, t + freedoms
        self.dimension, self.tangent_dimension = x, t
        self.numbers, self._dnumbers = _rows(rows[Piece.NUMBER], 1, 1)
        self.quaternions, self._dquaternions = _rows(rows[Piece.QUATERNION], 4, 3)
        self.vectors, self._dvectors = _rows(rows[Piece.ROTATION_VECTOR], 3, 3)

    @property
    def rotations(self) -> np.ndarray:
        """Numbers of a tangent that are rotations, (rotations, 3)."""
        return np.concatenate([self._dquaternions.reshape(-1, 3), self._dvectors.reshape(-1, 3)])

    def freedoms(self, part: slice) -> int:
        """Numbers of a tangent that belong to a run of whole pieces."""
        kinds = ((self.numbers, 1), (self.quaternions, 3), (self.vectors, 3))
        return sum(n * int(((x[:, 0] >= part.start) & (x[:, 0] < part.stop)).sum()) for x, n in kinds)

    def difference(self, a: Array, b: Array) -> Array:
        """The shortest tangent that leads from `a` to `b`."""
        made = np.empty(self.tangent_dimension)
        made[self._dnumbers] = b[self.numbers] - a[self.numbers]
        if len(self.quaternions):
            made[self._dquaternions] = log(multiply(conjugate(a[self.quaternions]), b[self.quaternions]))
        if len(self.vectors):
            made[self._dvectors] = log(multiply(conjugate(exp(a[self.vectors])), exp(b[self.vectors])))
        return made

    def basis(self, x: Array) -> Array:
        """Derivative of `integrate` by the tangent where it is zero, (dimension, tangent dimension)."""
        made = np.zeros((self.dimension, self.tangent_dimension))
        made[self.numbers[:, 0], self._dnumbers[:, 0]] = 1.0
        for rows, columns in zip(self.quaternions, self._dquaternions, strict=True):
            # q (r, 0) / 2
            a, b, c, w = x[rows]
            made[np.ix_(rows, columns)] = 0.5 * np.array([[w, -c, b], [c, w, -a], [-b, a, w], [-a, -b, -c]])
        for rows, columns in zip(self.vectors, self._dvectors, strict=True):
            made[np.ix_(rows, columns)] = inverse_right_jacobian(x[rows])
        return made

    def integrate(self, x: Array, tangent: Array) -> Array:
        """Where `tangent` leads from `x`; quaternions stay unit."""
        made = np.empty(self.dimension)
        made[self.numbers] = x[self.numbers] + tangent[self._dnumbers]
        if len(self.quaternions):
            turned = multiply(x[self.quaternions], exp(tangent[self._dquaternions]))
            made[self.quaternions] = turned / np.linalg.norm(turned, axis=-1, keepdims=True)
        if len(self.vectors):
            made[self.vectors] = log(multiply(exp(x[self.vectors]), exp(tangent[self._dvectors])))
        return made


def _rows(found: tuple[list[range], list[range]], size: int, freedoms: int) -> tuple[np.ndarray, np.ndarray]:
    x = np.array(found[0], np.int64).reshape(-1, size)
    t = np.array(found[1], np.int64).reshape(-1, freedoms)
    return x, t


def multiply(a: Array, b: Array) -> Array:
    """Products of quaternions, (n, 4) each."""
    ax, ay, az, aw = a.T
    bx, by, bz, bw = b.T
    return np.stack(
        (
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        ),
        axis=-1,
    )


def conjugate(q: Array) -> Array:
    """Inverses of unit quaternions, (n, 4)."""
    return q * (-1.0, -1.0, -1.0, 1.0)


def exp(r: Array) -> Array:
    """Quaternions of rotation vectors, (n, 3) to (n, 4)."""
    angle = np.linalg.norm(r, axis=-1, keepdims=True)
    # np.sinc is sin(pi x) / (pi x), without a hole at zero
    return np.concatenate((0.5 * np.sinc(angle / (2.0 * np.pi)) * r, np.cos(0.5 * angle)), axis=-1)


def log(q: Array) -> Array:
    """Rotation vectors of unit quaternions, of at most half a turn, (n, 4) to (n, 3)."""
    q = np.where(q[..., 3:] < 0.0, -q, q)
    s = np.linalg.norm(q[..., :3], axis=-1, keepdims=True)
    small = s < 1e-12
    scale = np.where(small, 2.0, 2.0 * np.arctan2(s, q[..., 3:]) / np.where(small, 1.0, s))
    return scale * q[..., :3]


def inverse_right_jacobian(r: Array) -> Array:
    """Derivative of log(exp(r) exp(d)) by d at zero, with t = |r|:

    1 + [r] / 2 + (1 / t^2 - (1 + cos t) / (2 t sin t)) [r]^2.
    """
    angle = float(np.linalg.norm(r))
    X = np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])
    c = 1.0 / 12.0
    if angle > 1e-4:
        c = 1.0 / angle**2 - (1.0 + np.cos(angle)) / (2.0 * angle * np.sin(angle))
    return np.eye(3) + 0.5 * X + c * X @ X
