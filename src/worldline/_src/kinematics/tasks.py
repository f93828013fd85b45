# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Tasks of inverse kinematics: what frames, the centre of mass and joints should do.

A task is a value. Its frames are frames, bodies and links of a World, or labels and indices of bodies of a
Model. Poses are 4x4 matrices, or position and quaternion xyzw in 7 numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from worldline._src.errors import ArgumentError
from worldline._src.facade import values
from worldline._src.math.arrays import operand, unit_vector
from worldline._src.math.lie_groups import transform_to_pose
from worldline._src.math.rotations import matrix_to_quaternion
from worldline._src.spatial.poses import IDENTITY, Array, float_array, numbers, transform

FrameLike: TypeAlias = Any
"""A frame, body or link of a World; the label or index of a body of a Model."""


def pose_of(value: ArrayLike | None, what: str) -> Array:
    """Position and xyzw of a 4x4 matrix or of 7 numbers; None is the identity."""
    if value is None:
        return IDENTITY.copy()
    given = float_array(value, what)
    if given.shape == (4, 4):
        return transform_to_pose(numbers(given, (4, 4), what))
    if given.shape != (7,):
        raise ArgumentError(
            f"{what} must be a 4x4 matrix or 7 numbers, position and xyzw, got shape {given.shape}"
        )
    return transform(given, what)


def weights_of(value: ArrayLike, count: int, what: str) -> Array:
    """One weight for all rows, or one each; not negative, and not all zero."""
    made = operand(value, (), what)
    if made.shape not in ((), (count,)):
        raise ArgumentError(f"{what} must be a number or {count} numbers, got shape {made.shape}")
    made = np.broadcast_to(made, (count,)).copy()
    if not np.isfinite(made).all() or (made < 0.0).any() or not made.any():
        raise ArgumentError(f"{what} must be finite, not negative and not all zero, got {made.tolist()}")
    return made


@dataclass(frozen=True, eq=False, kw_only=True)
class Task:
    """What all tasks have.

    Args:
        tolerance: largest error of a task that is met [m or rad]; None for a task that need not be met and
            only pulls with its weight.
        name: what reports call the task.
        priority: lower numbers come first: a task has no say where it would make a task of a lower number
            worse. Tasks of one number are traded off by their weights.
    """

    tolerance: float | None = 1e-8
    name: str | None = None
    priority: int = 0

    def _check(self) -> None:
        if isinstance(self.priority, bool) or not isinstance(self.priority, (int, np.integer)):
            raise ArgumentError(f"priority of a task must be a whole number, got {self.priority!r}")
        if self.tolerance is not None:
            _set(self, tolerance=values.positive(self.tolerance, "tolerance of a task"))
        if not isinstance(self.name, (str, type(None))):
            raise ArgumentError(f"name of a task must be a text, got {self.name!r}")

    def __post_init__(self) -> None:
        self._check()


def tasks_in(given: Any) -> list[Any]:
    """One task, or several, as a list; what is no task is refused where tasks are used."""
    return [given] if isinstance(given, Task) else values.several(given, "tasks")


def _set(task: Task, **values: Any) -> None:
    for name, value in values.items():
        object.__setattr__(task, name, value)


@dataclass(frozen=True, eq=False)
class PoseTask(Task):
    """A frame at a pose.

    Args:
        frame: the frame that is moved.
        target: its goal, 4x4 or 7 numbers.
        reference: the frame that the goal is given in, which may move as well; the world when None.
        offset: pose of the tool in `frame`, 4x4 or 7 numbers; identity when None.
        weight: one number, or six for rotation and then position along the axes of the goal.

    Example:
        >>> from worldline import kinematics as wk
        >>> wk.PoseTask("hand", [0.4, 0.0, 0.3, 0, 0, 0, 1]).tolerance
        1e-08
    """

    frame: FrameLike
    target: Any
    reference: FrameLike | None = None
    offset: Any = None
    weight: Any = 1.0

    def __post_init__(self) -> None:
        self._check()
        _set(
            self,
            target=pose_of(self.target, "target of a pose task"),
            offset=pose_of(self.offset, "offset of a pose task"),
            weight=weights_of(self.weight, 6, "weight of a pose task"),
        )


@dataclass(frozen=True, eq=False)
class PositionTask(Task):
    """A point of a frame at a position.

    Args:
        frame: the frame that is moved.
        target: goal of the point [m], (3,), in the reference.
        reference: the frame that the goal is given in; the world when None.
        point: the point in `frame` [m], (3,).
        weight: one number, or three for the axes of the reference.
    """

    frame: FrameLike
    target: Any
    reference: FrameLike | None = None
    point: Any = (0.0, 0.0, 0.0)
    weight: Any = 1.0

    def __post_init__(self) -> None:
        self._check()
        _set(
            self,
            target=numbers(self.target, (3,), "target of a position task"),
            point=numbers(self.point, (3,), "point of a position task"),
            weight=weights_of(self.weight, 3, "weight of a position task"),
        )


@dataclass(frozen=True, eq=False)
class OrientationTask(Task):
    """A frame at an orientation.

    Args:
        frame: the frame that is turned.
        target: its goal, a quaternion xyzw or a 3x3 matrix, in the reference.
        reference: the frame that the goal is given in; the world when None.
        weight: one number, or three for turns about the axes of the goal.
    """

    frame: FrameLike
    target: Any
    reference: FrameLike | None = None
    weight: Any = 1.0

    def __post_init__(self) -> None:
        self._check()
        target = float_array(self.target, "target of an orientation task")
        if target.shape == (3, 3):
            target = matrix_to_quaternion(target)
        target = numbers(target, (4,), "target of an orientation task, a quaternion xyzw or a 3x3 matrix")
        _set(
            self,
            target=transform(np.concatenate([np.zeros(3), target]), "target of an orientation task")[3:],
            weight=weights_of(self.weight, 3, "weight of an orientation task"),
        )


@dataclass(frozen=True, eq=False)
class LookAtTask(Task):
    """An axis of a frame that points at a point; the error is 2 sin(angle / 2).

    Args:
        frame: the frame that looks.
        target: the point it looks at [m], (3,), in the reference.
        axis: the direction of view in `frame`, (3,), of any length.
        reference: the frame that the point is given in, which may move as well; the world when None.
        origin: where the view starts in `frame` [m], (3,).
        weight: one number.
    """

    frame: FrameLike
    target: Any
    axis: Any = (0.0, 0.0, 1.0)
    reference: FrameLike | None = None
    origin: Any = (0.0, 0.0, 0.0)
    weight: Any = 1.0

    def __post_init__(self) -> None:
        self._check()
        axis = unit_vector(numbers(self.axis, (3,), "axis of a look-at task"), "axis of a look-at task")
        _set(
            self,
            target=numbers(self.target, (3,), "target of a look-at task"),
            origin=numbers(self.origin, (3,), "origin of a look-at task"),
            axis=axis,
            weight=weights_of(self.weight, 2, "weight of a look-at task"),
        )


@dataclass(frozen=True, eq=False)
class CenterOfMassTask(Task):
    """The centre of mass of everything at a point of the world.

    Args:
        target: the point [m], (3,).
        weight: one number, or three for the axes of the world; zero leaves an axis free.
    """

    target: Any
    weight: Any = 1.0

    def __post_init__(self) -> None:
        self._check()
        _set(
            self,
            target=numbers(self.target, (3,), "target of a centre-of-mass task"),
            weight=weights_of(self.weight, 3, "weight of a centre-of-mass task"),
        )


@dataclass(frozen=True, eq=False)
class BalanceTask(Task):
    """The centre of mass above a support polygon: a bound, which costs nothing inside.

    Args:
        polygon: points of the support in the world's x and y [m], (n, 2); their convex hull counts.
        margin: distance from the edges that is kept inside [m].
        weight: one number.
    """

    polygon: Any
    margin: float = 0.0
    weight: Any = 1.0
    edges: Array = field(init=False, repr=False)
    """Outward normals and offsets of the edges, (n, 3)."""

    def __post_init__(self) -> None:
        self._check()
        points = operand(self.polygon, (2,), "polygon of a balance task")
        if points.ndim != 2 or len(points) < 3 or not np.isfinite(points).all():
            raise ArgumentError(
                f"polygon of a balance task must be 3 points or more, (n, 2), got {points.tolist()}"
            )
        margin = float(numbers(self.margin, (), "margin of a balance task"))  # type: ignore[arg-type]
        _set(self, polygon=points, margin=margin, edges=_hull_edges(points, margin))
        _set(self, weight=weights_of(self.weight, 1, "weight of a balance task"))


def _hull_edges(points: Array, margin: float) -> Array:
    """Edges of the convex hull of points in the plane, moved in by a margin [Andrew 1979]."""
    ordered = sorted(map(tuple, points.tolist()))

    def half(corners: list[Any]) -> list[Any]:
        kept: list[Any] = []
        for c in corners:
            while len(kept) > 1:
                (ax, ay), (bx, by) = kept[-2], kept[-1]
                if (bx - ax) * (c[1] - ay) - (by - ay) * (c[0] - ax) > 0.0:
                    break
                kept.pop()
            kept.append(c)
        return kept[:-1]

    hull = np.array(half(ordered) + half(ordered[::-1]))
    if len(hull) < 3:
        raise ArgumentError(
            f"polygon of a balance task must have an area, its points are in line: {points.tolist()}"
        )
    along = np.roll(hull, -1, axis=0) - hull
    normal = np.stack([along[:, 1], -along[:, 0]], axis=1) / np.linalg.norm(along, axis=1)[:, None]
    offset = np.sum(normal * hull, axis=1) - margin
    # deepest point of the polygon: a margin that leaves nothing is refused
    middle = hull.mean(axis=0)
    if (normal @ middle > offset).any():
        raise ArgumentError(f"margin of a balance task, {margin} m, leaves nothing of the polygon")
    return np.column_stack([normal, offset])


@dataclass(frozen=True, eq=False)
class PostureTask(Task):
    """Joints close to given coordinates; by default it need not be met.

    Args:
        target: coordinates of the whole model, (joint_coord_count,); those of the start when None.
        weight: one number, or one a degree of freedom, (joint_dof_count,).
    """

    target: Any = None
    weight: Any = 1e-3
    tolerance: float | None = field(default=None, kw_only=True)


@dataclass(frozen=True, eq=False)
class CouplingTask(Task):
    """Two coordinates in a ratio: q = ratio * other + offset; or one at a value.

    Args:
        joint: a joint of one degree of freedom: a joint of a World, or the label or index of one of a Model.
        other: another one; None for a constant.
        ratio: of the two; refused without another joint.
        offset: constant part [rad or m].
        weight: one number.
    """

    joint: Any
    other: Any = None
    ratio: float = 1.0
    offset: float = 0.0
    weight: Any = 1.0

    def __post_init__(self) -> None:
        self._check()
        _set(
            self,
            ratio=float(numbers(self.ratio, (), "ratio of a coupling task")),  # type: ignore[arg-type]
            offset=float(numbers(self.offset, (), "offset of a coupling task")),  # type: ignore[arg-type]
            weight=weights_of(self.weight, 1, "weight of a coupling task"),
        )
        if self.other is None and self.ratio != 1.0:
            raise ArgumentError(
                f"ratio of a coupling task needs another joint, got {self.ratio:g} without one"
            )


@dataclass(frozen=True, eq=False)
class ClosureTask(Task):
    """A loop closure of a World closed, whatever its policy says.

    Args:
        closure: the closure.
        weight: one number.
    """

    closure: Any
    weight: Any = 1.0

    def __post_init__(self) -> None:
        self._check()
        _set(self, weight=weights_of(self.weight, 1, "weight of a closure task"))


@dataclass(frozen=True, eq=False, kw_only=True)
class _DistanceTask(Task):
    """A bound of distances, which stands above all other tasks by default."""

    tolerance: float | None = 1e-6
    priority: int = -1
    _what: ClassVar[str]

    def __post_init__(self) -> None:
        self._check()
        given: Any = self
        distance = float(numbers(given.distance, (), f"distance of {self._what}"))
        reach = float(numbers(given.reach, (), f"reach of {self._what}"))
        if reach <= 0.0:
            raise ArgumentError(f"reach of {self._what} must be positive, got {reach}")
        weight = weights_of(given.weight, 1, f"weight of {self._what}")
        _set(self, distance=distance, reach=reach, weight=weight)


@dataclass(frozen=True, eq=False)
class ObstacleTask(_DistanceTask):
    """Shapes of bodies at a distance from obstacles: a bound, which costs nothing beyond it.

    Pairs of shapes that a step does not let collide do not count. Bodies, links and multibodies are those of
    a World and have shapes. By default it stands above all other tasks.

    Args:
        bodies: who keeps the distance: a body, link or multibody, or several.
        obstacles: from whom: the same, or None for everything else in the World.
        distance: the distance that is kept [m]; negative to allow for some overlap.
        reach: pairs closer than `distance + reach` are watched [m].
        weight: one number.
    """

    bodies: Any
    obstacles: Any = None
    distance: float = 0.0
    reach: float = 0.1
    weight: Any = 1.0
    _what: ClassVar[str] = "an obstacle task"


@dataclass(frozen=True, eq=False)
class SelfCollisionTask(_DistanceTask):
    """Links of a multibody at a distance from each other: a bound, which costs nothing beyond it.

    Links next to each other and other pairs that a step does not let collide do not count. By default it
    stands above all other tasks.

    Args:
        multibody: a multibody of a World.
        distance: the distance that is kept [m]; negative to allow for some overlap.
        reach: pairs closer than `distance + reach` are watched [m].
        weight: one number.
    """

    multibody: Any
    distance: float = 0.0
    reach: float = 0.1
    weight: Any = 1.0
    _what: ClassVar[str] = "a self-collision task"


@dataclass(frozen=True, eq=False)
class ManipulabilityTask(Task):
    """A frame that the joints move well in all directions: sqrt(det J J^T) at least at a value.

    This is Yoshikawa's measure [1985]; J are rows of the Jacobian of the frame's origin by the joints that
    may move. By default the task only pulls; it costs nothing beyond the value.

    Args:
        frame: the frame.
        least: the value that is kept, positive [rad and m, to the number of rows].
        rows: "pose", "position" or "orientation".
        weight: one number.
    """

    frame: FrameLike
    least: float = 0.1
    rows: str = "pose"
    weight: Any = 1.0
    tolerance: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        self._check()
        if not isinstance(self.rows, str) or self.rows not in ("pose", "position", "orientation"):
            raise ArgumentError(
                "rows of a manipulability task must be 'pose', 'position' or 'orientation', "
                f"got {self.rows!r}"
            )
        least = float(numbers(self.least, (), "least of a manipulability task"))  # type: ignore[arg-type]
        if least <= 0.0:
            raise ArgumentError(f"least of a manipulability task must be positive, got {least}")
        _set(self, least=least, weight=weights_of(self.weight, 1, "weight of a manipulability task"))
