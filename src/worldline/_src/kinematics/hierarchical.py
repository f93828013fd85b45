# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics with strict priorities and bounds: a hierarchy of quadratic programs a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.kinematics.bound_rows import BOUND_TASKS, BoundRows, bound_rows
from worldline._src.kinematics.problems import bounds_of, columns_of, row_of, row_weights
from worldline._src.kinematics.quadratic_program import Level, lexicographic_least_squares
from worldline._src.kinematics.subjects import Subject
from worldline._src.kinematics.tasks import ClosureTask, Task
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array
from worldline._src.step.dynamics import integrate
from worldline._src.step.ik_problem import IkProblem, TaskRow

_LONGEST = 0.5
"""Most that a degree of freedom moves in a step [rad or m]."""
_GAIN = 1e-9
"""Least relative change of a cost that counts."""
_PATIENCE = 25
"""Steps without progress after which the search ends."""
_DAMPING = 1e-2
"""Damping of a level, as a share of its squared residual."""


def needs_hierarchy(tasks: Sequence[Task]) -> bool:
    """Whether tasks have several priorities, or bounds that only quadratic programs know."""
    special = any(isinstance(task, BOUND_TASKS[1:]) for task in tasks)
    return special or len({int(task.priority) for task in tasks}) > 1


def with_closures(
    subject: Subject, tasks: Sequence[Task], joints: Any, start: Array, wanted: bool, weight: float = 1.0
) -> list[Task]:
    """Tasks, and as further ones of the first priority the loop closures of joints that may move.

    Joints of such a closure may move in turn, so that its neighbours count as well.
    """
    if not isinstance(wanted, (bool, np.bool_)):
        raise ArgumentError(f"closures of inverse kinematics must be True or False, got {wanted!r}")
    made = list(tasks)
    asked = [task.closure for task in made if isinstance(task, ClosureTask)]
    others = {each: dofs for each, dofs in subject.closures().items() if wanted and each not in asked}
    while others:
        bodies = [bound_rows(subject, task).bodies() for task in made if isinstance(task, BOUND_TASKS)]
        rows = [row_of(subject, task, start) for task in made if not isinstance(task, BOUND_TASKS)]
        columns = set(columns_of(subject, rows, joints, bodies))
        found = [closure for closure, dofs in others.items() if columns & dofs]
        if not found:
            break
        first = min(int(task.priority) for task in made)
        for closure in found:
            made.append(ClosureTask(closure, weight, name=f"closure {closure.name}", priority=first))
            del others[closure]
    return made


class Standing(NamedTuple):
    """Tasks at some coordinates."""

    levels: list[Level]
    errors: Array
    """Norms of residuals and violations without weights, by task."""
    costs: list[float]
    """By level: how far required tasks are beyond their tolerances, and what the others cost."""


class Hierarchy:
    """Tasks of a subject by priority: compiled rows for those that have them, bounds beside."""

    def __init__(
        self, subject: Subject, tasks: Sequence[Task], joints: Any, start: Array, limits: bool
    ) -> None:
        model = subject.model
        self.model, self.tasks = model, tuple(tasks)
        self._bounds: dict[int, BoundRows] = {}
        self.rows: list[TaskRow] = []
        self._row_tasks: list[int] = []
        for k, task in enumerate(self.tasks):
            if isinstance(task, BOUND_TASKS):
                self._bounds[k] = bound_rows(subject, task)
            else:
                self.rows.append(row_of(subject, task, start))
                self._row_tasks.append(k)
        bodies = [rows.bodies() for rows in self._bounds.values()]
        self.columns = np.array(columns_of(subject, self.rows, joints, bodies))
        self.low, self.high = bounds_of(model, limits)
        self.problem = IkProblem(model, self.columns.tolist(), self.rows, self.low, self.high)
        self.coordinates = self.problem.coordinate_of(self.columns)
        self.priorities = sorted({int(task.priority) for task in self.tasks})

    def stand(
        self, q: Array, gain: float = 1.0, targets: Array | None = None, damping: float | None = None
    ) -> Standing:
        """Levels of the hierarchy at q for a step, or with a gain [1/s] for velocities."""
        n = len(self.columns)
        parts: dict[int, list[tuple[Array, Array, Array, Array]]] = {p: [] for p in self.priorities}
        errors = np.zeros(len(self.tasks))
        none = np.zeros((0, n)), np.zeros(0)
        if self.rows:
            given = None if targets is None else targets[None]
            r, J = (each[0] for each in self.problem.evaluate(q[None], given))
            at = 0
            for k, row, count in zip(self._row_tasks, self.rows, self.problem.row_counts, strict=True):
                part = slice(at, at + count)
                weight = row_weights(row, count, self.columns)
                used = weight > 0.0
                errors[k] = np.linalg.norm(r[part][used] / weight[used])
                parts[int(self.tasks[k].priority)].append((J[part], -gain * r[part], *none))
                at += count
        for k, bound in self._bounds.items():
            value, J = bound.values(q, self.columns)
            weight = float(self.tasks[k].weight[0])  # type: ignore[attr-defined]
            errors[k] = np.linalg.norm(np.minimum(value, 0.0))
            parts[int(self.tasks[k].priority)].append((*none, -weight * J, gain * weight * value))
        levels, costs = [], []
        for priority in self.priorities:
            A, b, C, d = (np.concatenate(block) for block in zip(*parts[priority], strict=True))
            own = float(b @ b) + float(np.sum(np.minimum(d, 0.0) ** 2))
            levels.append(Level(A, b, C, d, _DAMPING * own + 1e-12 if damping is None else damping))
            excess, pull = 0.0, 0.0
            for error, task in zip(errors, self.tasks, strict=True):
                if int(task.priority) != priority:
                    continue
                if task.tolerance is None:
                    pull += float(np.mean(task.weight)) * error**2  # type: ignore[attr-defined]
                else:
                    excess = max(excess, error / task.tolerance - 1.0)
            costs += [excess, pull]
        return Standing(levels, errors, costs)

    @property
    def has_bounds(self) -> bool:
        """Whether a task is a bound."""
        return bool(self._bounds)

    def row_of_task(self, index: int) -> int | None:
        """Where a task is among `rows`; None for a bound."""
        return self._row_tasks.index(index) if index in self._row_tasks else None

    def is_met(self, errors: Array) -> bool:
        """Whether all tasks that must be met are met."""
        return all(t.tolerance is None or e <= t.tolerance for e, t in zip(errors, self.tasks, strict=True))

    def ratio(self, errors: Array) -> float:
        """Largest ratio of error to tolerance."""
        ratios = [e / t.tolerance for e, t in zip(errors, self.tasks, strict=True) if t.tolerance is not None]
        return float(max(ratios, default=0.0))

    def clipped(self, q: Array) -> Array:
        """Coordinates moved into their bounds."""
        made, plain = q.copy(), self.coordinates >= 0
        at = self.coordinates[plain]
        low, high = self.low[self.columns][plain], self.high[self.columns][plain]
        made[at] = np.clip(q[at], low, high)
        return made

    def solve(self, start: Array, iterations: int) -> tuple[Array, int]:
        """Steps of the hierarchy from a start until nothing gets better; the best coordinates, and steps."""
        plain = self.coordinates >= 0
        low, high = self.low[self.columns], self.high[self.columns]
        q = self.clipped(start)
        best, best_costs, waited = q, None, 0
        for count in range(iterations):
            standing = self.stand(q)
            if best_costs is None or is_better(standing.costs, best_costs):
                best, best_costs, waited = q, standing.costs, 0
            else:
                waited += 1
            if waited > _PATIENCE or (self.is_met(standing.errors) and not any(standing.costs)):
                return best, count
            at = np.where(plain, q[self.coordinates], 0.0)
            least = np.maximum(np.where(plain, low - at, -np.inf), -_LONGEST)
            most = np.minimum(np.where(plain, high - at, np.inf), _LONGEST)
            step = lexicographic_least_squares(standing.levels, least, most)
            if np.abs(step).max(initial=0.0) < 1e-13:
                return best, count + 1
            move = np.zeros(self.model.joint_dof_count)
            move[self.columns] = step
            q = self.clipped(integrate(self.model, q, move))
        return best, iterations


def is_better(costs: list[float], than: list[float]) -> bool:
    """Whether costs are lower, the first that differs decides."""
    for a, b in zip(costs, than, strict=True):
        if a < b * (1.0 - _GAIN) - 1e-15:
            return True
        if a > b * (1.0 + _GAIN) + 1e-15:
            return False
    return False
