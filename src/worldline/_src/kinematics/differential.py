# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Differential inverse kinematics: joint velocities that lead tasks to their goals, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from worldline._src.errors import ArgumentError, FixedAttributes, OperationError
from worldline._src.facade.step_functions import WorldStepContext
from worldline._src.kinematics.box_least_squares import box_least_squares
from worldline._src.kinematics.hierarchical import Hierarchy
from worldline._src.kinematics.problems import row_of
from worldline._src.kinematics.quadratic_program import lexicographic_least_squares
from worldline._src.kinematics.solve import require_tasks
from worldline._src.kinematics.subjects import Subject, WorldSubject, subject_of
from worldline._src.kinematics.tasks import PostureTask, Task, tasks_in
from worldline._src.spatial.poses import Array, float_array, numbers
from worldline._src.step.dynamics import integrate
from worldline._src.step.evaluate import is_count


class DifferentialIk(FixedAttributes):
    """A controller that leads tasks to their goals within bounds of position, velocity and acceleration.

    Each call solves one small quadratic program for velocities v: the least squares of J v + gain r, where r
    are the weighted residuals of the tasks, plus damping times the squares of v. Tasks of several priorities
    are a program each, of what those before leave free; tasks that are bounds are inequalities, J v >= -gain
    times the distance from the bound. As a controller of a World
    it writes target velocities, and target positions one time step ahead, of the joints that may move; their
    actuators follow what they follow.

    Args:
        subject: a World or a Model.
        tasks: what is asked, by priority and traded off by weights; goals can be changed by `set_task`.
        joints: what may move, as in `solve_ik`.
        gain: share of an error that is removed in a second [1/s]; with 1 / time_step in one step.
        damping: what a velocity costs: larger is slower and calmer near singular poses.
        limits: whether limits of joint positions hold.
        max_velocity: largest velocity, a number or one a degree of freedom of the model [m/s or rad/s]; the
            limits of the model hold as well.
        max_acceleration: largest acceleration [m/s^2 or rad/s^2]; joints then brake in time before their
            limits.

    Example:
        >>> import numpy as np
        >>> from worldline import kinematics as wk
        >>> from worldline import simulation as sx
        >>> world = sx.World(gravity=(0, 0, 0), time_step=0.01)
        >>> robot = world.add_multibody("robot")
        >>> spec = sx.JointSpec(name="slide", type=sx.JointType.PRISMATIC, axis=(1, 0, 0))
        >>> cart = robot.add_link("cart", robot.add_link("root"), spec, mass=1.0)
        >>> robot.joints["slide"].actuator_type = sx.ActuatorType.VELOCITY
        >>> goal = wk.PositionTask(cart, (0.4, 0, 0))
        >>> world.add_controller("ik", wk.DifferentialIk(world, goal, gain=20.0, max_velocity=1.0))
        >>> world.step(n=100)
        >>> robot.joints["slide"].position.round(6).tolist()
        [0.4]
    """

    def __init__(
        self,
        subject: Any,
        tasks: Sequence[Task] | Task,
        *,
        joints: Any = None,
        gain: float = 10.0,
        damping: float = 1e-6,
        limits: bool = True,
        max_velocity: ArrayLike | None = None,
        max_acceleration: ArrayLike | None = None,
    ) -> None:
        self._tasks = tasks_in(tasks)
        self._joints, self._limits = joints, limits
        self._gain, self._damping = _positive(gain, "gain"), _positive(damping, "damping")
        self._build(subject_of(subject))
        nv = self._subject.model.joint_dof_count
        self._velocity = _bound(max_velocity, nv, "max_velocity")
        self._acceleration = _bound(max_acceleration, nv, "max_acceleration")

    def _build(self, subject: Subject) -> None:
        require_tasks(self._tasks)
        self._subject, self._start = subject, subject.coordinates()
        self._hierarchy = Hierarchy(subject, self._tasks, self._joints, self._start, self._limits)
        self._has_levels = len(self._hierarchy.priorities) > 1 or self._hierarchy.has_bounds
        self._columns, self._plain = self._hierarchy.columns, self._hierarchy.coordinates
        self._targets = np.array([row.target for row in self._hierarchy.rows]).reshape(-1, 7)

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks as they are now."""
        return tuple(self._tasks)

    def set_task(self, index: int, task: Task) -> None:
        """Put a task of the same kind, on the same frames, in the place of another: a moving goal."""
        if not is_count(index) or not 0 <= index < len(self._tasks):
            raise ArgumentError(f"there are {len(self._tasks)} tasks, got index {index!r}")
        old, place = self._tasks[index], self._hierarchy.row_of_task(index)
        if place is None or type(task) is not type(old) or isinstance(task, PostureTask):
            raise ArgumentError(
                "set_task changes goals of frames and of the centre of mass; make a new controller"
            )
        row, before = row_of(self._subject, task, self._start), self._hierarchy.rows[place]
        same = (row.kind, row.a, row.b, row.weight) == (before.kind, before.a, before.b, before.weight)
        if not same or task.priority != old.priority or not np.array_equal(row.X_a, before.X_a):
            raise ArgumentError(
                f"set_task changes the goal of a task; kind, frames, weights and priority stay: {old!r}"
            )
        if row.own != before.own:
            raise ArgumentError(
                "set_task changes goals of frames and of the centre of mass; make a new controller"
            )
        self._tasks[index] = task
        self._targets[place] = row.target

    def velocity(self, q: ArrayLike, time_step: float, last: ArrayLike | None = None) -> Array:
        """Velocities of the whole model, (joint_dof_count,), zero where nothing may move.

        Args:
            q: coordinates, (joint_coord_count,).
            time_step: until the next call [s].
            last: velocities of the call before, (joint_dof_count,), for bounds of acceleration; zero when
                None.
        """
        model, columns = self._subject.model, self._columns
        at = numbers(q, (model.joint_coord_count,), "q")
        h = _positive(time_step, "time_step")
        before = np.zeros(model.joint_dof_count)
        if last is not None:
            before = numbers(last, (model.joint_dof_count,), "last")
        low, high = self._bounds(at, h, before[columns])
        made = np.zeros(model.joint_dof_count)
        if self._has_levels:
            levels = self._hierarchy.stand(at, self._gain, self._targets, self._damping).levels
            made[columns] = lexicographic_least_squares(levels, low, high)
        else:
            r, J = (part[0] for part in self._hierarchy.problem.evaluate(at[None], self._targets[None]))
            made[columns] = box_least_squares(J, -self._gain * r, self._damping, low, high)
        return made

    def _bounds(self, q: Array, h: float, before: Array) -> tuple[Array, Array]:
        """Least and largest velocity of the columns; bounds of position come first, then velocity,
        acceleration."""
        model, columns, plain = self._subject.model, self._columns, self._plain >= 0
        top = self._velocity[columns]
        least = np.maximum(-top, model.joint_velocity_lower[columns])
        most = np.minimum(top, model.joint_velocity_limit[columns])
        limit = self._acceleration[columns]
        low = np.clip(before - limit * h, least, most)
        high = np.clip(before + limit * h, least, most)
        # limits of position: what can be braked within the room that is left
        at = np.where(plain, q[self._plain], 0.0)
        above = np.where(plain, self._hierarchy.high[columns] - at, np.inf)
        below = np.where(plain, at - self._hierarchy.low[columns], np.inf)
        up, down = _braking_speed(above, limit, h), _braking_speed(below, limit, h)
        low, high = np.minimum(low, up), np.minimum(high, up)
        return np.maximum(low, -down), np.maximum(high, -down)

    def __call__(self, step: WorldStepContext) -> None:
        """Command the joints of a World for the next step: what `World.add_controller` calls."""
        subject = self._subject
        if not isinstance(subject, WorldSubject) or step._world is not subject.world:
            raise OperationError(
                "differential inverse kinematics commands the World it was made for, no other"
            )
        if step._runtime is not subject._runtime:
            # the World was compiled anew: the same tasks, at other indices
            self._build(WorldSubject(subject.world, step._runtime))
        model, columns = self._subject.model, self._columns
        v = self.velocity(step.q, step.time_step, step.v_target)
        step.v_target[columns] = v[columns]
        ahead = integrate(model, step.q, v * step.time_step)
        for j in self._moving_joints():
            part = slice(int(model.joint_q_start[j]), int(model.joint_q_start[j + 1]))
            step.q_target[part] = ahead[part]

    def _moving_joints(self) -> list[int]:
        starts = self._subject.model.joint_qd_start
        return sorted({int(np.searchsorted(starts, d, side="right")) - 1 for d in self._columns})


def _braking_speed(room: Array, limit: Array, h: float) -> Array:
    """Largest velocity of the next step from which a joint stops within `room` by steps of -limit * h.

    With n whole steps of braking after it and v = (n + f) limit h the way is (n + 1) (n / 2 + f) limit h^2.
    """
    room = np.maximum(room, 0.0)
    brakes = np.isfinite(limit) & np.isfinite(room)
    unit = np.where(brakes, limit, 1.0) * h
    ways = np.where(brakes, room, 0.0) / (unit * h)
    n = np.floor(0.5 * (np.sqrt(1.0 + 8.0 * ways) - 1.0))
    return np.where(brakes, (n + ways / (n + 1.0) - 0.5 * n) * unit, room / h)


def _positive(value: Any, what: str) -> float:
    made = float(numbers(value, (), f"{what} of differential inverse kinematics"))
    if made <= 0.0:
        raise ArgumentError(f"{what} of differential inverse kinematics must be positive, got {made}")
    return made


def _bound(value: ArrayLike | None, count: int, what: str) -> Array:
    """A bound a degree of freedom; infinite when None."""
    if value is None:
        return np.full(count, np.inf)
    made = float_array(value, what)
    if made.shape not in ((), (count,)) or np.isnan(made).any() or (made <= 0.0).any():
        raise ArgumentError(f"{what} must be a positive number or {count} of them, got {value!r}")
    return np.broadcast_to(made, (count,)).copy()
