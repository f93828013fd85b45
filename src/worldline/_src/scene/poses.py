# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The little rigid-body geometry that composing scenes needs; quaternions are xyzw."""

from __future__ import annotations

from typing import Final

import numpy as np

from worldline._src.linear_algebra import unit_vector
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.vectors import Array


class Pose(NamedTuple):
    """A rotation and then a translation."""

    position: Array
    rotation: Array

    def __mul__(self, other: Pose) -> Pose:  # type: ignore[override]
        """The other pose, seen from where this one is seen from."""
        return Pose(self.apply(other.position), multiply(self.rotation, other.rotation))

    def apply(self, point: Array) -> Array:
        """A point in the frame of this pose, seen from where the pose is seen from."""
        # sums of Python floats, which overflow without a warning
        both = zip(self.position.tolist(), self.turn(point).tolist(), strict=True)
        return np.array([a + b for a, b in both])

    def turn(self, vector: Array) -> Array:
        """A direction in the frame of this pose, seen from where the pose is seen from."""
        x, y, z, w = self.rotation.tolist()
        a, b, c = vector.tolist()
        # twice the cross product of axis and vector
        d, e, f = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
        return np.array(
            (a + w * d + (y * f - z * e), b + w * e + (z * d - x * f), c + w * f + (x * e - y * d))
        )

    def inverse(self) -> Pose:
        """Where the pose is seen from, seen from it."""
        back = self.rotation * (-1.0, -1.0, -1.0, 1.0)
        return Pose(-Pose(np.zeros(3), back).turn(self.position), back)


def multiply(a: Array, b: Array) -> Array:
    """The rotation b followed by a."""
    ax, ay, az, aw = a.tolist()
    bx, by, bz, bw = b.tolist()
    return np.array(
        (
            aw * bx + bw * ax + ay * bz - az * by,
            aw * by + bw * ay + az * bx - ax * bz,
            aw * bz + bw * az + ax * by - ay * bx,
            aw * bw - ax * bx - ay * by - az * bz,
        )
    )


def normalized(rotation: Array) -> Array:
    """The quaternion at unit length."""
    # over the largest first, since squares of very large or small numbers are out of range
    scaled = rotation / abs(rotation).max()
    return unit_vector(scaled)


IDENTITY: Final = Pose(np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))
