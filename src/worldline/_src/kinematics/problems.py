# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From tasks on a World or a Model to rows of a problem, its columns and its bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.facade import values
from worldline._src.kinematics import tasks
from worldline._src.kinematics.subjects import Subject
from worldline._src.model.model import Model
from worldline._src.model.topology import chain_dofs
from worldline._src.spatial.poses import IDENTITY, Array, compose, numbers, quaternion
from worldline._src.step import ik_problem as ik
from worldline._src.step.ik_problem import TaskRow


def _at(point: Array, turn: Array | None = None) -> Array:
    return np.concatenate([point, IDENTITY[3:] if turn is None else turn])


def _goal(subject: Subject, task: Any, pose: Array, what: str) -> tuple[int, Array]:
    """Body and pose in it of a goal that is given in the reference of a task."""
    if task.reference is None:
        return -1, pose
    body, X = subject.frame(task.reference, f"reference of {what}")
    return body, compose(X, pose)


def row_of(subject: Subject, task: tasks.Task, start: Array) -> TaskRow:
    """A task as the kernels know it."""
    if isinstance(task, tasks.PoseTask):
        a, X = subject.frame(task.frame, "frame of a pose task")
        b, goal = _goal(subject, task, task.target, "a pose task")
        return TaskRow(
            ik.POSE, a, compose(X, task.offset), b, goal, tuple(task.weight), tolerance=task.tolerance
        )
    if isinstance(task, tasks.PositionTask):
        a, X = subject.frame(task.frame, "frame of a position task")
        b, goal = _goal(subject, task, _at(task.target), "a position task")
        X = compose(X, _at(task.point))
        return TaskRow(ik.POSITION, a, X, b, goal, tuple(task.weight), tolerance=task.tolerance)
    if isinstance(task, tasks.OrientationTask):
        a, X = subject.frame(task.frame, "frame of an orientation task")
        b, goal = _goal(subject, task, _at(np.zeros(3), task.target), "an orientation task")
        return TaskRow(ik.ORIENTATION, a, X, b, goal, tuple(task.weight), tolerance=task.tolerance)
    if isinstance(task, tasks.LookAtTask):
        a, X = subject.frame(task.frame, "frame of a look-at task")
        b, goal = _goal(subject, task, _at(task.target), "a look-at task")
        X = compose(X, _at(task.origin, _turn_z_to(task.axis)))
        return TaskRow(ik.LOOK_AT, a, X, b, goal, tuple(task.weight), tolerance=task.tolerance)
    if isinstance(task, tasks.CenterOfMassTask):
        if not np.any(subject.model.body_mass > 0.0):
            raise ArgumentError("a centre-of-mass task needs bodies with mass; there are none")
        target = _at(task.target)
        return TaskRow(ik.CENTER_OF_MASS, target=target, weight=tuple(task.weight), tolerance=task.tolerance)
    if isinstance(task, tasks.BalanceTask):
        if not np.any(subject.model.body_mass > 0.0):
            raise ArgumentError("a balance task needs bodies with mass; there are none")
        return TaskRow(ik.POLYGON, weight=tuple(task.weight), tolerance=task.tolerance, edges=task.edges)
    if isinstance(task, tasks.PostureTask):
        return _posture_row(subject.model, task, start)
    if isinstance(task, tasks.CouplingTask):
        first = _coordinate(subject, task.joint)
        second = -1 if task.other is None else _coordinate(subject, task.other)
        own = (task.ratio, task.offset)
        return TaskRow(
            ik.COUPLING, first, IDENTITY, second, weight=tuple(task.weight), own=own, tolerance=task.tolerance
        )
    if isinstance(task, tasks.ClosureTask):
        row, weight = subject.closure(task.closure), float(task.weight[0])  # type: ignore[index]
        # rows that the family of the closure leaves free have no weight
        return row._replace(weight=tuple(weight * own for own in row.weight), tolerance=task.tolerance)
    raise ArgumentError(f"tasks must be tasks of worldline.kinematics, got {task!r}")


def _turn_z_to(axis: Array) -> Array:
    """A quaternion that turns the z axis into a unit vector."""
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = np.cross(helper, axis)
    x /= np.linalg.norm(x)
    return quaternion(np.column_stack([x, np.cross(axis, x), axis]))


def _posture_row(model: Model, task: tasks.PostureTask, start: Array) -> TaskRow:
    nq, nv = model.joint_coord_count, model.joint_dof_count
    target = start if task.target is None else numbers(task.target, (nq,), "target of a posture task")
    weight = tasks.weights_of(task.weight, nv, "weight of a posture task")
    return TaskRow(ik.POSTURE, tolerance=task.tolerance, posture=target, posture_weight=weight)


def _coordinate(subject: Subject, joint: Any) -> int:
    """The coordinate of a joint of one degree of freedom."""
    model, j = subject.model, subject.joint(joint, "joint of a coupling task")
    if model.joint_qd_start[j + 1] - model.joint_qd_start[j] != 1:
        count = int(model.joint_qd_start[j + 1] - model.joint_qd_start[j])
        raise ArgumentError(
            f"a coupling task needs joints of one degree of freedom; '{model.joint_label[j]}' has {count}"
        )
    return int(model.joint_q_start[j])


def columns_of(
    subject: Subject, rows: Sequence[TaskRow], joints: Any, bodies: Sequence[set[int]] = ()
) -> list[int]:
    """Degrees of freedom that may move: those of joints, or all that a task or one of sets of bodies depends
    on; an empty set is all bodies."""
    model = subject.model
    if joints is not None:
        found: set[int] = set()
        for j in subject.joints(joints):
            found |= set(range(int(model.joint_qd_start[j]), int(model.joint_qd_start[j + 1])))
        if not found:
            raise ArgumentError("the joints of inverse kinematics have no degree of freedom")
        return sorted(found)
    moved = ~np.repeat(model.body_kinematic[model.joint_child], np.diff(model.joint_qd_start))
    found = set()
    for row in rows:
        if row.kind in (ik.CENTER_OF_MASS, ik.POLYGON):
            found |= set(range(model.joint_dof_count))
        elif row.kind == ik.COUPLING:
            found |= {_velocity(model, q) for q in (row.a, row.b) if q >= 0}
        elif row.kind != ik.POSTURE:
            found |= chain_dofs(model, row.a) | chain_dofs(model, row.b)
    for some in bodies:
        found |= set(range(model.joint_dof_count)) if not some else set()
        for body in some:
            found |= chain_dofs(model, body)
    if not found:
        found = set(range(model.joint_dof_count))
    columns = sorted(d for d in found if moved[d])
    if not columns:
        raise ArgumentError(
            "nothing that the tasks depend on can move; every joint there is fixed or kinematic"
        )
    return columns


def _velocity(model: Model, coordinate: int) -> int:
    j = int(np.searchsorted(model.joint_q_start, coordinate, side="right")) - 1
    return int(model.joint_qd_start[j])


def row_weights(row: TaskRow, count: int, columns: Sequence[int] | np.ndarray) -> Array:
    """Weights of the rows of a task, (count,)."""
    if row.kind == ik.POSTURE and row.posture_weight is not None:
        return row.posture_weight[list(columns)]
    if row.kind == ik.POLYGON:
        return np.full(count, row.weight[0])
    return np.array(row.weight[:count])


def bounds_of(model: Model, limits: bool) -> tuple[Array, Array]:
    """Least and largest coordinate by degree of freedom; infinite where there is no limit."""
    n = model.joint_dof_count
    if not values.flag(limits, "limits of inverse kinematics"):
        return np.full(n, -np.inf), np.full(n, np.inf)
    return np.array(model.joint_limit_lower), np.array(model.joint_limit_upper)
