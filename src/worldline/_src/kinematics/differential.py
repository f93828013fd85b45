# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Differential inverse kinematics: joint velocities that lead tasks to their goals, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from worldline._src.errors import ArgumentError
from worldline._src.facade.step_functions import WorldStepContext
from worldline._src.kinematics.commanding import Commander
from worldline._src.kinematics.hierarchical import Hierarchy
from worldline._src.kinematics.problems import row_of
from worldline._src.kinematics.quadratic_program import lexicographic_least_squares
from worldline._src.kinematics.solve import goals_of, require_tasks
from worldline._src.kinematics.subjects import Subject, subject_of
from worldline._src.kinematics.tasks import PoseTask, PositionTask, PostureTask, Task, tasks_in
from worldline._src.math.arrays import operand
from worldline._src.spatial.poses import Array, float_array, numbers
from worldline._src.step.dynamics import integrate
from worldline._src.step.evaluate import is_count
from worldline._src.step.ik_problem import VelocityBounds


class DifferentialIk(Commander):
    """A controller that leads tasks to their goals within bounds of position, velocity and acceleration.

    Each call solves one small quadratic program for velocities v: the least squares of J v + gain r, where r
    are the weighted residuals of the tasks, plus damping times the squares of v. Tasks of several priorities
    are a program each, of what those before leave free; tasks that are bounds are inequalities, J v >= -gain
    times the distance from the bound. As a controller of a World
    it writes target velocities, and target positions one time step ahead, of the joints that may move; their
    actuators follow what they follow.

    Args:
        subject: a World or a Model.
        tasks: the goals, by priority and traded off by weights; goals can be changed by `set_task`.
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

    _what = "differential inverse kinematics"

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
        self._rest = np.zeros(subject.model.joint_dof_count)

    def set_task(self, index: int, task: Task) -> None:
        """Put a task of the same kind, on the same frames, in the place of another: a moving goal."""
        old, place = self._task(index), self._hierarchy.row_of_task(index)
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
        model = self._subject.model
        at = numbers(q, (model.joint_coord_count,), "q")
        h = _positive(time_step, "time_step")
        before = self._rest
        if last is not None:
            before = numbers(last, (model.joint_dof_count,), "last")
        if self._has_levels:
            return self._by_levels(at, h, before, self._targets)
        self._pack_bounds()
        return self._hierarchy.problem.velocities(
            at[None], self._targets, before, self._gain, self._damping, h
        )[0]

    def velocities(
        self,
        q: ArrayLike,
        time_step: float,
        last: ArrayLike | None = None,
        targets: ArrayLike | None = None,
        *,
        threads: int = 1,
    ) -> Array:
        """Velocities of many copies of the model at once, (n, joint_dof_count): `velocity` of each, bit for
        bit.

        Tasks of one priority run in lanes within one call of compiled code, those of several priorities and
        bounds of distances one after the other.

        Args:
            q: coordinates, (n, joint_coord_count).
            time_step: until the next call [s].
            last: velocities of the call before, (n, joint_dof_count) or (joint_dof_count,); zero when None.
            targets: goals of one controller with one pose or position task: poses (n, 7), (n, 4, 4) or
                positions (n, 3), in the reference of the task. The goal of the task when None.
            threads: 0 for all processors.

        Example:
            >>> import worldline.model as wm
            >>> from worldline import kinematics as wk
            >>> builder = wm.ModelBuilder()
            >>> cart = builder.add_link(label="cart")
            >>> _ = builder.add_articulation([builder.add_joint_prismatic(-1, cart, axis="x")])
            >>> control = wk.DifferentialIk(builder.finalize(), wk.PositionTask("cart", (1, 0, 0)), gain=2.0)
            >>> control.velocities([[0.0], [0.5]], 0.01).round(4).tolist()
            [[2.0], [1.0]]
        """
        model = self._subject.model
        at = operand(q, (model.joint_coord_count,), "q")
        if at.ndim != 2:
            raise ArgumentError(f"q must have shape (n, {model.joint_coord_count}), got {at.shape}")
        h, before = _positive(time_step, "time_step"), self._rest
        if last is not None:
            before = operand(last, (model.joint_dof_count,), "last")
            if before.ndim > 1 and before.shape != (len(at), model.joint_dof_count):
                raise ArgumentError(
                    f"last must have shape {(len(at), model.joint_dof_count)}, got {before.shape}"
                )
        goals = self._targets if targets is None else self._goals(targets, len(at))
        if not is_count(threads) or threads < 0:
            raise ArgumentError(f"threads must be a whole number, 0 for all processors, got {threads!r}")
        if self._has_levels:
            made = np.zeros((len(at), model.joint_dof_count))
            for k, each in enumerate(at):
                goal = goals[k] if goals.ndim == 3 else goals
                made[k] = self._by_levels(each, h, before[k] if before.ndim > 1 else before, goal)
            return made
        self._pack_bounds()
        return self._hierarchy.problem.velocities(
            at, goals, before, self._gain, self._damping, h, int(threads)
        )

    def _goals(self, targets: ArrayLike, count: int) -> Array:
        """Goals of many copies as the rows of a task, (n, 1, 7)."""
        task = self._tasks[0]
        if len(self._tasks) != 1 or not isinstance(task, (PoseTask, PositionTask)):
            raise ArgumentError("targets of differential inverse kinematics need one pose or position task")
        if task.reference is not None:
            raise ArgumentError("targets of differential inverse kinematics need a task in the world's frame")
        goals = goals_of(task, targets)
        if len(goals) != count:
            raise ArgumentError(f"targets must be one row a copy, {count} of them, got {len(goals)}")
        return goals[:, None]

    def _by_levels(self, q: Array, h: float, before: Array, targets: Array) -> Array:
        """Velocities of tasks of several priorities, and of bounds."""
        made, columns = np.zeros(self._subject.model.joint_dof_count), self._columns
        low, high = self._bounds(q, h, before[columns])
        levels = self._hierarchy.stand(q, self._gain, targets, self._damping).levels
        made[columns] = lexicographic_least_squares(levels, low, high)
        return made

    def _velocity_range(self) -> tuple[Array, Array]:
        """Least and largest velocity of every degree of freedom, (nv,)."""
        model, top = self._subject.model, self._velocity
        return np.maximum(-top, model.joint_velocity_lower), np.minimum(top, model.joint_velocity_limit)

    def _pack_bounds(self) -> None:
        self._hierarchy.problem.bound_velocities(VelocityBounds(*self._velocity_range(), self._acceleration))

    def _bounds(self, q: Array, h: float, before: Array) -> tuple[Array, Array]:
        """Least and largest velocity of the columns; bounds of position come first, then velocity,
        acceleration."""
        columns, plain = self._columns, self._plain >= 0
        least, most = (part[columns] for part in self._velocity_range())
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
        before = self._columns
        self._follow(step)
        if self._columns is not before:
            self._velocity = self._moved_bound(before, self._velocity)
            self._acceleration = self._moved_bound(before, self._acceleration)
        model, columns = self._subject.model, self._columns
        v = self.velocity(step.q, step.time_step, step.v_target)
        step.v_target[columns] = v[columns]
        ahead = integrate(model, step.q, v * step.time_step)
        for j in self._moving_joints():
            part = slice(int(model.joint_q_start[j]), int(model.joint_q_start[j + 1]))
            step.q_target[part] = ahead[part]

    def _moved_bound(self, columns: np.ndarray, bound: Array) -> Array:
        """Bounds of the joints that move, which had other columns in the model before."""
        made = np.full(self._subject.model.joint_dof_count, np.inf)
        made[self._columns] = bound[columns]
        return made

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
