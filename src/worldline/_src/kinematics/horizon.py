# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics of a whole motion at once: targets over time, and joints that move evenly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from worldline._src.errors import ArgumentError
from worldline._src.facade import values
from worldline._src.kinematics.hierarchical import needs_hierarchy, with_closures
from worldline._src.kinematics.problems import row_weights
from worldline._src.kinematics.solve import Question, require_tasks, start_of
from worldline._src.kinematics.subjects import subject_of
from worldline._src.kinematics.tasks import PoseTask, PositionTask, Task, tasks_in, weights_of
from worldline._src.math.arrays import operand
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array, compose, float_array
from worldline._src.step.dynamics import difference, integrate
from worldline._src.step.evaluate import is_count

_ENOUGH = 1e-4
"""Relative gain of an iteration that is little; after a few such in a row the method ends."""
_FEW = 3
_CLOSED = 1e3
"""Weight of closures: errors of other tasks open them by a millionth."""


class IkMotion(NamedTuple):
    """Coordinates that follow targets over time."""

    q: Array
    """Coordinates of the whole model, (frames, joint_coord_count)."""
    error: Array
    """Norms of the residuals of tasks without weights [m or rad], (frames, tasks); NaN where a target is
    missing."""
    success: bool
    """Whether every task that must be met is met in every frame that has a target."""
    converged: bool
    """Whether the cost had a minimum within the iterations."""
    iterations: int


def solve_ik_motion(
    subject: Any,
    tasks: Sequence[Task] | Task,
    targets: ArrayLike | Sequence[ArrayLike],
    *,
    joints: Any = None,
    start: ArrayLike | None = None,
    smoothness: float = 1e-3,
    limits: bool = True,
    max_iterations: int = 100,
    closures: bool = True,
) -> IkMotion:
    """Coordinates of all frames of a motion at once, by Levenberg-Marquardt's method.

    The sum of squares has the weighted residuals of the tasks of every frame, and `smoothness` times the
    second difference of the coordinates from frame to frame: noise of targets is averaged, gaps are bridged,
    and joints do not jump between branches. Derivatives couple neighbours alone, so that the time is linear
    in the number of frames.

    Args:
        subject: a World or a Model; nothing in it changes.
        tasks: pose and position tasks, whose targets are replaced, and others, which hold in every frame.
        targets: one array for each pose or position task in order: (frames, 7) or (frames, 3); NaN where a
            target is missing. For a single task the array alone.
        joints: what may move, as in `solve_ik`.
        start: coordinates where the search starts in all frames; the present ones by default.
        smoothness: weight of second differences of the coordinates; 0 for frames that know nothing of each
            other but their start.
        limits: whether limits of joints hold.
        max_iterations: of the method.
        closures: whether loop closures of joints that may move stay closed, as in `solve_ik`; their errors
            are columns behind those of the tasks.

    Example:
        >>> import numpy as np
        >>> import worldline.model as wm
        >>> from worldline import kinematics as wk
        >>> builder = wm.ModelBuilder()
        >>> a, b = builder.add_link(label="a"), builder.add_link(label="b")
        >>> joints = [builder.add_joint_revolute(-1, a, axis="z")]
        >>> joints += [builder.add_joint_revolute(a, b, axis="z", parent_xform=[1, 0, 0, 0, 0, 0, 1])]
        >>> _ = builder.add_articulation(joints)
        >>> angle = np.linspace(0.2, 0.8, 20)
        >>> circle = np.stack([1.2 * np.cos(angle), 1.2 * np.sin(angle), 0 * angle], axis=1)
        >>> task = wk.PositionTask("b", (0, 0, 0), point=(1, 0, 0), tolerance=1e-3)
        >>> made = wk.solve_ik_motion(builder.finalize(), task, circle, start=[0.1, 1.0])
        >>> made.success, made.q.shape
        (True, (20, 2))
    """
    given = tasks_in(tasks)
    if any(isinstance(task, Task) for task in given) and needs_hierarchy(
        [task for task in given if isinstance(task, Task)]
    ):
        raise ArgumentError("a motion has neither priorities nor bounds of distances and manipulability")
    chosen = subject_of(subject)
    require_tasks(given)
    given = with_closures(chosen, given, joints, start_of(chosen, start), closures, _CLOSED)
    question = Question(chosen, given, joints, start, limits)
    if not is_count(max_iterations) or max_iterations < 1:
        raise ArgumentError(f"max_iterations must be a whole number from 1 on, got {max_iterations!r}")
    goals, known = _targets(question, targets)
    weight = weights_of([smoothness, 1.0], 2, "smoothness of a motion")[0]
    return _Motion(question, goals, known, float(weight)).solve(int(max_iterations))


def fit_markers(
    subject: Any,
    frames: Sequence[Any],
    positions: ArrayLike,
    *,
    joints: Any = None,
    start: ArrayLike | None = None,
    weights: ArrayLike = 1.0,
    smoothness: float = 1e-3,
    limits: bool = True,
    max_iterations: int = 100,
    closures: bool = True,
) -> IkMotion:
    """Coordinates at which markers on a body are where motion capture saw them, over a recording.

    Args:
        subject: a World or a Model; nothing in it changes.
        frames: where the markers are: frames, markers or end effectors of a World, bodies of a Model.
        positions: measured positions in the world [m], (frames of the recording, markers, 3); NaN where a
            marker was not seen.
        joints: what may move, as in `solve_ik`.
        start: coordinates where the search starts; the present ones by default.
        weights: of the markers, one number or (markers,).
        smoothness: see `solve_ik_motion`.
        limits: whether limits of joints hold.
        max_iterations: of the method.
        closures: whether loop closures of joints that may move stay closed, as in `solve_ik`.

    Returns:
        The motion; `error` are the distances of markers from where they were seen.
    """
    frames = values.several(frames, "frames of markers")
    seen = operand(positions, (3,), "positions of markers")
    if seen.ndim != 3 or seen.shape[1] != len(frames):
        raise ArgumentError(
            f"positions of {len(frames)} markers must have shape (frames, {len(frames)}, 3), got {seen.shape}"
        )
    each = weights_of(weights, len(frames), "weights of markers")
    tasks = [
        PositionTask(frame, (0.0, 0.0, 0.0), weight=max(float(w), 1e-12), tolerance=None)
        for frame, w in zip(frames, each, strict=True)
    ]
    made = solve_ik_motion(
        subject,
        tasks,
        list(seen.transpose(1, 0, 2)),
        joints=joints,
        start=start,
        smoothness=smoothness,
        limits=limits,
        max_iterations=max_iterations,
        closures=closures,
    )
    return made._replace(error=made.error[:, : len(tasks)])


def _targets(question: Question, targets: Any) -> tuple[Array, np.ndarray]:
    """Targets as poses (frames, tasks, 7), and which are there, (frames, tasks)."""
    moved = [k for k, task in enumerate(question.tasks) if isinstance(task, (PoseTask, PositionTask))]
    if not moved:
        raise ArgumentError("a motion needs a pose or position task whose target moves")
    given = values.several(targets, "targets of a motion")
    if len(moved) == 1 and given and _is_row(given[0]):
        given = [targets]
    arrays = [float_array(array, "targets of a motion") for array in given]
    if len(arrays) != len(moved):
        raise ArgumentError(f"targets must be an array for each of {len(moved)} tasks, got {len(arrays)}")
    count = len(np.atleast_1d(arrays[0]))
    goals = np.tile(np.array([row.target for row in question.rows]), (count, 1, 1))
    known = np.ones((count, len(question.rows)), bool)
    for k, made in zip(moved, arrays, strict=True):
        task = question.tasks[k]
        width = 3 if isinstance(task, PositionTask) else 7
        if made.shape != (count, width) or count < 1 or np.isinf(made).any():
            raise ArgumentError(
                f"targets of '{question.names[k]}' must have shape ({count}, {width}), finite or NaN, "
                f"got {made.shape}"
            )
        seen = ~np.isnan(made).any(axis=1)
        known[:, k] = seen
        X = None
        reference = getattr(task, "reference", None)
        if reference is not None:
            _, X = question.subject.frame(reference, "reference of a task")
        for i in np.flatnonzero(seen):
            pose = np.concatenate([made[i], [0.0, 0.0, 0.0, 1.0]]) if width == 3 else made[i].copy()
            size = np.linalg.norm(pose[3:])
            if size < 1e-12:
                raise ArgumentError(f"targets of '{question.names[k]}' need quaternions that are not zero")
            pose[3:] /= size
            goals[i, k] = pose if X is None else compose(X, pose)
    return goals, known


def _is_row(value: Any) -> bool:
    """Whether something is a row of numbers rather than an array of rows."""
    return isinstance(value, Iterable) and not any(isinstance(item, Iterable) for item in value)


class _Point(NamedTuple):
    """Coordinates of all frames, and what the least squares have there."""

    q: Array
    r: Array
    J: Array
    bends: Array
    cost: float


class _Motion:
    """The least squares of all frames."""

    def __init__(self, question: Question, goals: Array, known: np.ndarray, smoothness: float) -> None:
        self._question, self._goals, self._smoothness = question, goals, smoothness
        self._problem = question.problem()
        self._model = question.subject.model
        self._columns = self._problem.columns
        self._plain = self._problem.coordinate_of(self._columns)
        self._low, self._high = question.low[self._columns], question.high[self._columns]
        counts = self._problem.row_counts
        self._known, self._task_of = known, np.repeat(np.arange(len(counts)), counts)

    def _clipped(self, q: Array) -> Array:
        made, plain = q.copy(), self._plain >= 0
        at = self._plain[plain]
        made[:, at] = np.clip(q[:, at], self._low[plain], self._high[plain])
        return made

    def _rows(self, q: Array) -> tuple[Array, Array]:
        """Residuals (frames, rows) and derivatives; zero where a target is missing."""
        r, J = self._problem.evaluate(q, self._goals)
        there = self._known[:, self._task_of]
        return np.where(there, r, 0.0), np.where(there[:, :, None], J, 0.0)

    def _bends(self, q: Array) -> Array:
        """Second differences of the coordinates by degree of freedom, (frames - 2, columns)."""
        if len(q) < 3 or self._smoothness == 0.0:
            return np.zeros((0, len(self._columns)))
        step = difference(self._model, q[:-1], q[1:], lanes=1)[:, self._columns]
        return step[1:] - step[:-1]

    def _cost(self, r: Array, bends: Array) -> float:
        return 0.5 * float(np.sum(r * r)) + 0.5 * self._smoothness**2 * float(np.sum(bends * bends))

    def solve(self, iterations: int) -> IkMotion:
        now = self._at(self._first())
        factor, converged, count, little = 1e-3, False, 0, 0
        while count < iterations:
            count += 1
            step, after = self._moved(now, factor)
            if after.cost >= now.cost:
                # along a curved valley of solutions a step leaves it: come back to it before it is judged
                after = self._moved(after, factor)[1]
            if after.cost < now.cost:
                gain, now = now.cost - after.cost, after
                factor = max(0.1 * factor, 1e-12)
                little = little + 1 if gain <= _ENOUGH * now.cost + 1e-24 else 0
                if little >= _FEW:
                    converged = True
                    break
            else:
                factor *= 6.0
                if factor > 1e8 or np.abs(step).max(initial=0.0) < 1e-10:
                    converged = True
                    break
        return self._result(now.q, now.r, converged, count)

    def _at(self, q: Array) -> _Point:
        """Residuals, derivatives and the cost at coordinates of all frames."""
        r, J = self._rows(q)
        bends = self._bends(q)
        return _Point(q, r, J, bends, self._cost(r, bends))

    def _moved(self, point: _Point, factor: float) -> tuple[Array, _Point]:
        """A damped step from a point, and where it leads."""
        g = np.einsum("frn,fr->fn", point.J, point.r)
        self._add_bends_gradient(g, point.bends)
        step = self._step(point.J, g, self._blocked(point.q, g), factor)
        move = np.zeros((len(g), self._model.joint_dof_count))
        move[:, self._columns] = np.clip(step, -1.0, 1.0)
        return step, self._at(self._clipped(integrate(self._model, point.q, move, lanes=1)))

    def _first(self) -> Array:
        """Each frame solved from the frame before, so that the method starts on one branch."""
        at, made = self._question.start, []
        for k in range(len(self._goals)):
            if self._known[k].all():
                at = self._problem.solve(at[None], self._goals[k][None], 0, 50, 0).q[0]
            made.append(at)
        return self._clipped(np.array(made))

    def _add_bends_gradient(self, g: Array, bends: Array) -> None:
        """The derivative of half the squares of second differences, taken as those of plain coordinates."""
        if len(bends):
            pull = self._smoothness**2 * bends
            g[:-2] += pull
            g[1:-1] -= 2.0 * pull
            g[2:] += pull

    def _blocked(self, q: Array, g: Array) -> np.ndarray:
        """Columns at a limit out of which descent leads."""
        plain = self._plain >= 0
        at = np.where(plain, q[:, self._plain], 0.0)
        return plain & (((at <= self._low) & (g > 0.0)) | ((at >= self._high) & (g < 0.0)))

    def _step(self, J: Array, g: Array, blocked: np.ndarray, factor: float) -> Array:
        """The damped step of all frames: a banded system, blocks of three frames wide on either side."""
        from scipy.linalg import solveh_banded

        frames, n = g.shape
        size, width = frames * n, 2 * n
        band = np.zeros((width + 1, size))
        own = np.einsum("frn,frm->fnm", J, J)
        damping = factor * max(float(np.einsum("fnn->f", own).mean()) / n, 1e-300) + 1e-14
        own = own + (damping + 1e-12) * np.eye(n)
        free = ~blocked
        own = own * (free[:, :, None] & free[:, None, :])
        # second differences: rows 1 -2 1, squared, couple a frame with two on either side
        far = np.zeros((3, frames))
        if frames > 2 and self._smoothness > 0.0:
            w = self._smoothness**2
            for i, a in enumerate((1.0, -2.0, 1.0)):
                for j, b in enumerate((1.0, -2.0, 1.0)):
                    if j >= i:
                        far[j - i, i : i + frames - 2] += w * a * b
        for i in range(n):
            for j in range(i + 1):
                # lower band: entry (row, column) at [row - column, column]
                band[i - j, j::n] = own[:, i, j]
        band[0] += np.repeat(far[0], n) * free.ravel() + (~free).ravel()
        for distance in (1, 2):
            if frames > distance:
                both = free[:-distance] & free[distance:]
                value = far[distance, : frames - distance, None] * both
                band[distance * n, : (frames - distance) * n] += value.ravel()
        rhs = np.where(free, -g, 0.0).ravel()
        return solveh_banded(band, rhs, lower=True).reshape(frames, n)

    def _result(self, q: Array, r: Array, converged: bool, count: int) -> IkMotion:
        error, at = np.full((len(q), len(self._problem.tasks)), np.nan), 0
        for k, (row, rows) in enumerate(zip(self._problem.tasks, self._problem.row_counts, strict=True)):
            weight = row_weights(row, rows, self._columns)
            used = weight > 0.0
            part = r[:, at : at + rows][:, used] / weight[used]
            error[:, k] = np.where(self._known[:, k], np.linalg.norm(part, axis=1), np.nan)
            at += rows
        success = True
        for k, task in enumerate(self._question.tasks):
            if task.tolerance is not None:
                success &= bool((error[self._known[:, k], k] <= task.tolerance).all())
        return IkMotion(q, error, success, converged, count)
