# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Controllers of joint forces for tasks: operational space and impedance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from worldline._src.errors import ArgumentError
from worldline._src.facade.kinds import ActuatorType
from worldline._src.facade.step_functions import WorldStepContext
from worldline._src.keywords import shared_keywords
from worldline._src.kinematics.bound_rows import BOUND_TASKS
from worldline._src.kinematics.commanding import Commander
from worldline._src.kinematics.hierarchical import needs_hierarchy
from worldline._src.kinematics.problems import row_of, row_weights
from worldline._src.kinematics.solve import Question
from worldline._src.kinematics.subjects import Subject, WorldSubject, subject_of
from worldline._src.kinematics.tasks import PostureTask, Task, tasks_in
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array, float_array, numbers
from worldline._src.step.dynamics import difference, integrate, inverse_dynamics, mass_matrix

_SINGULAR = 1e-9
"""Damping of the inverse of the inertia that a task feels, as a share of its mean: near singular poses."""


class TaskState(NamedTuple):
    """Tasks and dynamics at a state, for the degrees of freedom that are commanded."""

    error: Array
    """Residuals of the tasks, (rows,)."""
    rate: Array
    """Their rates, J v, (rows,)."""
    J: Array
    """Derivatives by the degrees of freedom, (rows, columns)."""
    drift: Array
    """Second derivative of the residuals without acceleration, (rows,)."""
    inverse_mass: Array
    """Inverse of the mass matrix, (columns, columns)."""


class Commanded(TypedDict, total=False):
    """Keywords of the controllers of forces: what is commanded, and what the tasks leave free."""

    joints: Any
    posture: ArrayLike | None
    posture_stiffness: float


_commands = shared_keywords(Commanded, joints=None, posture=None, posture_stiffness=10.0)


class TaskController(Commander):
    """What controllers of joint forces for tasks have: a World, tasks, and the joints that are commanded.

    Other joints of the same tree are assumed not to accelerate: command them too, or lock them. Joints that
    are commanded need the actuator type FORCE.
    """

    _what = "a controller of forces"

    def __init__(
        self,
        subject: Any,
        tasks: Sequence[Task] | Task,
        joints: Any = None,
        posture: ArrayLike | None = None,
        posture_stiffness: float = 10.0,
        damping_ratio: float = 1.0,
    ) -> None:
        self._tasks = tasks_in(tasks)
        self._joints, self._given_posture = joints, posture
        self._posture_stiffness = _not_negative(posture_stiffness, "posture_stiffness")
        self._damping_ratio = _not_negative(damping_ratio, "damping_ratio")
        self._build(subject_of(subject))

    def _build(self, subject: Subject) -> None:
        for task in self._tasks:
            if isinstance(task, (*BOUND_TASKS, PostureTask)):
                raise ArgumentError(
                    "a controller of forces takes tasks of frames, joints and the centre of mass, "
                    f"got {task!r}"
                )
        self._question = Question(subject, self._tasks, self._joints, None, False)
        if needs_hierarchy(self._tasks):
            raise ArgumentError("a controller of forces takes tasks of one priority")
        self._subject, self._problem = subject, self._question.problem()
        self._columns = self._problem.columns
        counts = self._problem.row_counts
        weights = [
            row_weights(row, count, self._columns)
            for row, count in zip(self._question.rows, counts, strict=True)
        ]
        every = np.concatenate(weights)
        if ((every != 0.0) & (every != 1.0)).any():
            raise ArgumentError(
                "tasks of a controller of forces have weights 0 and 1: stiffness says how strongly they pull"
            )
        self._used = every > 0.0
        self._targets = np.array([row.target for row in self._question.rows])
        model = subject.model
        self._posture = subject.coordinates()
        if self._given_posture is not None:
            self._posture = numbers(
                self._given_posture, (model.joint_coord_count,), "posture of a controller"
            )
        if isinstance(subject, WorldSubject):
            self._require_force(subject)

    def _require_force(self, subject: WorldSubject) -> None:
        starts = subject.model.joint_qd_start
        columns = {d for d in self._columns.tolist() if self._is_commanded(d)}
        index = subject._runtime.joint_index
        for robot in subject.world._multibodies.values():
            for joint in robot._joints.values():
                j = index.get(id(joint._joint))
                if j is None or not columns & set(range(int(starts[j]), int(starts[j + 1]))):
                    continue
                wrong = [kind for kind in joint._actuator_types() if kind is not ActuatorType.FORCE]
                if wrong:
                    raise ArgumentError(
                        f"a controller of forces needs the actuator type FORCE; joint '{joint.name}' has "
                        f"{wrong[0].name}"
                    )

    def _is_commanded(self, dof: int) -> bool:
        """Whether a degree of freedom that tasks depend on has a force of this controller."""
        return True

    def set_task(self, index: int, task: Task) -> None:
        """Put a task of the same kind, on the same frames, in the place of another: a moving goal."""
        old, before = self._task(index), self._question.rows[index]
        if type(task) is not type(old):
            raise ArgumentError(f"set_task changes the goal of a task; its kind stays: {old!r}")
        row = row_of(self._subject, task, self._question.start)
        same = (row.kind, row.a, row.b, row.weight, row.own) == (
            before.kind,
            before.a,
            before.b,
            before.weight,
            before.own,
        )
        if not same or not np.array_equal(row.X_a, before.X_a):
            raise ArgumentError(f"set_task changes the goal of a task; frames and weights stay: {old!r}")
        self._tasks[index] = task
        self._targets[index] = row.target

    def state(self, q: ArrayLike, v: ArrayLike) -> TaskState:
        """Errors of the tasks and the dynamics of the commanded joints at a state of the model."""
        model, columns = self._subject.model, self._columns
        at = numbers(q, (model.joint_coord_count,), "q")
        moving = numbers(v, (model.joint_dof_count,), "v")
        # the drift J' v as the rate of J v along the motion
        h = 1e-5 / max(1.0, float(np.abs(moving).max(initial=0.0)))
        around = np.stack([at, integrate(model, at, h * moving), integrate(model, at, -h * moving)])
        r, J = self._problem.evaluate(around, np.stack([self._targets] * 3))
        rates = J @ moving[columns]
        M = mass_matrix(model, at)[np.ix_(columns, columns)]
        used = self._used
        drift = (rates[1] - rates[2]) / (2.0 * h)
        return TaskState(
            r[0][used], rates[0][used], J[0][used], drift[used], np.asarray(np.linalg.inv(M), np.float64)
        )

    def _rest(self, q: Array, v: Array) -> Array:
        """Accelerations that lead the joints to the posture, (columns,)."""
        gap = difference(self._subject.model, q, self._posture)[self._columns]
        k = self._posture_stiffness
        return k * gap - 2.0 * self._damping_ratio * np.sqrt(k) * v[self._columns]

    def forces(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Generalized forces of the whole model, zero where nothing is commanded, (joint_dof_count,)."""
        model, columns = self._subject.model, self._columns
        at, moving = float_array(q, "q"), float_array(v, "v")
        a, made = np.zeros(model.joint_dof_count), np.zeros(model.joint_dof_count)
        a[columns], push = self._answer(self.state(at, moving), self._rest(at, moving))
        made[columns] = inverse_dynamics(model, at, moving, a)[columns] + push
        return made

    def _answer(self, state: TaskState, rest: Array) -> tuple[Array, Array | float]:
        """Accelerations of the columns and forces beside those they take; `rest` leads to the posture."""
        raise NotImplementedError

    def __call__(self, step: WorldStepContext) -> None:
        """Command the joints of a World for the next step: what `World.add_controller` calls."""
        self._follow(step)
        step.force[self._columns] = self.forces(step.q, step.v)[self._columns]


def _task_inertia(state: TaskState) -> Array:
    """(J M^-1 J^T)^-1, damped where it is singular."""
    A = state.J @ state.inverse_mass @ state.J.T
    made = np.linalg.inv(A + (_SINGULAR * float(np.trace(A)) / len(A) + 1e-300) * np.eye(len(A)))
    return np.asarray(made, np.float64)


class OperationalSpaceController(TaskController):
    """Joint forces that move tasks like masses on springs and dampers, whatever the robot weighs.

    Errors r of the tasks obey r'' + 2 ratio sqrt(k) r' + k r = 0 [Khatib 1987]: accelerations are those with
    the least kinetic energy of all that do so, and forces follow by inverse dynamics, with gravity, springs
    and dampers of the joints. What the tasks leave free goes to a posture, without an effect on them.

    Args:
        subject: a World; a Model for `forces` alone.
        tasks: tasks of frames, joints and the centre of mass, of one priority; weights are 0 or 1.
        joints: what is commanded, as in `solve_ik`.
        stiffness: k of all tasks [1/s^2], a number or one a row with weight 1.
        damping_ratio: 1 for errors that vanish fastest without overshoot.
        posture: coordinates of the whole model that the joints tend to; the present ones by default.
        posture_stiffness: the same for the posture [1/s^2]; its damping acts as well.

    Example:
        >>> from worldline import kinematics as wk
        >>> from worldline import simulation as sx
        >>> world = sx.World(time_step=0.001)
        >>> robot = world.add_multibody("robot")
        >>> spec = sx.JointSpec(name="slide", type=sx.JointType.PRISMATIC, axis=(0, 0, 1))
        >>> cart = robot.add_link("cart", robot.add_link("root"), spec, mass=3.0)
        >>> goal = wk.PositionTask(cart, (0, 0, 0.4), weight=(0, 0, 1))
        >>> world.add_controller("osc", wk.OperationalSpaceController(world, goal))
        >>> world.step(n=2000)
        >>> robot.joints["slide"].position.round(6).tolist()
        [0.4]
    """

    @_commands
    def __init__(
        self,
        subject: Any,
        tasks: Sequence[Task] | Task,
        *,
        stiffness: ArrayLike = 150.0,
        damping_ratio: float = 1.0,
        **keywords: Unpack[Commanded],
    ) -> None:
        super().__init__(subject, tasks, damping_ratio=damping_ratio, **keywords)
        self._stiffness = _gains(stiffness, int(self._used.sum()), "stiffness")

    def _answer(self, state: TaskState, rest: Array) -> tuple[Array, float]:
        k = self._stiffness
        wanted = -k * state.error - 2.0 * self._damping_ratio * np.sqrt(k) * state.rate - state.drift
        # J a = wanted with the least M-norm from the acceleration of the posture
        pull = _task_inertia(state) @ (wanted - state.J @ rest)
        return rest + state.inverse_mass @ (state.J.T @ pull), 0.0


class ImpedanceController(TaskController):
    """Joint forces of springs and dampers between tasks and their goals, with gravity compensated.

    The robot keeps its own inertia: a frame that is pushed away gives way by force over stiffness [Hogan
    1985]. What the tasks leave free goes to a posture, without an effect on them.

    Args:
        stiffness: of all rows [N/m or N m/rad], a number or one a row with weight 1.
        damping: of all rows [N s/m or N m s/rad], the same; None for the damping ratio 1 with the inertia
            that each row feels.

    Other arguments are those of `OperationalSpaceController`.

    Example:
        >>> from worldline import kinematics as wk
        >>> from worldline import simulation as sx
        >>> world = sx.World(time_step=0.001)
        >>> robot = world.add_multibody("robot")
        >>> spec = sx.JointSpec(name="slide", type=sx.JointType.PRISMATIC, axis=(0, 0, 1))
        >>> cart = robot.add_link("cart", joint=spec, mass=3.0)
        >>> goal = wk.PositionTask(cart, (0, 0, 0), weight=(0, 0, 1))
        >>> world.add_controller("spring", wk.ImpedanceController(world, goal, stiffness=200.0))
        >>> world.add_force_element("push", lambda step: step.add_force(cart, (0, 0, 10.0)))
        >>> world.step(n=4000)
        >>> cart.translation.round(6).tolist()
        [0.0, 0.0, 0.05]
    """

    @_commands
    def __init__(
        self,
        subject: Any,
        tasks: Sequence[Task] | Task,
        *,
        stiffness: ArrayLike = 200.0,
        damping: ArrayLike | None = None,
        **keywords: Unpack[Commanded],
    ) -> None:
        super().__init__(subject, tasks, **keywords)
        rows = int(self._used.sum())
        self._stiffness = _gains(stiffness, rows, "stiffness")
        self._damping = None if damping is None else _gains(damping, rows, "damping")

    def _answer(self, state: TaskState, rest: Array) -> tuple[Array, Array]:
        inertia = _task_inertia(state)
        damping = self._damping
        if damping is None:
            damping = 2.0 * np.sqrt(self._stiffness * np.diag(inertia))
        spring = state.J.T @ (-self._stiffness * state.error - damping * state.rate)
        # the posture acts in the null space: what of its acceleration tasks do not feel
        return rest - state.inverse_mass @ (state.J.T @ (inertia @ (state.J @ rest))), spring


def _not_negative(value: Any, what: str) -> float:
    made = float(numbers(value, (), f"{what} of a controller"))
    if made < 0.0:
        raise ArgumentError(f"{what} of a controller must not be negative, got {made}")
    return made


def _gains(value: ArrayLike, rows: int, what: str) -> Array:
    made = float_array(value, f"{what} of a controller")
    if made.shape not in ((), (rows,)) or not np.isfinite(made).all() or (made < 0.0).any():
        raise ArgumentError(
            f"{what} of a controller must be a number or {rows}, finite and not negative, got {value!r}"
        )
    return np.broadcast_to(made, (rows,)).copy()
