# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A serial chain of hinges as a product of exponentials: axes in the world with all angles at zero."""

from __future__ import annotations

import numpy as np

from worldline._src.kinematics.subproblems import cross, rotation_about
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array

_MEETING = 1e-4
"""Axes closer than this share of the arm's length meet, and directions closer than this angle are parallel:
what files round. Newton's method then finds the angles of the axes as they are."""
_EXACT = 1e-15
"""Error of a pose, as a share of the length, below which Newton's method ends."""


class ScrewChain(NamedTuple):
    """T(q) = exp(S_1 q_1) ... exp(S_n q_n) M, where S_k turns about axis k [Brockett 1984]."""

    h: Array
    """Unit vectors of the axes, (n, 3)."""
    p: Array
    """Points on the axes [m], (n, 3)."""
    M: Array
    """Pose of the tool at zero angles, 4x4."""

    @property
    def count(self) -> int:
        return len(self.h)

    @property
    def length(self) -> float:
        """A length to compare with [m]."""
        points = np.vstack([self.p, self.M[:3, 3]])
        return max(float(np.linalg.norm(np.ptp(points, axis=0))), 1e-9)

    def turn(self, k: int, angle: float) -> Array:
        """exp(S_k angle), 4x4."""
        T = np.eye(4)
        T[:3, :3] = rotation_about(self.h[k], angle)
        T[:3, 3] = self.p[k] - T[:3, :3] @ self.p[k]
        return T

    def product(self, angles: Array, first: int = 0) -> Array:
        """Product of the exponentials of as many joints as there are angles, from the first on."""
        T = np.eye(4)
        for k, angle in enumerate(angles):
            T = T @ self.turn(first + k, float(angle))
        return T

    def part(self, first: int, last: int) -> ScrewChain:
        """The joints from first to last, without it."""
        return ScrewChain(self.h[first:last], self.p[first:last], self.M)

    def reversed(self) -> ScrewChain:
        """The chain whose product is the inverse of this one, its angles in reverse order."""
        return ScrewChain(-self.h[::-1], self.p[::-1], self.M)

    def meeting_point(self, first: int, last: int) -> Array | None:
        """The point that the axes from first to last share, or None; by least squares of the distances."""
        h, p = self.h[first:last], self.p[first:last]
        A = sum((np.eye(3) - np.outer(a, a) for a in h), np.zeros((3, 3)))
        if np.linalg.eigvalsh(A)[0] < _MEETING:
            return None
        b = sum(((np.eye(3) - np.outer(a, a)) @ x for a, x in zip(h, p, strict=True)), np.zeros(3))
        point = np.asarray(np.linalg.solve(A, b), np.float64)
        gaps = [np.linalg.norm(cross(a, point - x)) for a, x in zip(h, p, strict=True)]
        return point if max(gaps) <= _MEETING * self.length else None

    def are_parallel(self, first: int, last: int) -> bool:
        """Whether the axes from first to last have one direction."""
        return all(np.linalg.norm(cross(self.h[first], a)) <= _MEETING for a in self.h[first:last])

    def polished(
        self, angles: Array, goal: Array, point: Array | None, steps: int = 8
    ) -> tuple[Array, float]:
        """Angles after steps of Newton's method towards a goal, and the error that is left, entry by entry.

        The goal is the pose of the tool, or with a point, which is given at zero angles, its position.
        """
        best, error = angles, np.inf
        for _ in range(steps):
            axes, points, T = self._moved(angles)
            if point is None:
                T = T @ self.M
                at, gap = T[:3, 3], goal - T
                r = np.concatenate([_turn_between(T[:3, :3], goal[:3, :3]), gap[:3, 3]])
            else:
                at = T[:3, :3] @ point + T[:3, 3]
                r = gap = goal - at
            now = float(np.abs(gap).max())
            if now >= error:
                break
            best, error = angles, now
            if now < _EXACT * self.length:
                break
            J = np.cross(axes, at - points)
            J = J.T if point is not None else np.vstack([axes.T, J.T])
            angles = angles + np.linalg.lstsq(J, r, rcond=1e-9)[0]
        return best, error

    def _moved(self, angles: Array) -> tuple[Array, Array, Array]:
        """Directions and points of the axes at angles, and the product of all exponentials."""
        T, axes, points = np.eye(4), [], []
        for k, angle in enumerate(angles.tolist()):
            axes.append(T[:3, :3] @ self.h[k])
            points.append(T[:3, :3] @ self.p[k] + T[:3, 3])
            T = T @ self.turn(k, angle)
        return np.array(axes), np.array(points), T


def _turn_between(R: Array, goal: Array) -> Array:
    """Axis times sine of the angle of the turn from R to a goal close to it, world axes."""
    E = goal @ R.T
    return 0.5 * np.array((E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]))
