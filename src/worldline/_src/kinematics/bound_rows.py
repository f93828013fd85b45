# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Tasks that are bounds: values that must not become negative, and their derivatives.

They are evaluated beside the compiled rows of the other tasks, and enter quadratic programs as inequalities.
"""

from __future__ import annotations

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.kinematics.clearance import Clearance, body_flags
from worldline._src.kinematics.subjects import Subject, WorldSubject
from worldline._src.kinematics.tasks import (
    BalanceTask,
    ManipulabilityTask,
    ObstacleTask,
    SelfCollisionTask,
    Task,
)
from worldline._src.spatial.poses import Array, rotation
from worldline._src.step.dynamics import (
    center_of_mass,
    center_of_mass_jacobian,
    forward_kinematics,
    integrate,
)
from worldline._src.step.jacobians import jacobian

BOUND_TASKS = (BalanceTask, ObstacleTask, SelfCollisionTask, ManipulabilityTask)
_STRIDE = 1e-5
"""Half the stride of central differences of the manipulability [rad or m]."""


class BoundRows:
    """Values of a task that must not become negative."""

    def bodies(self) -> set[int]:
        """Bodies whose joints the task depends on; empty for all."""
        return set()

    def values(self, q: Array, columns: np.ndarray) -> tuple[Array, Array]:
        """Values (k,) at coordinates q and their derivatives by the columns, (k, columns)."""
        raise NotImplementedError


class _Balance(BoundRows):
    """Distances of the centre of mass from the edges of a support polygon [m]."""

    def __init__(self, subject: Subject, task: BalanceTask) -> None:
        if not np.any(subject.model.body_mass > 0.0):
            raise ArgumentError("a balance task needs bodies with mass; there are none")
        self._model, self._edges = subject.model, task.edges

    def values(self, q: Array, columns: np.ndarray) -> tuple[Array, Array]:
        normal, offset = self._edges[:, :2], self._edges[:, 2]
        J = center_of_mass_jacobian(self._model, q)[:2, columns]
        return offset - normal @ center_of_mass(self._model, q)[:2], -normal @ J


class _Distances(BoundRows):
    """Distances of pairs of shapes beyond the one that is kept [m]."""

    def __init__(self, subject: Subject, task: ObstacleTask | SelfCollisionTask) -> None:
        if not isinstance(subject, WorldSubject):
            raise ArgumentError("tasks of distances need a World; a Model has no queries of its shapes")
        self._model, self._task = subject.model, task
        if isinstance(task, ObstacleTask):
            self._first = body_flags(subject, task.bodies, "bodies of an obstacle task")
            self._second = ~self._first
            if task.obstacles is not None:
                self._second = body_flags(subject, task.obstacles, "obstacles of an obstacle task")
        else:
            self._first = self._second = body_flags(subject, task.multibody, "multibody of a task")
        self._clearance = Clearance(subject)
        self._require_shapes()

    def _require_shapes(self) -> None:
        """Refuse bodies and obstacles between which there is no distance."""
        task, shaped = self._task, self._clearance.shaped
        what = "bodies of an obstacle task" if isinstance(task, ObstacleTask) else "multibody of a task"
        first, second = self._first & shaped, self._second & shaped
        if not first.any():
            raise ArgumentError(f"{what} must have collision shapes; there are none")
        if isinstance(task, SelfCollisionTask) and first.sum() == 1:
            raise ArgumentError(f"{what} must have collision shapes on two links, got one link with shapes")
        if isinstance(task, ObstacleTask) and task.obstacles is not None:
            # one body with itself is no pair
            if not second.any() or (first.sum() == 1 and np.array_equal(first, second)):
                raise ArgumentError(
                    "obstacles of an obstacle task must be other bodies with collision shapes"
                )

    def bodies(self) -> set[int]:
        return set(np.flatnonzero(self._first[:-1]).tolist())

    def values(self, q: Array, columns: np.ndarray) -> tuple[Array, Array]:
        task, model = self._task, self._model
        self._clearance.place(q)
        near = self._clearance.near(task.distance + task.reach, self._first, self._second)
        J = np.zeros((len(near.distance), len(columns)))
        X = forward_kinematics(model, q)
        for k in range(len(J)):
            # d = n (p_b - p_a), whose points move with their bodies
            for sign, body, point in (
                (-1.0, near.body_a[k], near.point_a[k]),
                (1.0, near.body_b[k], near.point_b[k]),
            ):
                if body >= 0:
                    local = rotation(X[body]).T @ (point - X[body, :3])
                    J[k] += sign * near.normal[k] @ jacobian(model, q, int(body), local)[3:, columns]
        return near.distance - task.distance, J


class _Manipulability(BoundRows):
    """The manipulability of a frame beyond the least that is kept."""

    def __init__(self, subject: Subject, task: ManipulabilityTask) -> None:
        self._model, self._task = subject.model, task
        self._body, self._X = subject.frame(task.frame, "frame of a manipulability task")
        if self._body < 0:
            raise ArgumentError("a manipulability task needs a frame that moves")

    def bodies(self) -> set[int]:
        return {self._body}

    def measure(self, q: Array, columns: np.ndarray) -> Array:
        """sqrt(det J J^T) at coordinates (n, nq)."""
        part = {"pose": slice(0, 6), "orientation": slice(0, 3), "position": slice(3, 6)}[self._task.rows]
        J = jacobian(self._model, q, self._body, self._X[:3], lanes=1)[:, part][:, :, columns]
        return np.sqrt(np.maximum(np.linalg.det(J @ J.transpose(0, 2, 1)), 0.0))

    def values(self, q: Array, columns: np.ndarray) -> tuple[Array, Array]:
        n, model = len(columns), self._model
        moves = np.zeros((2 * n + 1, model.joint_dof_count))
        moves[np.arange(n), columns] = _STRIDE
        moves[np.arange(n) + n, columns] = -_STRIDE
        around = integrate(model, np.tile(q, (2 * n + 1, 1)), moves, lanes=1)
        m = self.measure(around, columns)
        return m[-1:] - self._task.least, ((m[:n] - m[n : 2 * n]) / (2.0 * _STRIDE))[None]


def bound_rows(subject: Subject, task: Task) -> BoundRows:
    """The rows of a task that is a bound."""
    if isinstance(task, BalanceTask):
        return _Balance(subject, task)
    if isinstance(task, ManipulabilityTask):
        return _Manipulability(subject, task)
    assert isinstance(task, (ObstacleTask, SelfCollisionTask))
    return _Distances(subject, task)
