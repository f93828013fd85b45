# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Paths of joints without time: splines and blended lines through coordinates, lines of frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from worldline._src.errors import ArgumentError, FixedAttributes, OperationError
from worldline._src.kinematics.solve import solve_ik
from worldline._src.kinematics.subjects import Subject, subject_of
from worldline._src.kinematics.tasks import PoseTask, PositionTask, pose_of
from worldline._src.math.arrays import operand
from worldline._src.math.lie_groups import pose_to_transform, transform_to_pose
from worldline._src.math.rotations import slerp
from worldline._src.spatial.poses import Array, compose, inverse, numbers, read_only
from worldline._src.step.dynamics import forward_kinematics
from worldline._src.step.evaluate import is_count
from worldline._src.step.ik_problem import plain_coordinates

if TYPE_CHECKING:
    from scipy.interpolate import PPoly

_CORNER = 1e-9
"""Change of direction that is no corner [rad]."""
_MOST_SAMPLES = 2048
"""Samples of a line of a frame: more say that the joints jump."""
_FINEST = 64
"""Samples with which a line that cannot be followed is given up."""


class JointPath(FixedAttributes):
    """A path through coordinates, q(s) for s from 0 to `length`, of joints that turn or slide.

    s is close to the length of the path in the space of the moving coordinates. Joints that do not move keep
    their coordinates, whatever they are; those that move have a plain number for each degree of freedom.

    Attributes:
        length: end of the parameter s.
        knots: where the second derivative jumps, with both ends, (n,).
        stops: knots with a corner, where a motion has to stop, (m,).
        waypoints: the coordinates the path was made of, (points, joint_coord_count).

    All arrays are read-only.
    """

    def __init__(
        self, subject: Subject, waypoints: Array, moving: np.ndarray, curve: PPoly, stops: Array
    ) -> None:
        self._subject = subject
        self._coordinates, self._dofs = moving[:, 0], moving[:, 1]
        self.waypoints, self.stops = read_only(waypoints.copy()), read_only(stops.copy())
        self.knots = read_only(np.array(curve.x))
        self.length = float(curve.x[-1])
        self._rates = [curve, curve.derivative(), curve.derivative(2)]

    @property
    def dofs(self) -> np.ndarray:
        """Degrees of freedom of the model that move, (k,)."""
        return read_only(self._dofs.copy())

    def coordinates(self, s: ArrayLike) -> Array:
        """Coordinates of the whole model, ([n,] joint_coord_count), at parameters s, a number or (n,)."""
        at = self._parameters(s)
        made = np.tile(self.waypoints[0], (*at.shape, 1))
        made[..., self._coordinates] = self._rates[0](at)
        return made

    def derivative(self, s: ArrayLike, order: int = 1) -> Array:
        """First or second derivative by s of the degrees of freedom of the model, ([n,] joint_dof_count).

        At a knot it is that of the piece behind it.
        """
        if not is_count(order) or order not in (1, 2):
            raise ArgumentError(f"order of a derivative of a path must be 1 or 2, got {order!r}")
        at = self._parameters(s)
        made = np.zeros((*at.shape, self._subject.model.joint_dof_count))
        made[..., self._dofs] = self._rates[order](at)
        return made

    def _parameters(self, s: ArrayLike) -> Array:
        at = operand(s, (), "s of a path")
        if not np.isfinite(at).all() or (at < -1e-9).any() or (at > self.length + 1e-9).any():
            raise ArgumentError(f"s of a path must be between 0 and {self.length:g}, got {s!r}")
        return np.clip(at, 0.0, self.length)

    def __repr__(self) -> str:
        return f"JointPath({len(self.waypoints)} points, length {self.length:g})"


def interpolate_joints(subject: Any, waypoints: ArrayLike, *, blend: float | None = None) -> JointPath:
    """A path through coordinates: a cubic spline, or straight lines.

    Args:
        subject: a World or a Model.
        waypoints: coordinates of the whole model, (points, joint_coord_count).
        blend: None for a cubic spline, which passes through all points without corners. A number for
            straight lines between the points whose corners are cut from this distance on, at most from the
            middle of a line, by parabolas; 0 leaves corners, at which a motion has to stop.

    Example:
        >>> import numpy as np
        >>> import worldline.model as wm
        >>> from worldline import kinematics as wk
        >>> builder = wm.ModelBuilder()
        >>> joint = builder.add_joint_prismatic(-1, builder.add_link(), axis="x")
        >>> _ = builder.add_articulation([joint])
        >>> path = wk.interpolate_joints(builder.finalize(), [[0.0], [0.5], [2.0]])
        >>> path.length, path.coordinates(0.5).tolist()
        (2.0, [0.5])
    """
    chosen = subject_of(subject)
    nq = chosen.model.joint_coord_count
    points = operand(waypoints, (nq,), "waypoints of a path")
    if points.ndim != 2 or len(points) < 2 or not np.isfinite(points).all():
        raise ArgumentError(
            f"waypoints of a path must be 2 or more rows of {nq} finite numbers, "
            f"got shape {np.shape(waypoints)}"
        )
    moving = _moving(chosen, points)
    # points that repeat the one before say nothing
    here = points[:, moving[:, 0]]
    kept = np.concatenate([[True], np.linalg.norm(np.diff(here, axis=0), axis=1) > 1e-12])
    points, here = points[kept], here[kept]
    steps = np.linalg.norm(np.diff(here, axis=0), axis=1)
    if blend is None:
        from scipy.interpolate import CubicSpline

        s = np.concatenate([[0.0], np.cumsum(steps)])
        return JointPath(chosen, points, moving, CubicSpline(s, here, bc_type="natural"), np.zeros(0))
    radius = float(numbers(blend, (), "blend of a path"))
    if radius < 0.0:
        raise ArgumentError(f"blend of a path must not be negative, got {radius}")
    curve, stops = _blended(here, steps, radius)
    return JointPath(chosen, points, moving, curve, stops)


def _moving(subject: Subject, points: Array) -> np.ndarray:
    """Coordinates that differ between points and their degrees of freedom, (k, 2)."""
    model = subject.model
    coordinate = plain_coordinates(model)
    plain = {int(c): d for d, c in enumerate(coordinate) if c >= 0}
    changed = np.flatnonzero(np.ptp(points, axis=0) > 0.0).tolist()
    for c in changed:
        if c not in plain:
            j = int(np.searchsorted(model.joint_q_start, c, side="right")) - 1
            raise ArgumentError(
                f"a path moves joints that turn or slide; '{model.joint_label[j]}' has an orientation"
            )
    if not changed:
        raise ArgumentError("the waypoints of a path are all the same")
    return np.array([(c, plain[c]) for c in changed], np.int64)


def _blended(points: Array, steps: Array, radius: float) -> tuple[PPoly, Array]:
    """Lines with parabolic corners as a piecewise polynomial, and parameters of corners that are left.

    On a corner from direction u to w, cut at a distance r, q = corner - r u + u s + (w - u) s^2 / (4 r) for s
    from 0 to 2 r: the derivative turns from u to w evenly.
    """
    from scipy.interpolate import PPoly

    u = np.diff(points, axis=0) / steps[:, None]
    cut = np.zeros(len(points))
    for k in range(1, len(points) - 1):
        if np.linalg.norm(u[k] - u[k - 1]) > _CORNER:
            cut[k] = min(radius, 0.5 * steps[k - 1], 0.5 * steps[k])
    breaks, pieces, stops = [0.0], [], []
    for k, step in enumerate(steps):
        straight = step - cut[k] - cut[k + 1]
        if straight > 1e-12 * step:
            pieces.append((np.zeros_like(u[k]), u[k], points[k] + cut[k] * u[k]))
            breaks.append(breaks[-1] + straight)
        if cut[k + 1] > 0.0:
            r = cut[k + 1]
            pieces.append(((u[k + 1] - u[k]) / (4.0 * r), u[k], points[k + 1] - r * u[k]))
            breaks.append(breaks[-1] + 2.0 * r)
        elif k + 1 < len(steps) and np.linalg.norm(u[k + 1] - u[k]) > _CORNER:
            stops.append(breaks[-1])
    coefficients = np.array(pieces).transpose(1, 0, 2)
    return PPoly(coefficients, np.array(breaks)), np.array(stops)


def interpolate_frame(
    subject: Any,
    task: PoseTask | PositionTask,
    *,
    start: ArrayLike | None = None,
    joints: Any = None,
    tolerance: float = 1e-4,
    limits: bool = True,
) -> JointPath:
    """A path of joints that moves a frame on a straight line to the target of a task.

    The position moves on a line and the orientation turns about a fixed axis, from where the frame is at the
    start. Each sample is solved from the one before, so that the branch of the arm stays; samples are halved
    until the spline through them leaves the line by no more than the tolerance.

    Args:
        subject: a World or a Model.
        task: a pose or position task; its reference must not move with the joints.
        start: coordinates where the path starts; the present ones by default.
        joints: what may move, as in `solve_ik`.
        tolerance: largest distance from the line [m], and angle from the orientation [rad].
        limits: whether limits of joints hold.

    Raises:
        OperationError: where the line cannot be followed, with the share of the way that can.

    Example:
        >>> import worldline.model as wm
        >>> from worldline import kinematics as wk
        >>> builder = wm.ModelBuilder()
        >>> _ = builder.add_articulation([builder.add_joint_planar(-1, builder.add_link(label="table"))])
        >>> task = wk.PositionTask("table", (0.5, 1.0, 0))
        >>> path = wk.interpolate_frame(builder.finalize(), task, start=[0.1, 0.0, 0.0])
        >>> path.coordinates(0.5 * path.length).round(4).tolist()
        [0.3, 0.5, 0.0]
    """
    if not isinstance(task, (PoseTask, PositionTask)):
        raise ArgumentError(f"a line of a frame needs a pose or position task, got {task!r}")
    allowed = float(numbers(tolerance, (), "tolerance of a path"))
    if allowed <= 0.0:
        raise ArgumentError(f"tolerance of a path must be positive, got {allowed}")
    chosen = subject_of(subject)
    first = chosen.coordinates()
    if start is not None:
        first = numbers(start, (chosen.model.joint_coord_count,), "start of a path")
    line = _Line(chosen, task, first)
    count = 4
    while True:
        samples, failure = _followed(subject, line, first, count, joints, limits)
        if failure is None:
            path = interpolate_joints(subject, samples)
            # the spline between samples, against the line
            middle = 0.5 * (path.knots[:-1] + path.knots[1:])
            if line.deviation(path.coordinates(middle)) <= allowed:
                return path
        elif count >= _FINEST:
            share = (len(samples) - 1) / count
            raise OperationError(
                f"the frame cannot follow its line beyond {100 * share:.3g} percent of its length: {failure}"
            )
        if 2 * count > _MOST_SAMPLES:
            raise OperationError(
                f"the frame leaves its line by more than {allowed:g} with {count} samples: the joints jump"
            )
        count *= 2


def _followed(
    subject: Any, line: _Line, start: Array, count: int, joints: Any, limits: bool
) -> tuple[Array, str | None]:
    """Coordinates at equal shares of a line, each solved from the one before, and why they end early."""
    made = [start]
    for k in range(1, count + 1):
        done = solve_ik(
            subject,
            line.task_at(k / count),
            joints=joints,
            start=made[-1],
            method="damped-least-squares",
            limits=limits,
        )
        if not done.success:
            return np.array(made), done.message
        made.append(done.q)
    return np.array(made), None


class _Line:
    """The line of a frame from where it is to the target of a task."""

    def __init__(self, subject: Subject, task: PoseTask | PositionTask, start: Array) -> None:
        self._subject, self._task = subject, task
        body, X = subject.frame(task.frame, "frame of a path")
        point = isinstance(task, PositionTask)
        offset = np.concatenate([task.point, [0, 0, 0, 1.0]]) if point else pose_of(task.offset, "offset")
        self._body, self._X, self._point = body, compose(X, offset), point
        self._reference = None
        if task.reference is not None:
            self._reference = subject.frame(task.reference, "reference of a path")
        self._from = self._pose(start)
        target = np.concatenate([task.target, self._from[3:]]) if point else task.target
        self._to = target

    def _pose(self, q: Array) -> Array:
        """Pose of the tool in the reference."""
        poses = forward_kinematics(self._subject.model, q)
        made = compose(poses[self._body], self._X) if self._body >= 0 else self._X
        if self._reference is not None:
            body, X = self._reference
            made = compose(inverse(compose(poses[body], X) if body >= 0 else X), made)
        return made

    def task_at(self, share: float) -> PoseTask | PositionTask:
        """The task at a share of the way."""
        from dataclasses import replace

        p = (1.0 - share) * self._from[:3] + share * self._to[:3]
        if self._point:
            return replace(self._task, target=p)
        turn = slerp(self._from[3:], self._to[3:], share)
        pose = transform_to_pose(pose_to_transform(np.concatenate([p, turn])))
        return replace(self._task, target=pose)

    def deviation(self, q: Array) -> float:
        """Largest distance of coordinates (n, nq) from the line, in position and in angle."""
        along = self._to[:3] - self._from[:3]
        squared, worst = float(along @ along), 0.0
        whole = 2.0 * np.arccos(min(1.0, abs(float(self._from[3:] @ self._to[3:]))))
        for each in q:
            X = self._pose(each)
            if squared > 0.0:
                share = float(np.clip((X[:3] - self._from[:3]) @ along / squared, 0.0, 1.0))
            elif whole > 0.0:
                turned = 2.0 * np.arccos(min(1.0, abs(float(self._from[3:] @ X[3:]))))
                share = float(np.clip(turned / whole, 0.0, 1.0))
            else:
                share = 0.0
            worst = max(worst, float(np.linalg.norm(X[:3] - self._from[:3] - share * along)))
            if not self._point:
                turn = slerp(self._from[3:], self._to[3:], share)
                worst = max(worst, 2.0 * float(np.arccos(min(1.0, abs(float(turn @ X[3:]))))))
        return worst
