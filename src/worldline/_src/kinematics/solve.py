# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics of a World or a Model: one problem, or many with the same tasks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from worldline._src.errors import ArgumentError, nearest_name
from worldline._src.kinematics.hierarchical import Hierarchy, is_better, needs_hierarchy, with_closures
from worldline._src.kinematics.problems import bounds_of, columns_of, row_of, row_weights
from worldline._src.kinematics.results import IkResult, MethodReport, TaskReport
from worldline._src.kinematics.subjects import Subject, subject_of
from worldline._src.kinematics.tasks import PoseTask, PositionTask, Task, tasks_in
from worldline._src.math.arrays import operand
from worldline._src.math.lie_groups import transform_to_pose
from worldline._src.model.model import Model
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array, compose, numbers
from worldline._src.step.dynamics import integrate
from worldline._src.step.evaluate import is_count
from worldline._src.step.ik_problem import IkProblem

Method = Literal["auto", "levenberg-marquardt", "damped-least-squares", "hierarchical"]
"""Names of methods."""
METHODS: tuple[str, ...] = get_args(Method)

_DAMPING = 1e-2
"""Damping of damped least squares, as a share of the largest residual."""

_OTHER_STARTS = 16
"""Most starts of the hierarchy beside the given one."""

_STALLED = 8
"""Steps of damped least squares without progress after which it gives up,"""
_LARGEST = 1e100
"""and residuals whose squares overflow."""


class IkBatch(NamedTuple):
    """Solutions of many targets."""

    q: Array
    """Coordinates, (targets, joint_coord_count); the best found where a target was not reached."""
    success: Array
    """Whether each target was reached, (targets,)."""
    error: Array
    """Largest ratio of error to tolerance, (targets,)."""
    iterations: Array
    restarts: Array


class Question:
    """Tasks on a subject, packed: rows, columns, bounds."""

    def __init__(
        self, subject: Subject, tasks: Sequence[Task], joints: Any, start: Any, limits: bool
    ) -> None:
        if isinstance(tasks, Task):
            tasks = [tasks]
        self.subject, self.tasks = subject, tuple(tasks)
        require_tasks(self.tasks)
        model = subject.model
        self.start = start_of(subject, start)
        self.rows = [row_of(subject, task, self.start) for task in self.tasks]
        self.columns = columns_of(subject, self.rows, joints)
        self.low, self.high = bounds_of(model, limits)
        self.names = _names(self.tasks)

    def problem(self, which: Sequence[int] | None = None) -> IkProblem:
        """The problem of some tasks, all by default."""
        rows = self.rows if which is None else [self.rows[k] for k in which]
        return IkProblem(self.subject.model, self.columns, rows, self.low, self.high)

    def errors(self, problem: IkProblem, q: Array) -> Array:
        """Norms of the residuals of all tasks at q, without weights."""
        return self.norms(problem, problem.evaluate(q[None])[0][0])

    def norms(self, problem: IkProblem, residual: Array) -> Array:
        """Norms of weighted residuals (rows,) by task, without weights."""
        made, at = [], 0
        for row, count in zip(problem.tasks, problem.row_counts, strict=True):
            weight = row_weights(row, count, self.columns)
            part = residual[at : at + count][weight > 0.0] / weight[weight > 0.0]
            made.append(math.hypot(*part))
            at += count
        return np.array(made)

    def ratio(self, errors: Array) -> float:
        """Largest ratio of error to tolerance."""
        ratios = [e / t.tolerance for e, t in zip(errors, self.tasks, strict=True) if t.tolerance is not None]
        return float(max(ratios, default=0.0))


def require_tasks(tasks: Sequence[Task]) -> None:
    """Refuse what is no task, and no tasks at all."""
    if not tasks:
        raise ArgumentError("inverse kinematics needs at least one task")
    for task in tasks:
        if not isinstance(task, Task):
            raise ArgumentError(f"tasks must be tasks of worldline.kinematics, got {task!r}")


def start_of(subject: Subject, start: Any) -> Array:
    """Coordinates where a search starts: given ones, or the present ones."""
    if start is None:
        return subject.coordinates()
    return numbers(start, (subject.model.joint_coord_count,), "start of inverse kinematics")


def _names(tasks: Sequence[Task]) -> list[str]:
    """Names of tasks: their own, or what they are and of what, numbered where that is not enough."""
    made: list[str] = []
    for k, task in enumerate(tasks):
        of = getattr(task, "frame", None)
        kind = type(task).__name__.removesuffix("Task")
        name = task.name or (kind if of is None else f"{kind} of {getattr(of, 'name', of)}")
        made.append(name if name not in made else f"{name} ({k})")
    return made


def solve_ik(
    subject: Any,
    tasks: Sequence[Task] | Task,
    *,
    joints: Any = None,
    start: ArrayLike | None = None,
    method: str = "auto",
    limits: bool = True,
    max_iterations: int = 2000,
    max_restarts: int = 100,
    seed: int = 0,
    closures: bool = True,
) -> IkResult:
    """Coordinates at which tasks are met, within the limits of the joints.

    Args:
        subject: a World or a Model. Nothing in it changes; `IkResult.apply` writes the answer into a World.
        tasks: the goals; where they cannot all be met tasks of a lower priority number come first, and
            tasks of one priority are traded off by their weights.
        joints: what may move: joints or a Multibody of a World, labels or indices of joints of a Model. By
            default all joints that a task depends on, free ones included, but not those of kinematic bodies.
        start: coordinates of the whole model where the search starts; the present ones by default.
        method: "levenberg-marquardt" (with restarts), "damped-least-squares" (from the start alone, stays
            close to it), "hierarchical" (quadratic programs of strict priorities and bounds, from the start
            and then from others), or "auto": "hierarchical" where tasks have several priorities or are
            bounds of distances or manipulability, else damped least squares, then Levenberg-Marquardt.
        limits: whether limits of joints hold; they are then never violated.
        max_iterations: of each method.
        max_restarts: of methods that start anew.
        seed: of the sequence of starts; equal seeds give equal answers.
        closures: whether loop closures of a World that are solved in steps or projected stay closed, where
            joints that may move belong to them. They are further tasks of the first priority, and their
            joints may move unless `joints` says otherwise.

    Returns:
        The best coordinates found, and a report of every task and of every method. A task that is not met
        is tried alone, so that the report distinguishes a target out of reach from tasks that contradict
        each other.

    Example:
        >>> import numpy as np
        >>> from worldline import kinematics as wk
        >>> from worldline import math as wmath
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> arm = world.add_multibody("arm")
        >>> base = arm.add_link("base")
        >>> upper = arm.add_link("upper", parent=base, joint=sx.JointSpec(name="a", axis=(0, 0, 1)))
        >>> lower = arm.add_link("lower", parent=upper, joint=sx.JointSpec(
        ...     name="b", axis=(0, 0, 1), transform_to_parent=wmath.make_transform(np.eye(3), [1, 0, 0])))
        >>> answer = wk.solve_ik(world, wk.PositionTask(lower, (1.0, 1.0, 0.0), point=(1, 0, 0)))
        >>> answer.success
        True
        >>> answer.apply()
        >>> bool(np.allclose(lower.transform @ [1, 0, 0, 1], [1, 1, 0, 1], atol=1e-8))
        True
    """
    if not isinstance(method, str) or method not in METHODS:
        raise ArgumentError(
            f"method of inverse kinematics must be one of {', '.join(METHODS)}, got {method!r}"
            f"{nearest_name(str(method), list(METHODS))}"
        )
    _require_counts(max_iterations=max_iterations, max_restarts=max_restarts, seed=seed)
    chosen = subject_of(subject)
    given = tasks_in(tasks)
    require_tasks(given)
    given = with_closures(chosen, given, joints, start_of(chosen, start), closures)
    if needs_hierarchy(given) or method == "hierarchical":
        if method not in ("auto", "hierarchical"):
            raise ArgumentError(
                f"method '{method}' supports neither priorities nor bounds of distances and manipulability; "
                "use 'hierarchical' or 'auto'"
            )
        return _solve_hierarchy(chosen, given, joints, start, limits, max_iterations, max_restarts, seed)
    question = Question(chosen, given, joints, start, limits)
    problem = question.problem()
    order = ("damped-least-squares", "levenberg-marquardt") if method == "auto" else (method,)
    reports: list[MethodReport] = []
    best: tuple[float, Array, str] | None = None
    for name in order:
        if name == "damped-least-squares":
            q, iterations = _damped_least_squares(question, problem, min(max_iterations, 100))
            restarts = 0
        else:
            made = problem.search(question.start, seed, max_iterations, max_restarts)
            if not made.solved[0]:
                # out of reach: from the best point of all starts down to the minimum
                down = problem.solve(made.q, None, seed, max_iterations, 0, slow_gain=1e-13)
                made = made._replace(q=down.q, iterations=made.iterations + down.iterations)
            q, iterations, restarts = made.q[0], int(made.iterations[0]), int(made.restarts[0])
        ratio = question.ratio(question.errors(problem, q))
        success = ratio <= 1.0
        reports.append(
            MethodReport(name, success, ratio, iterations, restarts, _reason(success, ratio, name))
        )
        if best is None or ratio < best[0]:
            best = ratio, q, name
        if success:
            break
    assert best is not None
    return _result(question, problem, best[1], best[2], tuple(reports), max_iterations, max_restarts, seed)


def _solve_hierarchy(
    subject: Subject,
    tasks: list[Task],
    joints: Any,
    start: Any,
    limits: bool,
    max_iterations: int,
    max_restarts: int,
    seed: int,
) -> IkResult:
    """Tasks by strict priorities, from the start; then from where the tasks that have compiled rows, taken
    together, are met or nearly so, found by Levenberg-Marquardt from other starts."""
    first = start_of(subject, start)
    hierarchy = Hierarchy(subject, tasks, joints, first, limits)
    steps = min(max_iterations, 200)
    reports: list[MethodReport] = []
    q, count = hierarchy.solve(first, steps)
    errors = hierarchy.stand(q).errors
    reports.append(_hierarchy_report(hierarchy, errors, count, 0))
    restarts, more = min(max_restarts, _OTHER_STARTS), 0
    if not hierarchy.is_met(errors) and restarts > 0:
        costs = hierarchy.stand(q).costs
        for k, other in enumerate(_other_starts(hierarchy, first, restarts, seed)):
            made, count = hierarchy.solve(other, steps)
            more += count
            standing = hierarchy.stand(made)
            if is_better(standing.costs, costs):
                q, errors, costs = made, standing.errors, standing.costs
            if hierarchy.is_met(errors):
                restarts = k + 1
                break
        reports.append(_hierarchy_report(hierarchy, errors, more, restarts))
    tasks_made = []
    for name, task, error in zip(_names(tasks), tasks, errors, strict=True):
        met = task.tolerance is None or bool(error <= task.tolerance)
        alone = None
        if not met and len(tasks) > 1:
            one = _solve_hierarchy(subject, [task], joints, first, limits, max_iterations, max_restarts, seed)
            alone = one.success
        tasks_made.append(TaskReport(name, float(error), task.tolerance, met, alone if not met else None))
    if len(tasks) == 1 and not tasks_made[0].met:
        tasks_made[0] = tasks_made[0]._replace(alone=False)
    return IkResult(subject, q, "hierarchical", tuple(tasks_made), tuple(reports))


def _other_starts(hierarchy: Hierarchy, start: Array, count: int, seed: int) -> list[Array]:
    """Coordinates from random ones all over the range to where the compiled tasks lead from there."""
    rng = np.random.default_rng(seed)
    plain = hierarchy.coordinates >= 0
    low, high = hierarchy.low[hierarchy.columns], hierarchy.high[hierarchy.columns]
    low, high = np.where(np.isfinite(low), low, -np.pi), np.where(np.isfinite(high), high, np.pi)
    made = []
    for _ in range(count):
        q = start.copy()
        q[hierarchy.coordinates[plain]] = rng.uniform(low, high)[plain]
        made.append(q)
    if not hierarchy.rows or not any(row.tolerance is not None for row in hierarchy.rows):
        return made
    return list(hierarchy.problem.solve(np.array(made), None, seed, 200, 3).q)


def _hierarchy_report(hierarchy: Hierarchy, errors: Array, iterations: int, restarts: int) -> MethodReport:
    success, ratio = hierarchy.is_met(errors), hierarchy.ratio(errors)
    reason = "accepted: all tasks are met"
    if not success:
        where = "no start led closer than" if restarts else "ended at limits, bounds or higher priorities,"
        reason = f"rejected: {where} {ratio:.3g} tolerances{'' if restarts else ' away'}"
    return MethodReport("hierarchical", success, ratio, iterations, restarts, reason)


def _require_counts(**values: Any) -> None:
    for name, value in values.items():
        least = 1 if name == "max_iterations" else 0
        if not is_count(value) or value < least:
            raise ArgumentError(
                f"{name} of inverse kinematics must be a whole number from {least} on, got {value!r}"
            )


def _reason(success: bool, ratio: float, method: str) -> str:
    if success:
        return "accepted: all tasks are met"
    if method == "damped-least-squares":
        return f"rejected: ended in a local minimum or at limits, {ratio:.3g} tolerances away"
    return f"rejected: no start led closer than {ratio:.3g} tolerances"


def _result(
    question: Question,
    problem: IkProblem,
    q: Array,
    method: str,
    reports: tuple[MethodReport, ...],
    iterations: int,
    restarts: int,
    seed: int,
) -> IkResult:
    errors = question.errors(problem, q)
    made = []
    for k, (name, task, error) in enumerate(zip(question.names, question.tasks, errors, strict=True)):
        met = task.tolerance is None or bool(error <= task.tolerance)
        alone = None
        if not met:
            one = question.problem([k]).search(question.start, seed, iterations, restarts)
            alone = bool(one.solved[0])
        made.append(TaskReport(name, float(error), task.tolerance, met, alone))
    return IkResult(question.subject, q, method, tuple(made), reports)


def _damped_least_squares(question: Question, problem: IkProblem, iterations: int) -> tuple[Array, int]:
    """Steps -J^T (J J^T + k^2 I)^-1 r from the start, cut at limits [Wampler 1986; Nakamura 1986].

    The damping k^2 shrinks with the residual, so that the last steps are those of Gauss and Newton. Columns
    whose limit a step would cross are fixed there, and the step is computed anew without them.
    """
    model = question.subject.model
    columns = np.array(question.columns)
    plain = problem.coordinate_of(columns)
    low, high = question.low[columns], question.high[columns]
    q = _clipped(question.start, plain, low, high)
    best, best_ratio, stalled = q, np.inf, 0
    for count in range(iterations):
        r, J = (part[0] for part in problem.evaluate(q[None]))
        ratio = question.ratio(question.norms(problem, r))
        stalled = 0 if ratio < 0.99 * best_ratio else stalled + 1
        if ratio < best_ratio:
            best, best_ratio = q, ratio
        if ratio <= 1.0 or stalled > _STALLED or np.abs(r).max(initial=0.0) > _LARGEST:
            return best, count
        damping = _DAMPING * float(r @ r) + 1e-12
        free = np.ones(len(columns), bool)
        step = np.zeros(len(columns))
        for _ in range(len(columns)):
            part = J[:, free]
            step[:] = 0.0
            step[free] = -part.T @ np.linalg.solve(part @ part.T + damping * np.eye(len(r)), r)
            step *= min(1.0, 0.5 / max(float(np.abs(step).max()), 1e-300))
            at = np.where(plain >= 0, q[plain], 0.0)
            out = free & (plain >= 0) & ((at + step < low) & (at <= low) | (at + step > high) & (at >= high))
            if not out.any():
                break
            free &= ~out
            if not free.any():
                step[:] = 0.0
                break
        move = np.zeros(model.joint_dof_count)
        move[columns] = step
        after = _clipped(integrate(model, q, move), plain, low, high)
        if np.abs(after - q).max(initial=0.0) < 1e-14:
            return best, count + 1
        q = after
    return best, iterations


def _clipped(q: Array, plain: np.ndarray, low: Array, high: Array) -> Array:
    """Coordinates with those of columns moved into their bounds."""
    made, chosen = q.copy(), plain >= 0
    made[plain[chosen]] = np.clip(q[plain[chosen]], low[chosen], high[chosen])
    return made


def solve_ik_batch(
    subject: Any,
    task: PoseTask | PositionTask,
    targets: ArrayLike,
    *,
    joints: Any = None,
    starts: ArrayLike | None = None,
    limits: bool = True,
    max_iterations: int = 2000,
    max_restarts: int = 100,
    seed: int = 0,
    threads: int = 1,
) -> IkBatch:
    """Inverse kinematics of many targets of one task, in lanes and in compiled code from start to end.

    Each answer has the bits that its target has alone.

    Args:
        subject: a World or a Model; nothing in it changes.
        task: a pose or position task; its target is replaced.
        targets: goals: poses (n, 7) or (n, 4, 4) of a pose task, positions (n, 3) of a position task.
        joints: what may move, as in `solve_ik`.
        starts: coordinates where searches start, (n, joint_coord_count) or (joint_coord_count,).
        limits: whether limits of joints hold.
        max_iterations: of each target.
        max_restarts: of each target.
        seed: of the sequence of starts.
        threads: 0 for all processors.

    Example:
        >>> import worldline.model as wm
        >>> from worldline import kinematics as wk
        >>> builder = wm.ModelBuilder()
        >>> slide = builder.add_joint_prismatic(-1, builder.add_link(label="cart"), axis="x")
        >>> _ = builder.add_articulation([slide])
        >>> task = wk.PositionTask("cart", (0, 0, 0))
        >>> made = wk.solve_ik_batch(builder.finalize(), task, [[1, 0, 0], [0.5, 0, 0], [0, 9, 0]])
        >>> made.success.tolist()
        [True, True, False]
    """
    if not isinstance(task, (PoseTask, PositionTask)):
        raise ArgumentError(f"solve_ik_batch takes a pose or position task, got {task!r}")
    _require_counts(max_iterations=max_iterations, max_restarts=max_restarts, seed=seed)
    chosen = subject_of(subject)
    question = Question(chosen, [task], joints, None, limits)
    goals = goals_of(task, targets)
    if task.reference is not None:
        _, X = chosen.frame(task.reference, "reference of a task")
        goals = np.array([compose(X, goal) for goal in goals]).reshape(-1, 7)
    first = _starts(chosen.model, starts, question.start, len(goals))
    if not is_count(threads) or threads < 0:
        raise ArgumentError(f"threads must be a whole number, 0 for all processors, got {threads!r}")
    made = question.problem().solve(first, goals[:, None], seed, max_iterations, max_restarts, threads)
    return IkBatch(made.q, made.solved, made.error, made.iterations, made.restarts)


def goals_of(task: PoseTask | PositionTask, targets: ArrayLike) -> Array:
    """Goals as poses (n, 7)."""
    if isinstance(task, PositionTask):
        points = operand(targets, (3,), "targets of a position task")
        made = np.zeros((*points.shape[:-1], 7))
        made[..., :3], made[..., 6] = points, 1.0
    else:
        shape = np.shape(targets)
        if len(shape) == 3 and shape[1:] == (4, 4):
            made = transform_to_pose(targets)
        else:
            made = operand(targets, (7,), "targets of a pose task")
            if (np.linalg.norm(made[..., 3:], axis=-1) < 1e-12).any():
                raise ArgumentError("targets of a pose task need quaternions that are not zero")
    if made.ndim != 2:
        raise ArgumentError(f"targets must be one row a target, got shape {np.shape(targets)}")
    return made


def _starts(model: Model, starts: ArrayLike | None, default: Array, count: int) -> Array:
    nq = model.joint_coord_count
    if starts is None:
        return np.tile(default, (count, 1))
    made = operand(starts, (nq,), "starts of inverse kinematics")
    if made.shape not in ((nq,), (count, nq)):
        raise ArgumentError(f"starts must have shape ({nq},) or ({count}, {nq}), got {made.shape}")
    return np.ascontiguousarray(np.broadcast_to(made, (count, nq)))
